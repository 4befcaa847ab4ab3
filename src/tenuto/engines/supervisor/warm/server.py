"""A warm server: `PYTHON server.py SOCKET ROOT MODULES`, started by the supervisor in the job's own environment.

It imports what takes long, says `ready`, and then forks one shim for every message `{"directory": …, "call": …}` that
comes with the descriptor of the worker's lock. It ends when its supervisor closes the socket or is no more. It has one
thread and has used neither autograd nor a device, so that whatever is forked from it is as good as new.
Standard library only.
"""

from __future__ import annotations

import array
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from tenuto.engines.supervisor.warm.program import Born

_PR_SET_PDEATHSIG = 1
_MESSAGE = 1 << 20
_NOT_HERE = 3
"""Exit code of a server whose first module cannot be imported."""


def main(channel: socket.socket, root: str, modules: list[str]) -> Born:
    """Serve until nobody needs it. Returns in workers only, with what they are born to."""
    _end_with_the_supervisor(channel)
    originals = _preload(modules)
    _load_ours(root)
    keep = _descriptors() - {channel.fileno()}
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so that nobody need wait for shims that have ended
    gc.collect()
    gc.freeze()  # what is here now is shared with the workers for as long as nobody touches it
    channel.send(b"ready")
    while True:
        message, lock = _receive(channel)
        if lock is None or originals != _stamps(originals):
            os._exit(
                0
            )  # nobody is there; or something else is installed by now, and the next server shall have it
        if os.fork() == 0:
            channel.close()
            born = _be_shim(json.loads(message), lock)
            born.keep = frozenset(keep)
            return born
        os.close(lock)
        channel.send(b"done")


def _end_with_the_supervisor(channel: socket.socket) -> None:
    """Be killed when it is; if that happened already, its end of the socket is closed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if select.select([channel], [], [], 0)[0]:
        os._exit(0)


def _preload(modules: list[str]) -> dict[str, tuple[int, int]]:
    """Import what takes long; the files that were imported, as they are now."""
    check = "PYTORCH_NVML_BASED_CUDA_CHECK"  # looking for devices must not begin to use them
    before = os.environ.get(check)
    os.environ[check] = "1"
    for name in modules:
        try:
            importlib.import_module(name)
        except ImportError:
            if name == modules[0]:
                os._exit(_NOT_HERE)
    if "torch" in sys.modules:
        _warm_up_torch()
    if before is None:
        del os.environ[check]
    else:
        os.environ[check] = before
    found = (getattr(sys.modules.get(name), "__file__", None) for name in modules)
    return _stamps(path for path in found if path is not None)


def _warm_up_torch() -> None:
    """Have torch import what its first optimizer needs. No backward: that would start threads."""
    torch = sys.modules["torch"]
    torch.optim.Adam([torch.zeros(1, requires_grad=True)])
    if torch.cuda.is_initialized():
        os._exit(_NOT_HERE)  # a device in use cannot be handed on by a fork


def _load_ours(root: str) -> None:
    """Load the shim's code from where the supervisor has it, whatever tenuto the job's environment has."""
    sys.path.insert(0, root)
    for name in ("shim.life", "warm.program", "warm.become"):
        importlib.import_module(f"tenuto.engines.supervisor.{name}")
    sys.path.remove(root)


def _receive(channel: socket.socket) -> tuple[bytes, int | None]:
    """The next message and the lock that comes with it; no lock if there is nobody any more."""
    room = socket.CMSG_SPACE(array.array("i").itemsize)
    message, ancillary, _, _ = channel.recvmsg(_MESSAGE, room, socket.MSG_CMSG_CLOEXEC)
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            return message, array.array("i", data)[0]
    return message, None


def _be_shim(task: dict[str, Any], lock: int) -> Born:
    """Stand beside the worker to its end; only in the worker itself this returns."""
    from tenuto.engines.supervisor.shim import life
    from tenuto.engines.supervisor.warm.program import Born, WarmProgram

    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        _complain_into(f"{task['directory']}/shim.err")
        life.main(task["directory"], lock, WarmProgram)
    except Born as born:
        born.call = task["call"]
        return born.with_traceback(None)
    except BaseException:  # noqa: BLE001 - the process ends here, whatever it was
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)


def _complain_into(path: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    for stream in (1, 2):
        os.dup2(file, stream)
    os.close(file)


def _stamps(paths: Iterable[str]) -> dict[str, tuple[int, int]]:
    """What changes when a file is replaced; nothing for one that is gone."""
    stamps = {}
    for path in paths:
        try:
            found = os.stat(path)
        except OSError:
            continue
        stamps[path] = (found.st_ino, found.st_mtime_ns)
    return stamps


def _descriptors() -> set[int]:
    found = [int(name) for name in os.listdir("/proc/self/fd")]
    return {
        number for number in found if os.path.exists(f"/proc/self/fd/{number}")
    }  # not the one that listed them


if __name__ == "__main__":
    os.environ.pop("TENUTO_ROOM", None)
    sys.path.pop(0)  # our own directory, which no worker must find
    worker = main(socket.socket(fileno=int(sys.argv[1])), sys.argv[2], sys.argv[3].split(","))
    sys.modules["tenuto.engines.supervisor.warm.become"].become(worker)
