"""Levels: the GPU counts that a profile has columns for, 1 to 64, each named by its exponent of two."""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled

LEVELS = 7
"""1, 2, 4, ... 64 GPUs are the levels 0 to 6."""

_LARGEST = 1 << (LEVELS - 1)
_FITTING = np.array([-1] + [gpus.bit_length() - 1 for gpus in range(1, _LARGEST + 1)], dtype=np.int64)


@compiled
def level_fitting(gpus: int) -> int:
    """Find the highest level that so many free GPUs can hold; -1 if they hold none."""
    return int(_FITTING[min(max(gpus, 0), _LARGEST)])
