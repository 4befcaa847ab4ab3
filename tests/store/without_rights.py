"""Does with a store what it is asked to, line by line, and answers in one line each. `python without_rights.py FILE`

Root may write everything, so rights can only be missed by a process that has given them up. It does so itself,
after it has loaded everything that it needs.
"""

from __future__ import annotations

import os
import sys

from tests.store.records import a_job, adding

from tenuto.store.base import Store, StoreUnavailable
from tenuto.store.open import open_store

NOBODY = 65534


class Rightless:
    """The answers to the questions of a test."""

    def __init__(self, path: str) -> None:
        self._url = f"sqlite:///{path}"
        self._store: Store | None = None

    def fill(self) -> str:
        store = open_store(self._url)
        store.write(adding(a_job()))
        store.close()
        return "filled"

    def drop_rights(self) -> str:
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        return "dropped"

    def open(self) -> str:
        self._store = open_store(self._url)
        return f"opened, {self._jobs()} job"

    def write(self) -> str:
        assert self._store is not None
        self._store.write(adding(a_job()))
        return f"written, {self._jobs()} jobs"

    def _jobs(self) -> int:
        assert self._store is not None
        return len(self._store.read(lambda tx: tx.live_jobs()))


def main() -> None:
    rightless = Rightless(sys.argv[1])
    for line in sys.stdin:
        try:
            answer = getattr(rightless, line.strip().replace(" ", "_"))()
        except StoreUnavailable as error:
            answer = str(error)
        print(answer, flush=True)


if __name__ == "__main__":
    main()
