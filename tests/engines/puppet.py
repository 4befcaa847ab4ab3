"""A worker that does what it is told through a pipe: run as a program by real supervisors in tests.

usage: puppet.py DIRECTORY NAME [slow]      with `slow` it does not mind being asked to end
"""

# ruff: noqa: PTH123 (a worker that imports little starts fast)

from __future__ import annotations

import os
import signal
import sys


def main(directory: str, name: str, *manner: str) -> None:
    if "slow" in manner:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with open(f"{directory}/starts", "a") as starts:
        starts.write(f"{name}\n")
    while True:
        with open(f"{directory}/{name}.pipe") as told:
            for line in told:
                obey(*line.split())


def obey(verb: str, what: str) -> None:
    if verb == "exit":
        os._exit(int(what))
    elif verb == "report":
        with open(os.environ["TENUTO_REPORT"], "a") as reports:
            reports.write(f'{{"step": {what}}}\n')
    elif verb == "print":
        print(what, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
