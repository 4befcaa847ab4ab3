"""What every engine keeps, as stories that are told of each of them.

An engine under test comes with a `Stage`: verbs for what happens outside of the port. On the fake engine they are
its own verbs; on the local engine they act on real supervisors and real processes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

import pytest
from tests.engines.builders import an_id, an_order

from tenuto.engines.base import Engine, NodeSeen, Observation, TermRefused
from tenuto.wire.worker import ExitReason, WorkerId, WorkerOrder, WorkerSeen, WorkerState

HANG = 30.0
"""Seconds after which something that should have happened will not happen any more."""

FIRST, SECOND = "노드-0", "węzeł-1"
"""The two nodes that are there at the beginning, with two slots each."""


class Stage(Protocol):
    """What can be done to an engine's nodes and workers from outside."""

    @property
    def engine(self) -> Engine: ...

    def let_exit(self, worker: WorkerId, code: int) -> None:
        """The worker ends by itself."""
        ...

    def let_report(self, worker: WorkerId, step: float) -> None:
        """The worker reports a step."""
        ...

    def silence(self, node: str) -> None:
        """Nothing is heard of the node any more; what runs there goes on."""
        ...

    def unsilence(self, node: str) -> None:
        """The node is heard again."""
        ...

    def starts(self) -> Sequence[WorkerId]:
        """Every start of a worker there has been, as the workers themselves would tell it."""
        ...

    def command(self, worker: WorkerId, *, slow_to_stop: bool) -> Mapping[str, Any]:
        """What the worker's order needs beyond id, node and slot, so that `let_exit` and the others work on it."""
        ...

    def release(self, worker: WorkerId) -> None:
        """A worker that is slow to stop and was told to stop ends now."""
        ...


class EngineContract:
    """Inherited by the tests of each engine, which give the fixture `stage`."""

    @pytest.fixture
    def stage(self) -> Iterator[Stage]:
        raise NotImplementedError

    # starting

    def test_nothing_runs_at_first_and_the_nodes_are_seen_with_their_slots(self, stage: Stage) -> None:
        seen = stage.engine.observe()

        assert sorted(seen.nodes) == sorted([FIRST, SECOND])
        assert [len(node.slots) for node in seen.nodes.values()] == [2, 2]
        assert not seen.workers

    def test_a_wanted_worker_is_started_and_seen(self, stage: Stage) -> None:
        order = self.order(stage, an_id())

        stage.engine.want(1, [order])

        worker = self.running(stage, order.id)
        assert (worker.node, worker.slot) == (FIRST, 0)
        assert worker.pid is not None
        assert worker.started_at is not None
        assert worker.exit_code is None

    def test_wanting_twice_starts_once(self, stage: Stage) -> None:
        order = self.order(stage, an_id())
        stage.engine.want(1, [order])
        before = self.running(stage, order.id)

        for _ in range(3):
            stage.engine.want(1, [order])
        other = self.order(stage, an_id("other"), slot=1)
        stage.engine.want(1, [order, other])
        self.running(stage, other.id)

        assert self.running(stage, order.id).pid == before.pid
        assert sorted(stage.starts()) == sorted([order.id, other.id])

    def test_workers_run_on_the_nodes_that_were_named(self, stage: Stage) -> None:
        orders = [
            self.order(stage, an_id(rank=rank), node=node, slot=rank % 2)
            for rank, node in enumerate([FIRST, FIRST, SECOND, SECOND])
        ]

        stage.engine.want(1, orders)

        seen = [self.running(stage, order.id) for order in orders]
        assert [(worker.node, worker.slot) for worker in seen] == [(o.node, o.slot) for o in orders]

    def test_processes_beside_the_workers_take_no_slot(self, stage: Stage) -> None:
        beside = [self.order(stage, an_id(role="파라미터", rank=rank), slot=None) for rank in range(3)]
        workers = [self.order(stage, an_id(rank=rank), slot=rank) for rank in range(2)]

        stage.engine.want(1, [*beside, *workers])

        for order in (*beside, *workers):
            assert self.running(stage, order.id).slot == order.slot

    # stopping

    def test_an_unwanted_worker_is_stopped_and_then_no_longer_seen(self, stage: Stage) -> None:
        stays, goes = self.order(stage, an_id("stays"), slot=1), self.order(stage, an_id("goes"))
        stage.engine.want(1, [stays, goes])
        self.running(stage, stays.id)
        self.running(stage, goes.id)

        stage.engine.want(1, [stays])

        self.gone(stage, goes.id)
        assert self.running(stage, stays.id)

    def test_a_worker_that_takes_its_time_is_seen_stopping(self, stage: Stage) -> None:
        order = self.order(stage, an_id(), slow_to_stop=True)
        stage.engine.want(1, [order])
        self.running(stage, order.id)

        stage.engine.want(1, [])

        assert self.seen(stage, order.id, WorkerState.STOPPING).exit_code is None
        stage.release(order.id)
        self.gone(stage, order.id)

    def test_stopping_twice_does_no_harm(self, stage: Stage) -> None:
        order = self.order(stage, an_id(), slow_to_stop=True)
        stage.engine.want(1, [order])
        self.running(stage, order.id)
        stage.engine.want(1, [])
        self.seen(stage, order.id, WorkerState.STOPPING)

        stage.engine.want(1, [])
        other = self.order(stage, an_id("other"), slot=1)
        stage.engine.want(1, [other])
        self.running(stage, other.id)

        assert self.seen(stage, order.id, WorkerState.STOPPING)
        stage.release(order.id)
        self.gone(stage, order.id)

    def test_a_worker_that_stops_and_is_wanted_again_is_not_started_again(self, stage: Stage) -> None:
        order = self.order(stage, an_id(), slow_to_stop=True)
        stage.engine.want(1, [order])
        self.running(stage, order.id)
        stage.engine.want(1, [])
        self.seen(stage, order.id, WorkerState.STOPPING)

        stage.engine.want(1, [order])
        stage.release(order.id)

        assert self.exited(stage, order.id).reason is ExitReason.STOPPED
        assert list(stage.starts()) == [order.id]

    def test_a_worker_that_never_got_its_slot_is_forgotten_without_a_start(self, stage: Stage) -> None:
        holder, waits = self.order(stage, an_id("holder")), self.order(stage, an_id("waits"))
        stage.engine.want(1, [holder])
        self.running(stage, holder.id)
        stage.engine.want(1, [holder, waits])
        self.seen(stage, waits.id, WorkerState.WAITING)

        stage.engine.want(1, [holder])

        self.gone(stage, waits.id)
        assert list(stage.starts()) == [holder.id]

    # ends

    @pytest.mark.parametrize("code", [0, 3])
    def test_the_exit_code_of_a_worker_that_ends_by_itself_is_seen(self, stage: Stage, code: int) -> None:
        order = self.order(stage, an_id())
        stage.engine.want(1, [order])
        self.running(stage, order.id)

        stage.let_exit(order.id, code)

        worker = self.exited(stage, order.id)
        assert (worker.exit_code, worker.reason) == (code, ExitReason.ENDED)
        assert worker.ended_at is not None

    def test_an_exited_worker_is_seen_while_it_is_wanted_and_forgotten_after(self, stage: Stage) -> None:
        order = self.order(stage, an_id())
        stage.engine.want(1, [order])
        self.running(stage, order.id)
        stage.let_exit(order.id, 5)
        self.exited(stage, order.id)

        for term in (1, 2):
            stage.engine.want(term, [order])
            other = self.order(stage, an_id("other", generation=term), slot=1)
            stage.engine.want(term, [order, other])
            self.running(stage, other.id)
            assert self.exited(stage, order.id).exit_code == 5

        stage.engine.want(2, [])
        self.gone(stage, order.id)
        assert list(stage.starts()).count(order.id) == 1

    # slots

    def test_a_slot_is_handed_over_only_when_its_holder_has_gone(self, stage: Stage) -> None:
        old, new = self.order(stage, an_id("old"), slow_to_stop=True), self.order(stage, an_id("new"))
        stage.engine.want(1, [old])
        self.running(stage, old.id)

        stage.engine.want(1, [new])

        self.seen(stage, old.id, WorkerState.STOPPING)
        self.seen(stage, new.id, WorkerState.WAITING)
        assert list(stage.starts()) == [old.id]
        stage.release(old.id)
        self.running(stage, new.id)
        holder = stage.engine.observe().workers.get(old.id)
        assert holder is None or holder.state is WorkerState.EXITED

    def test_a_slot_is_free_for_the_next_when_its_holder_has_exited_though_it_is_still_wanted(
        self, stage: Stage
    ) -> None:
        old, new = self.order(stage, an_id(generation=1)), self.order(stage, an_id(generation=2))
        stage.engine.want(1, [old])
        self.running(stage, old.id)
        stage.let_exit(old.id, 0)
        self.exited(stage, old.id)

        stage.engine.want(1, [old, new])

        self.running(stage, new.id)
        assert self.exited(stage, old.id).exit_code == 0

    def test_workers_of_two_jobs_that_share_are_on_one_slot_together(self, stage: Stage) -> None:
        holder, guest = self.sharing(stage, "holder"), self.sharing(stage, "guest")
        stage.engine.want(1, [holder])
        self.running(stage, holder.id)

        stage.engine.want(1, [holder, guest])

        assert self.running(stage, guest.id).slot == self.running(stage, holder.id).slot == 0
        stage.engine.want(1, [guest])
        self.gone(stage, holder.id)
        assert self.running(stage, guest.id)

    def test_a_slot_that_is_shared_is_handed_over_to_others_when_all_have_gone(self, stage: Stage) -> None:
        holder, guest = (self.sharing(stage, job, slow_to_stop=True) for job in ("holder", "guest"))
        alone = self.order(stage, an_id("alone"))
        stage.engine.want(1, [holder, guest])
        self.running(stage, holder.id)
        self.running(stage, guest.id)

        stage.engine.want(1, [alone])

        self.seen(stage, guest.id, WorkerState.STOPPING)
        stage.release(holder.id)
        self.gone(stage, holder.id)
        self.seen(stage, alone.id, WorkerState.WAITING)
        stage.release(guest.id)
        self.running(stage, alone.id)

    def test_nobody_comes_to_a_slot_whose_holder_does_not_share_or_is_about_to_leave(
        self, stage: Stage
    ) -> None:
        alone, leaving = (
            self.order(stage, an_id("alone"), slot=1),
            self.sharing(stage, "l", slow_to_stop=True),
        )
        beside_alone, beside_leaving = self.sharing(stage, "b", slot=1), self.sharing(stage, "c")
        stage.engine.want(1, [alone, leaving])
        self.running(stage, alone.id)
        self.running(stage, leaving.id)

        stage.engine.want(1, [alone, beside_alone, beside_leaving])

        self.seen(stage, leaving.id, WorkerState.STOPPING)
        self.seen(stage, beside_alone.id, WorkerState.WAITING)
        self.seen(stage, beside_leaving.id, WorkerState.WAITING)
        stage.release(leaving.id)
        self.running(stage, beside_leaving.id)
        self.seen(stage, beside_alone.id, WorkerState.WAITING)

    # terms

    def test_an_older_term_is_refused_and_changes_nothing(self, stage: Stage) -> None:
        order = self.order(stage, an_id())
        stage.engine.want(2, [order])
        self.running(stage, order.id)

        with pytest.raises(TermRefused):
            stage.engine.want(1, [])

        other = self.order(stage, an_id("other"), slot=1)
        stage.engine.want(2, [order, other])
        self.running(stage, other.id)
        assert self.running(stage, order.id)

    def test_a_new_term_finds_the_workers_of_the_last_one(self, stage: Stage) -> None:
        order = self.order(stage, an_id())
        stage.engine.want(1, [order])
        before = self.running(stage, order.id)

        stage.engine.want(7, [order])
        other = self.order(stage, an_id("other"), slot=1)
        stage.engine.want(7, [order, other])
        self.running(stage, other.id)

        assert self.running(stage, order.id).pid == before.pid

    # nodes

    def test_a_silent_node_stays_in_the_picture_as_it_was(self, stage: Stage) -> None:
        order = self.order(stage, an_id())
        stage.engine.want(1, [order])
        self.running(stage, order.id)

        stage.silence(FIRST)
        last = self.node(stage, FIRST).heard_at
        self.until(stage, lambda seen: seen.nodes[SECOND].heard_at > last, "the other node is heard later")

        assert self.node(stage, FIRST).heard_at == last
        assert self.running(stage, order.id)
        stage.unsilence(FIRST)

    def test_a_node_that_returns_tells_what_happened_and_gets_its_orders(self, stage: Stage) -> None:
        ends, stops = self.order(stage, an_id("ends")), self.order(stage, an_id("stops"), slot=1)
        stage.engine.want(1, [ends, stops])
        self.running(stage, ends.id)
        self.running(stage, stops.id)

        stage.silence(FIRST)
        stage.let_exit(ends.id, 4)
        new = self.order(stage, an_id("new"), slot=1)
        stage.engine.want(1, [ends, new])
        stage.unsilence(FIRST)

        assert self.exited(stage, ends.id).exit_code == 4
        self.gone(stage, stops.id)
        self.running(stage, new.id)
        assert sorted(stage.starts()) == sorted([ends.id, stops.id, new.id])

    def test_orders_for_a_node_that_nobody_has_heard_of_wait_and_disturb_no_other(self, stage: Stage) -> None:
        order = self.order(stage, an_id())

        stage.engine.want(1, [self.order(stage, an_id("lost"), node="nowhere"), order])

        self.running(stage, order.id)
        assert an_id("lost") not in stage.engine.observe().workers

    def test_a_forgotten_node_stops_its_workers_and_leaves_the_picture(self, stage: Stage) -> None:
        order = self.order(stage, an_id(), node=SECOND, slow_to_stop=True)
        stage.engine.want(1, [order])
        self.running(stage, order.id)

        stage.engine.forget_node(SECOND)

        assert SECOND not in stage.engine.observe().nodes
        self.seen(stage, order.id, WorkerState.STOPPING)
        stage.release(order.id)
        self.gone(stage, order.id)
        assert SECOND not in stage.engine.observe().nodes

    # news

    def test_the_last_step_that_a_worker_reported_is_seen(self, stage: Stage) -> None:
        order = self.order(stage, an_id())
        stage.engine.want(1, [order])
        assert self.running(stage, order.id).step is None

        for step in (1.0, 250.0):
            stage.let_report(order.id, step)
            self.reported(stage, order.id, step)

    def test_whoever_listens_is_told_of_starts_and_ends_until_he_has_enough(self, stage: Stage) -> None:
        order = self.order(stage, an_id())
        with rung(stage.engine) as wait:
            stage.engine.want(1, [order])
            wait(lambda seen: _state(seen, order.id) is WorkerState.RUNNING)
            stage.let_exit(order.id, 0)
            wait(lambda seen: _state(seen, order.id) is WorkerState.EXITED)

    # how a story is told

    def order(
        self,
        stage: Stage,
        worker: WorkerId,
        *,
        node: str = FIRST,
        slot: int | None = 0,
        slow_to_stop: bool = False,
    ) -> WorkerOrder:
        return an_order(worker, node=node, slot=slot, **stage.command(worker, slow_to_stop=slow_to_stop))

    def sharing(self, stage: Stage, job: str, *, slot: int = 0, slow_to_stop: bool = False) -> WorkerOrder:
        """A worker that shares its slot."""
        return replace(self.order(stage, an_id(job), slot=slot, slow_to_stop=slow_to_stop), shares=True)

    def until(self, stage: Stage, holds: Callable[[Observation], bool], what: str) -> Observation:
        """Look until it is so."""
        give_up = time.monotonic() + HANG
        while not holds(seen := stage.engine.observe()):
            assert time.monotonic() < give_up, f"it never came to pass that {what}: {seen}"
            time.sleep(0.005)
        return seen

    def seen(self, stage: Stage, worker: WorkerId, state: WorkerState) -> WorkerSeen:
        there = self.until(stage, lambda seen: _state(seen, worker) is state, f"{worker} is {state}")
        return there.workers[worker]

    def running(self, stage: Stage, worker: WorkerId) -> WorkerSeen:
        """Seen running, and so far that it has told of its start itself."""
        self.until(stage, lambda _: worker in stage.starts(), f"{worker} tells that it has started")
        return self.seen(stage, worker, WorkerState.RUNNING)

    def exited(self, stage: Stage, worker: WorkerId) -> WorkerSeen:
        return self.seen(stage, worker, WorkerState.EXITED)

    def gone(self, stage: Stage, worker: WorkerId) -> None:
        self.until(stage, lambda seen: worker not in seen.workers, f"{worker} is gone")

    def reported(self, stage: Stage, worker: WorkerId, step: float) -> None:
        self.until(stage, lambda seen: seen.workers[worker].step == step, f"{worker} is at step {step}")

    def node(self, stage: Stage, name: str) -> NodeSeen:
        return stage.engine.observe().nodes[name]


def _state(seen: Observation, worker: WorkerId) -> WorkerState | None:
    return seen.workers[worker].state if worker in seen.workers else None


@contextmanager
def rung(engine: Engine) -> Iterator[Callable[[Callable[[Observation], bool]], None]]:
    """Look again only when the engine has rung."""
    bell = threading.Event()
    end = engine.listen(bell.set)

    def wait(holds: Callable[[Observation], bool]) -> None:
        while not holds(engine.observe()):
            assert bell.wait(HANG), "nobody rang"
            bell.clear()

    yield wait
    end()
