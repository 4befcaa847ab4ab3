"""A process that has imported torch and forks workers from itself, so that a test pays for the import once.

It is single-threaded for as long as it lives: what it forks is as good as freshly started. It talks lines of JSON over
its standard input and output, and its children die with it.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import runpy
import select
import signal
import sys
from typing import Any

_PR_SET_PDEATHSIG = 1


def _import_everything() -> None:
    import torch
    import torch.distributed

    import tenuto.sdk.pytorch.session
    import tenuto.sdk.run  # noqa: F401

    torch.set_num_threads(1)
    parameter = torch.nn.Parameter(torch.zeros(1))
    torch.optim.Adam([parameter])  # imports half of torch at the first time


def _become(order: dict[str, Any]) -> None:
    """In the child: run the script as Python would."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    for number, descriptor in enumerate((os.open("/dev/null", os.O_RDONLY), _log(order), _log(order))):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.environ.update(order["env"])
    for name in order["without"]:
        os.environ.pop(name, None)
    sys.argv = [order["script"], *order["arguments"]]
    runpy.run_path(order["script"], run_name="__main__")


def _log(order: dict[str, Any]) -> int:
    return os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def _say(**message: Any) -> None:
    os.write(1, json.dumps(message).encode() + b"\n")


def main() -> None:
    _import_everything()
    children: dict[int, int] = {}
    _say(ready=True)
    pending = b""
    while True:
        readable, _, _ = select.select([0, *children], [], [])
        for descriptor in set(readable) - {0}:
            pid = children.pop(descriptor)
            os.close(descriptor)
            _, status = os.waitpid(pid, 0)
            code = os.waitstatus_to_exitcode(status)
            _say(exited=pid, code=code if code >= 0 else 128 - code)
        if 0 not in readable:
            continue
        heard = os.read(0, 1 << 16)
        if not heard:
            return
        *lines, pending = (pending + heard).split(b"\n")
        for line in lines:
            pid = os.fork()
            if pid == 0:
                for descriptor in children:
                    os.close(descriptor)
                _become(json.loads(line))
                atexit._run_exitfuncs()
                sys.stdout.flush()
                os._exit(0)  # taking torch apart would be most of what a story costs
            children[os.pidfd_open(pid)] = pid
            _say(started=pid)


if __name__ == "__main__":
    main()
