"""The way to NVIDIA's driver, for everybody who asks it something.

pynvml takes 30 ms and 4 MB to import, which a machine without the driver's library is spared.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

LIBRARY = "libnvidia-ml.so.1"


class NoDriver(Exception):
    """The driver does not answer."""


class NoLibrary(NoDriver):
    """There is no driver on this machine."""


def is_here() -> bool:
    """Whether the driver's library is on this machine; that says nothing about the driver."""
    if "pynvml" in sys.modules:
        return True  # it was found, or pynvml will say that it was not
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        return False
    return True


def load() -> Any | None:
    """The module pynvml; None if the driver's library is not on this machine."""
    if not is_here():
        return None
    import pynvml

    return pynvml


@contextmanager
def session() -> Iterator[Any]:
    """The module pynvml, for a few questions; raises NoDriver if they are not answered."""
    nvml = load()
    if nvml is None:
        raise NoLibrary
    try:
        nvml.nvmlInit()
        try:
            yield nvml
        finally:
            nvml.nvmlShutdown()
    except nvml.NVMLError_LibraryNotFound as error:
        raise NoLibrary from error
    except nvml.NVMLError as error:
        raise NoDriver(str(error)) from error


def text(told: bytes | str) -> str:
    """A name as the driver tells it; older versions of pynvml tell bytes."""
    return told.decode(errors="replace") if isinstance(told, bytes) else told
