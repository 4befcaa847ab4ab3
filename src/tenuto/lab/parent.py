"""A process that ends with the one that started it, however that ends."""

from __future__ import annotations

import ctypes
import os
import signal

# From <sys/prctl.h>: which signal a process gets when its parent ends.
_PR_SET_PDEATHSIG = 1


def end_with(parent: int) -> None:
    """Be killed when the parent is: a kernel may run for long without looking at a pipe or at signals."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before we asked
        os.kill(os.getpid(), signal.SIGKILL)
