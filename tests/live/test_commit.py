"""What is written when somebody else has written meanwhile: what still holds, and nothing that does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.live.platform import Platform

from tenuto.live.change import Change
from tenuto.live.decide import salvage
from tenuto.model.job import Job, JobSpec, Progress
from tenuto.model.node import NodeState
from tenuto.model.phase import Phase
from tenuto.store.base import StoreUnavailable, Tx

P = Phase


def interrupted(here: Platform, act: Callable[[Tx], Any]) -> bool:
    """Tick once; before the tick commits, the server writes."""
    write = here.store.write
    done: list[bool] = []

    def late(wanted: Callable[[Tx], Any]) -> Any:
        if not done:
            done.append(True)
            write(act)
        return write(wanted)

    here.store.write = late  # type: ignore[method-assign, assignment]
    try:
        return here.controller.tick()
    finally:
        here.store.write = write  # type: ignore[method-assign]


def test_a_round_whose_commit_was_not_answered_is_known_all_the_same() -> None:
    here = Platform()
    here.settle()
    job = here.submit(settle=False)
    write = here.store.write

    def unanswered(wanted: Callable[[Tx], Any]) -> Any:
        write(wanted)
        raise StoreUnavailable("the connection was lost in the middle of a commit")

    here.store.write = unanswered  # type: ignore[method-assign, assignment]
    with pytest.raises(StoreUnavailable):
        here.controller.tick()
    here.store.write = write  # type: ignore[method-assign]
    here.settle()
    assert here.phase(job) is P.RUNNING

    here.exit(job)
    assert here.phase(job) is P.SUCCEEDED
    assert here.job(job).generation == 1


def test_how_a_worker_ended_is_not_forgotten_with_a_tick_that_could_not_write_it_down() -> None:
    here = Platform()
    job = here.submit(max_workers=1)
    here.engine.end_job(job)
    ended, observe, write = here.engine.observe(), here.engine.observe, here.store.write

    def full(_: Callable[[Tx], Any]) -> Any:
        raise StoreUnavailable("pełny dysk")

    here.engine.observe = lambda: ended  # type: ignore[method-assign]
    here.store.write = full  # type: ignore[method-assign, assignment]
    with pytest.raises(StoreUnavailable):
        here.controller.tick()
    here.engine.observe = lambda: replace(ended, workers={})  # type: ignore[method-assign]
    here.store.write = write  # type: ignore[method-assign]
    here.controller.tick()
    here.engine.observe = observe  # type: ignore[method-assign]

    assert here.phase(job) is P.SUCCEEDED


def wished(job: str, **fields: Any) -> Callable[[Tx], Any]:
    def act(tx: Tx) -> None:
        found = tx.job(job)
        assert found is not None
        tx.put_job(replace(found, **fields))

    return act


def test_a_new_job_does_not_make_a_round_stale() -> None:
    here = Platform()
    here.settle()
    job = here.submit(settle=False)
    newcomer = replace(here.job(job), id="nowa")

    assert interrupted(here, lambda tx: tx.add_job(newcomer))

    assert (here.phase(job), here.phase("nowa")) == (P.STARTING, P.SUBMITTED)


def test_only_the_job_that_changed_meanwhile_is_left_out() -> None:
    here = Platform()
    here.settle()
    first = here.submit("첫째", max_workers=1, settle=False)
    second = here.submit("둘째", max_workers=1, settle=False)

    assert not interrupted(here, wished(first, cancel=True))

    assert (here.phase(first), here.phase(second)) == (P.SUBMITTED, P.STARTING)
    here.settle()
    assert (here.phase(first), here.phase(second)) == (P.CANCELLED, P.RUNNING)
    assert here.walk(first) == ["submitted", "cancelled"]


def test_whoever_was_to_get_the_slots_of_a_job_that_changed_meanwhile_waits_for_the_next_round() -> None:
    here = Platform(interval=0.0)
    big = here.submit("duże", steps=1000.0)
    small = here.submit("małe", steps=10.0, settle=False)

    assert not interrupted(here, wished(big, urgent=True))

    assert here.job(big).workers == 4
    assert (here.phase(small), dict(here.job(small).slots)) == (P.SUBMITTED, {})
    here.settle()
    assert here.phase(small) is P.RUNNING


def test_a_promise_given_in_a_round_that_was_left_out_is_given_anew() -> None:
    here = Platform()
    here.settle()
    job = here.submit(steps=400.0, deadline=110.0, settle=False)

    assert not interrupted(here, wished(job, urgent=True))
    here.settle()

    assert (here.phase(job), here.job(job).promise.value) == (P.RUNNING, "holds")


def test_a_changed_node_makes_the_whole_round_stale() -> None:
    here = Platform()
    here.settle()
    job = here.submit(settle=False)

    def drain(tx: Tx) -> None:
        node = tx.node("node-0")
        assert node is not None
        tx.put_node(replace(node, state=NodeState.DRAINING))

    assert not interrupted(here, drain)

    assert here.phase(job) is P.SUBMITTED
    here.settle()
    assert here.phase(job) is P.UNSCHEDULABLE


def test_a_job_removed_meanwhile_is_simply_gone() -> None:
    here = Platform()
    here.settle()
    job = here.submit(settle=False)

    assert not interrupted(here, lambda tx: tx.remove_job(job))

    here.settle()
    assert here.store.read(lambda tx: tx.job(job)) is None
    assert here.engine.started == []


def test_nothing_is_written_when_nothing_happens() -> None:
    here = Platform()
    here.submit()
    revision = here.store.revision()
    for _ in range(3):
        here.clock.now += 1.0
        assert here.controller.tick()

    assert here.store.revision() == revision


def test_workers_go_on_when_the_store_takes_no_writes() -> None:
    here = Platform()
    job = here.submit()
    before = here.workers(job)
    write = here.store.write

    def full(_: Callable[[Tx], Any]) -> Any:
        raise StoreUnavailable("the disk is full")

    here.store.write = full  # type: ignore[method-assign, assignment]
    here.engine.exit_worker(before[0], 1)
    with pytest.raises(StoreUnavailable):
        here.controller.tick()
    assert here.workers(job) == before[1:]

    here.store.write = write  # type: ignore[method-assign]
    here.settle()

    assert here.phase(job) is P.FAILED


def a_change(name: str, before: int | None, after: int | None, node: str = "n") -> Change:
    """A job that goes from one slot to another."""
    job = Job(
        id=name,
        number=0,
        revision=1,
        spec=JobSpec(name=name, run=("x",)),
        owner="",
        submitted_at=0.0,
        slots={} if before is None else {node: (before,)},
        progress=Progress(left=0.0, as_of=0.0),
    )
    moved = replace(job, slots={} if after is None else {node: (after,)})
    return Change(job, moved, 0.0, 0.0)


def test_salvaging_goes_on_until_nobody_wants_a_slot_that_is_held() -> None:
    chain = {
        "a": a_change("a", 0, 1),
        "b": a_change("b", 1, 2),
        "c": a_change("c", 2, 3),
        "d": a_change("d", None, 4),
    }
    news = {name: replace(change, job=change.before) for name, change in chain.items()}

    kept = salvage(news, chain, {"c": chain["c"].before})

    assert kept.keys() == {"a", "b", "d"}
    assert kept["b"] is news["b"], "c keeps slot 2"
    assert kept["a"] is news["a"], "b keeps slot 1"
    assert kept["d"] is chain["d"], "nobody is in its way"


def test_salvaging_keeps_everything_when_nobody_changed() -> None:
    changes = {"a": a_change("a", 0, 1), "b": a_change("b", 1, 0)}
    news = {name: replace(change, job=change.before) for name, change in changes.items()}

    assert salvage(news, changes, {}) == changes


def test_an_observation_without_nodes_is_no_reason_to_stop_anything() -> None:
    here = Platform()
    job = here.submit()
    here.engine.reopen()
    seen = here.engine.observe()
    assert (seen.nodes, seen.workers) == ({}, {})
    here.settle()

    assert here.phase(job) is P.RUNNING
