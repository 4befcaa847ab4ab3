"""Stories of two stores on one database, as two processes would have them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import chain

from tests.contracts.store_contract import HANG, event_ids
from tests.store.records import a_job, adding

from tenuto.store.base import Store
from tenuto.store.open import open_store


def write_in_turn(url: str) -> None:
    """Both write as fast as they can: numbers, revisions and events stay whole, and nothing is lost."""

    def submit_some(store: Store) -> list[str]:
        return [store.write(adding(a_job())).id for _ in range(25)]

    with closing(open_store(url)) as one, closing(open_store(url)) as other, ThreadPoolExecutor(4) as threads:
        written = list(threads.map(submit_some, (one, other, one, other), timeout=HANG))
        jobs = one.read(lambda tx: tx.live_jobs())
        assert {job.id for job in jobs} == set(chain(*written))
        assert [job.number for job in jobs] == list(range(1, 101))
        assert sorted(job.revision for job in jobs) == list(range(1, 101))
        assert event_ids(other, limit=1000) == list(range(1, 101))


def hear_of_another(url: str) -> None:
    """A commit of one rings the listeners of the other."""
    with closing(open_store(url)) as one, closing(open_store(url)) as other:
        heard = threading.Event()
        revisions: list[int] = []

        def ring(revision: int) -> None:
            revisions.append(revision)
            heard.set()

        one.listen(ring)
        stored = other.write(adding(a_job()))
        assert heard.wait(HANG)
        assert revisions == [stored.revision]
        assert one.read(lambda tx: tx.job(stored.id)) == stored
