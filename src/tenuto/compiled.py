"""The one place where functions are compiled.

A kernel is an ordinary function on NumPy columns and numbers. It is compiled on its first call and kept in
Numba's cache on disk, so that only the first run on a machine pays for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compiled(function: Kernel) -> Kernel:
    """Compile a function of columns and numbers to machine code, keeping IEEE arithmetic as written."""
    kernel: Kernel = numba.njit(cache=True, fastmath=False)(function)
    return kernel
