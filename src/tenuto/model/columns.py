"""Types of the columns in hot loops, and the one way to freeze them."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

Column = TypeVar("Column", bound=NDArray[Any])


def frozen(column: Column) -> Column:
    """Make a column read-only, so that values built on it can be shared without copying."""
    column.setflags(write=False)
    return column
