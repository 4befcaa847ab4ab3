"""A sampler that tells a sample whenever the test wants one: run as a program by a real watch in tests.

usage: puppet.py DIRECTORY --every SECONDS

Every line in DIRECTORY/pipe is told as it is. DIRECTORY/starts has a line for each start and each change of period.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path


def main(directory: Path, every: str) -> None:
    note(directory, f"{os.getpid()} {every}")
    threading.Thread(target=obey, args=(directory,), daemon=True).start()
    while True:
        with (directory / "pipe").open("rb") as told:
            for line in told:
                if line == b"break\n":
                    os._exit(7)
                os.write(1, line)


def obey(directory: Path) -> None:
    for line in sys.stdin:
        note(directory, f"{os.getpid()} {line.strip()}")
    os._exit(0)


def note(directory: Path, line: str) -> None:
    with (directory / "starts").open("a") as starts:
        starts.write(f"{line}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[-1])
