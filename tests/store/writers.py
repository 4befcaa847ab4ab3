"""Writes jobs until it is killed, and says which ones it was told are stored. `python writers.py URL THREADS`"""

from __future__ import annotations

import os
import sys
import threading

from tests.store.records import a_job, adding

from tenuto.store.base import Store
from tenuto.store.open import open_store


def write_for_ever(store: Store, writer: int) -> None:
    number = 0
    while True:
        number += 1
        job = store.write(adding(a_job(id=f"{writer}-{number}")))
        os.write(1, f"{job.id}\n".encode())


if __name__ == "__main__":
    opened = open_store(sys.argv[1])
    threads = [threading.Thread(target=write_for_ever, args=(opened, i)) for i in range(int(sys.argv[2]))]
    for thread in threads:
        thread.start()
