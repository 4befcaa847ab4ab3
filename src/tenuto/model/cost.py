"""What a change costs: seconds without progress after a start, a rescale or a move, by the size reached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tenuto.model.columns import Floats, Ints, frozen


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds lost by reaching each size; the columns run along the sizes of the snapshot."""

    start: Floats
    """From nothing to this size."""
    rescale: Floats
    """From another size to this one."""
    move: Floats
    """From other slots to these, the size being the same."""

    @classmethod
    def by_size(cls, sizes: Ints, seconds: Callable[[int], float]) -> Cost:
        """Charge the same for a start, a rescale and a move to a size."""
        column = frozen(np.array([seconds(int(size)) for size in sizes], dtype=np.float64))
        return cls(column, column, column)
