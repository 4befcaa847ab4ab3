"""What the fake engine offers beyond the contract: verbs for everything that can happen, and time by a clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Any

import pytest
from tests.contracts.crew_contract import JOB, CrewContract, Floor
from tests.contracts.engine_contract import FIRST, SECOND, EngineContract, Stage
from tests.engines.builders import an_id, an_order

from tenuto.engines.fake import FakeEngine
from tenuto.model.node import Slot
from tenuto.wire.worker import CrewOrder, ExitReason, WorkerId, WorkerOrder, WorkerState


class HandClock:
    """Time that passes by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def an_engine(clock: HandClock | None = None, *, nodes: int = 1, slots: int = 2) -> FakeEngine:
    engine = FakeEngine(clock or HandClock())
    for i in range(nodes):
        engine.add_node(f"노드-{i}", slots)
    return engine


def state_of(engine: FakeEngine, worker: WorkerId) -> WorkerState | None:
    seen = engine.observe().workers.get(worker)
    return None if seen is None else seen.state


def test_workers_wait_while_starts_are_held_back() -> None:
    engine = an_engine()
    engine.hold_starts("held")
    held, free = an_id("held"), an_id("free")

    engine.want(1, [an_order(held, slot=0), an_order(free, slot=1)])
    assert (state_of(engine, held), state_of(engine, free)) == (WorkerState.WAITING, WorkerState.RUNNING)

    engine.release_starts()
    assert state_of(engine, held) is WorkerState.RUNNING


def test_a_worker_that_is_slow_to_stop_keeps_its_slot_until_it_has_gone() -> None:
    clock = HandClock()
    engine = an_engine(clock)
    engine.slow_stopping(20.0)
    first, second = an_id("first"), an_id("second")
    engine.want(1, [an_order(first)])
    engine.want(1, [an_order(second)])

    assert (state_of(engine, first), state_of(engine, second)) == (WorkerState.STOPPING, WorkerState.WAITING)
    assert engine.next_due() == 1020.0

    clock.now = 1020.0
    assert (state_of(engine, first), state_of(engine, second)) == (None, WorkerState.RUNNING)


def test_stopping_can_last_until_the_test_says_so() -> None:
    engine = an_engine()
    engine.slow_stopping(inf)
    engine.want(1, [an_order()])
    engine.want(1, [])
    assert state_of(engine, an_id()) is WorkerState.STOPPING
    assert engine.next_due() is None

    engine.finish_stopping()
    assert state_of(engine, an_id()) is None


def test_a_worker_that_is_wanted_again_while_it_stops_is_not_started_again() -> None:
    engine = an_engine()
    engine.slow_stopping(inf)
    engine.want(1, [an_order()])
    engine.want(1, [])
    engine.want(1, [an_order()])
    engine.finish_stopping()

    seen = engine.observe().workers[an_id()]
    assert (seen.state, seen.reason, seen.exit_code) == (WorkerState.EXITED, ExitReason.STOPPED, 143)
    assert list(engine.started) == [an_id()]


def test_all_workers_of_a_job_end_at_once() -> None:
    engine = an_engine(nodes=2)
    ours = [an_order(an_id(rank=i), node=f"노드-{i}") for i in range(2)]
    engine.want(1, [*ours, an_order(an_id("other"), slot=1)])

    engine.end_job("j-1", 3)

    seen = engine.observe().workers
    assert [seen[order.id].exit_code for order in ours] == [3, 3]
    assert engine.living() == [an_id("other")]


def test_workers_end_by_themselves_when_their_time_is_over() -> None:
    clock = HandClock()
    engine = FakeEngine(clock, lifetime=lambda order: 10.0 * (order.id.rank + 1))
    engine.add_node("노드-0", 2)
    engine.want(1, [an_order(an_id(rank=rank), slot=rank) for rank in range(2)])
    assert engine.next_due() == 1010.0

    clock.now = 1015.0
    seen = engine.observe().workers
    assert (seen[an_id(rank=0)].state, seen[an_id(rank=0)].ended_at) == (WorkerState.EXITED, 1010.0)
    assert seen[an_id(rank=1)].state is WorkerState.RUNNING
    assert engine.next_due() == 1020.0


def test_what_happened_on_a_lost_node_is_seen_when_it_returns() -> None:
    clock = HandClock()
    engine = an_engine(clock)
    engine.want(1, [an_order()])
    engine.lose_node("노드-0")
    engine.exit_worker(an_id(), 7)
    clock.now += 60.0
    assert state_of(engine, an_id()) is WorkerState.RUNNING
    assert engine.observe().nodes["노드-0"].heard_at == 1000.0

    engine.return_node("노드-0")
    assert engine.observe().workers[an_id()].exit_code == 7
    assert engine.observe().nodes["노드-0"].heard_at == 1060.0


def test_a_lost_node_hears_no_orders_until_it_returns() -> None:
    engine = an_engine()
    engine.lose_node("노드-0")
    engine.want(1, [an_order()])
    assert not engine.living()

    engine.return_node("노드-0")
    assert engine.living() == [an_id()]


def test_workers_may_vanish_with_their_node() -> None:
    engine = an_engine()
    engine.want(1, [an_order()])
    engine.lose_node("노드-0", with_workers=True)
    engine.return_node("노드-0")

    seen = engine.observe().workers[an_id()]
    assert (seen.state, seen.reason, seen.exit_code) == (WorkerState.EXITED, ExitReason.VANISHED, None)


def test_a_server_started_anew_has_heard_of_no_node() -> None:
    engine = an_engine()
    engine.want(1, [an_order()])
    engine.reopen()
    assert engine.observe().nodes == {}
    assert engine.observe().workers == {}

    engine.want(2, [an_order()])
    engine.return_node("노드-0")
    assert state_of(engine, an_id()) is WorkerState.RUNNING
    assert list(engine.started) == [an_id()]


def test_a_removed_node_that_is_silent_is_waited_for_no_longer_than_it_takes_to_be_lost() -> None:
    clock = HandClock()
    engine = an_engine(clock)
    engine.want(1, [an_order()])
    engine.lose_node("노드-0")
    engine.forget_node("노드-0")
    assert state_of(engine, an_id()) is WorkerState.RUNNING

    clock.now += 15.0
    assert state_of(engine, an_id()) is None


def test_a_node_may_bring_devices() -> None:
    engine = FakeEngine(HandClock())
    engine.add_node("gpu", [Slot(device="0", kind="A100")])

    assert engine.observe().nodes["gpu"].slots == (Slot(device="0", kind="A100"),)


def test_ten_thousand_workers_on_a_thousand_nodes_come_and_go() -> None:
    engine = an_engine(nodes=1000, slots=10)
    orders = [
        an_order(an_id(f"j-{i // 100}", rank=i % 100), node=f"노드-{i // 10}", slot=i % 10)
        for i in range(10_000)
    ]

    engine.want(1, orders)
    engine.want(1, orders)
    assert len(engine.observe().workers) == 10_000
    for job in range(100):
        engine.end_job(f"j-{job}")
    assert {seen.state for seen in engine.observe().workers.values()} == {WorkerState.EXITED}
    engine.want(1, [])
    assert not engine.observe().workers


class FakeStage:
    """The fake engine's own verbs."""

    def __init__(self) -> None:
        self._clock = HandClock()
        self.engine = FakeEngine(self._ticking)
        for name in (FIRST, SECOND):
            self.engine.add_node(name, 2)

    def _ticking(self) -> float:
        self._clock.now += 0.001
        return self._clock.now

    def let_exit(self, worker: WorkerId, code: int) -> None:
        self.engine.exit_worker(worker, code)

    def let_report(self, worker: WorkerId, step: float) -> None:
        self.engine.report(worker, step)

    def silence(self, node: str) -> None:
        self.engine.lose_node(node)

    def unsilence(self, node: str) -> None:
        self.engine.return_node(node)

    def starts(self) -> Sequence[WorkerId]:
        return self.engine.started

    def command(self, worker: WorkerId, *, slow_to_stop: bool) -> Mapping[str, Any]:
        if slow_to_stop:
            self.engine.slow_stopping(inf)
        return {}

    def release(self, worker: WorkerId) -> None:
        self.engine.finish_stopping(worker.job)


class TestFakeEngineKeepsTheContract(EngineContract):
    @pytest.fixture
    def stage(self) -> Iterator[Stage]:
        yield FakeStage()


class FakeFloor:
    """Verbs for workers that only exist in memory."""

    def __init__(self) -> None:
        self.engine = FakeEngine(HandClock())
        for name in (FIRST, SECOND):
            self.engine.add_node(name, 2)

    def command(self, worker: WorkerId) -> Mapping[str, Any]:
        return {}

    def kill(self, worker: WorkerId) -> None:
        self.engine.kill_worker(worker)

    def finish(self) -> None:
        self.engine.end_job(JOB)


class TestFakeEngineKeepsTheContractOfCrews(CrewContract):
    @pytest.fixture
    def floor(self) -> Iterator[Floor]:
        yield FakeFloor()


# workers that rescale in place, beyond the contract


def a_crew(plan: int, *members: WorkerId, lead: str = "노드-0") -> CrewOrder:
    return CrewOrder(job="j-1", plan=plan, members=members, lead=lead, peers={}, hosts={})


def linked(*workers: WorkerId) -> list[WorkerOrder]:
    return [an_order(worker, slot=slot, linked=True) for slot, worker in enumerate(workers)]


def standing(engine: FakeEngine, worker: WorkerId) -> tuple[int | None, str]:
    seen = engine.observe().workers[worker]
    return seen.generation, seen.stage


def test_a_group_takes_as_long_to_form_as_the_test_says() -> None:
    clock = HandClock()
    engine = an_engine(clock)
    engine.slow_forming(5.0)

    engine.want(1, linked(an_id()), [a_crew(3, an_id())])
    assert standing(engine, an_id()) == (3, "forming")
    assert engine.next_due() == 1005.0

    clock.now = 1005.0
    assert standing(engine, an_id()) == (3, "training")
    assert engine.next_due() is None


def test_newcomers_are_waited_for_while_the_others_train() -> None:
    engine = an_engine()
    old, new = an_id(), an_id(generation=2)
    engine.want(1, linked(old), [a_crew(1, old)])
    engine.hold_starts()

    engine.want(1, linked(old, new), [a_crew(2, old, new)])
    assert standing(engine, old) == (1, "training")

    engine.release_starts()
    assert standing(engine, old) == standing(engine, new) == (2, "training")


def test_a_leading_node_that_hears_nothing_goes_on_as_it_was_told_before() -> None:
    engine = an_engine()
    old, new = an_id(), an_id(generation=2)
    engine.want(1, linked(old), [a_crew(1, old)])
    engine.lose_node("노드-0")

    engine.want(1, linked(old, new), [a_crew(2, old, new)])
    assert standing(engine, old) == (1, "training")

    engine.return_node("노드-0")
    assert standing(engine, old) == standing(engine, new) == (2, "training")
