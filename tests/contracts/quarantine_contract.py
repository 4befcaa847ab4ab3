"""What a store in a database does about records that it cannot read: it goes on, and says so once.

A store passes by giving the fixtures `store`, `spoil` (overwrites the record of rows) and `reopened` (opens it anew).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.contracts.store_contract import add, event_ids, listed, names, put, setting
from tests.store.records import a_job, a_node, an_attempt, an_event

from tenuto.model.event import Event
from tenuto.model.phase import Phase
from tenuto.store.base import EventQuery, JobQuery, Store

Spoil = Callable[[str, str, str], None]
"""Writes a text into the column `record` (of `meta`: `value`) of a table, where a condition holds."""
DEEP = "[" * 250 + "]" * 250
SPOILED = {
    "nothing": "",
    "half a record": '[{"id": "',
    "another kind of record": '[{"kind": "x"}]',
    "too deep": '[{"params": ' + DEEP + "}]",
    "a number": "7",
}


def reported(store: Store) -> list[Event]:
    """The events about unreadable records, once the store has written what it was to write."""
    store.write(lambda _: None)
    return store.read(lambda tx: tx.events(EventQuery(kind="unreadable")))


class QuarantineContract:
    """One unreadable row of each table."""

    @pytest.mark.parametrize("text", SPOILED.values(), ids=SPOILED)
    def test_a_job_that_cannot_be_read_hides_no_other(self, store: Store, spoil: Spoil, text: str) -> None:
        jobs = add(store, a_job("a"), a_job("b"), a_job("c", after="x"))
        spoil("jobs", f"id = '{jobs[1].id}'", text)

        def look(tx: Any) -> Any:
            return names(tx.live_jobs()), names(tx.jobs_since(0)), tx.job(jobs[1].id)

        assert store.read(look) == (["a", "c"], ["a", "c"], None)
        assert listed(store) == ["c", "a"]
        assert store.read(lambda tx: tx.unreadable_job(jobs[1].id))
        (event,) = reported(store)
        assert (event.job, event.data["table"], event.data["key"]) == (jobs[1].id, "jobs", jobs[1].id)

    def test_pages_stay_full_and_counts_agree(self, store: Store, spoil: Spoil) -> None:
        jobs = add(store, *(a_job(f"j{number}") for number in range(9)))
        for job in jobs[3:6]:
            spoil("jobs", f"id = '{job.id}'", "")

        assert listed(store, limit=4) == ["j8", "j7", "j6", "j2"]
        assert listed(store, limit=4, skip=4) == ["j1", "j0"]
        assert store.read(lambda tx: tx.count_meant(JobQuery())) == 6
        for job in jobs:
            store.write(lambda tx, job=job: tx.add_event(an_event(job=job.id)))  # type: ignore[misc]
        spoil("events", "id IN (11, 13)", "{")
        assert event_ids(store, after=9, limit=3) == [10, 12, 14]
        assert event_ids(store, before=15, last=True, limit=3) == [10, 12, 14]

    def test_ended_jobs_are_read_past_one_that_cannot_be_read(self, store: Store, spoil: Spoil) -> None:
        jobs = add(store, *(a_job(f"j{number}") for number in range(4)))
        for number, job in enumerate(jobs):
            put(store, replace(job, phase=Phase.SUCCEEDED, ended_at=10.0 + number))
        spoil("jobs", f"id = '{jobs[1].id}'", "[]")

        assert names(store.read(lambda tx: tx.ended_jobs((0.0, 0), 2))) == ["j0", "j2"]

    def test_a_job_that_cannot_be_read_can_be_removed(self, store: Store, spoil: Spoil) -> None:
        (job,) = add(store, a_job("a"))
        spoil("jobs", f"id = '{job.id}'", "")
        assert store.read(lambda tx: tx.live_jobs()) == []
        assert len(reported(store)) == 1

        store.write(lambda tx: tx.remove_job(job.id))

        assert store.read(lambda tx: (tx.unreadable_job(job.id), tx.removed_since(0))) == (None, [job.id])
        assert store.read(lambda tx: tx.count_jobs()[Phase.SUBMITTED]) == 0

    def test_a_job_that_is_written_anew_is_there_again(self, store: Store, spoil: Spoil) -> None:
        (job,) = add(store, a_job("a"))
        spoil("jobs", f"id = '{job.id}'", "")
        assert listed(store) == []

        put(store, job)

        assert listed(store) == ["a"]

    def test_a_node_that_cannot_be_read_joins_again_or_is_removed(self, store: Store, spoil: Spoil) -> None:
        for name in ("n0", "n1", "n2"):
            store.write(lambda tx, name=name: tx.put_node(a_node(name)))  # type: ignore[misc]
        spoil("nodes", "name IN ('n0', 'n1')", "{}")

        assert [node.name for node in store.read(lambda tx: tx.nodes())] == ["n2"]
        assert {event.node for event in reported(store)} == {"n0", "n1"}
        again = store.write(lambda tx: tx.put_node(a_node("n0")))
        store.write(lambda tx: tx.remove_node("n1"))

        assert again.number == 1
        assert [node.name for node in store.read(lambda tx: tx.nodes())] == ["n0", "n2"]

    def test_attempts_and_meta_that_cannot_be_read_are_passed_over(self, store: Store, spoil: Spoil) -> None:
        (job,) = add(store, a_job())
        for rank in (0, 1):
            store.write(lambda tx, rank=rank: tx.put_attempt(an_attempt(job.id, rank=rank)))  # type: ignore[misc]
        store.write(setting(good=[1], bad=[2]))
        spoil("attempts", "rank = 0", "")
        spoil("meta", "key = 'bad'", "[2")

        found = store.read(lambda tx: (tx.attempts(job.id), tx.meta("good"), tx.meta("bad")))

        assert ([one.rank for one in found[0]], *found[1:]) == ([1], [1], None)
        assert {event.data["table"] for event in reported(store)} == {"attempts", "meta"}
        store.write(setting(bad=[3]))
        assert store.read(lambda tx: tx.meta("bad")) == [3]
        spoil("meta", "key = 'bad'", "[3")
        assert store.read(lambda tx: tx.meta("bad")) is None
        assert [event.data["table"] for event in reported(store)].count("meta") == 2

    def test_old_events_that_cannot_be_read_are_removed_like_others(self, store: Store, spoil: Spoil) -> None:
        for _ in range(4):
            store.write(lambda tx: tx.add_event(an_event()))
        spoil("events", "id IN (1, 2)", "")
        assert event_ids(store) == [3, 4]

        assert store.write(lambda tx: tx.remove_events(3, 10)) == 2

    def test_each_record_is_reported_once_whoever_finds_it(
        self, store: Store, spoil: Spoil, reopened: Callable[[], Store]
    ) -> None:
        jobs = add(store, a_job("a"), a_job("b"))
        spoil("jobs", f"id = '{jobs[0].id}'", "")
        spoil("events", "id = 1", "")
        for _ in range(3):
            store.read(lambda tx: (tx.live_jobs(), tx.events(EventQuery())))
        assert len(reported(store)) == 2

        again = reopened()
        try:
            again.read(lambda tx: (tx.live_jobs(), tx.events(EventQuery())))
            assert {event.data["table"] for event in reported(again)} == {"jobs", "events"}
            assert len(reported(again)) == 2
        finally:
            again.close()

    def test_an_act_goes_on_past_what_it_cannot_read(self, store: Store, spoil: Spoil) -> None:
        jobs = add(store, a_job("a"), a_job("b"))
        spoil("jobs", f"id = '{jobs[0].id}'", "")

        def act(tx: Any) -> int:
            tx.set_meta("seen", names(tx.live_jobs()))
            return len(tx.events(EventQuery()))

        assert store.write(act) == 2
        assert store.read(lambda tx: tx.meta("seen")) == ["b"]
        assert len(reported(store)) == 1
