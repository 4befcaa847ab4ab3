"""The past as a store tells of it: found by halving, and within bounds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.forecast.records import a_record

from tenuto.model.event import Event
from tenuto.model.job import Job
from tenuto.model.phase import Phase
from tenuto.store.history import jobs_of_a_time, outages, submitted_between
from tenuto.store.memory import MemoryStore


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def add(store: MemoryStore, id_: str, submitted: float, ended: float | None = None) -> Job:
    phase = Phase.QUEUED if ended is None else Phase.SUCCEEDED
    job = replace(a_record(), id=id_, submitted_at=submitted, ended_at=ended, phase=phase)
    return store.write(lambda tx: tx.add_job(job))


def ids(jobs: list[Job]) -> list[str]:
    return [job.id for job in jobs]


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_every_span_of_time_is_found_whatever_is_missing_between(store: MemoryStore, count: int) -> None:
    for number in range(count):
        add(store, f"job-{number}", float(number))
        add(store, f"gone-{number}", float(number))
        store.write(lambda tx, number=number: tx.remove_job(f"gone-{number}"))  # type: ignore[misc]

    for since in range(count + 1):
        for until in range(count + 1):
            found = store.read(
                lambda tx, span=(since, until): submitted_between(tx, float(span[0]), float(span[1]))  # type: ignore[misc]
            )
            assert ids(found) == [f"job-{number}" for number in reversed(range(since, until))]


def test_who_lived_at_a_time_is_found_however_old(store: MemoryStore) -> None:
    add(store, "starý, hotový", 1.0, ended=50.0)
    add(store, "starý, živý", 2.0)
    add(store, "dlouhý", 3.0, ended=150.0)
    add(store, "nový", 120.0)

    found, more = store.read(lambda tx: jobs_of_a_time(tx, 100.0, most=10))

    assert (ids(found), more) == (["starý, živý", "dlouhý", "nový"], False)


def test_of_too_many_the_newest_are_kept(store: MemoryStore) -> None:
    for number in range(9):
        add(store, f"job-{number}", float(number), ended=100.0 + number)

    found, more = store.read(lambda tx: jobs_of_a_time(tx, 50.0, most=3))

    assert (ids(found), more) == (["job-6", "job-7", "job-8"], True)


def test_an_outage_lasts_until_something_is_decided_again(store: MemoryStore) -> None:
    def happens(at: float, kind: str, **told: Any) -> None:
        store.write(lambda tx: tx.add_event(Event(kind=kind, at=at, actor="민준", **told)))

    happens(10.0, "cluster", after="draining")
    happens(11.0, "phase", before="running", after="queued")
    happens(90.0, "scaled", data={"workers": 1})
    happens(95.0, "cluster", after="draining")

    assert store.read(outages) == [(10.0, 90.0), (95.0, None)]
