"""Whatever happens in whatever order: nothing is lost, doubled, forgotten or started twice.

A real SQLite store, a real controller, a fake engine. Hypothesis acts as users, as misfortune and as time; after each
step everything that must never happen is looked for, in the records and in what really runs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from tests.live.platform import Platform
from tests.properties.live_checks import (
    Chronicle,
    Crews,
    assert_generations_follow_each_other,
    assert_guests_are_welcome,
    assert_members_are_the_slots,
    assert_no_more_run_without_gpus,
    assert_no_slot_is_held_twice,
    assert_no_worker_is_started_twice,
    assert_nobody_waits_beside_an_open_place,
    assert_places_without_gpus_are_had_once,
    assert_records_make_sense,
)

from tenuto.engines.launch import member_ids
from tenuto.live.controller import Controller
from tenuto.live.leadership import LeadershipLost
from tenuto.model.job import Condition, Job, Pin, Retry
from tenuto.model.node import NodeState
from tenuto.model.phase import ENDED, PLACED, Phase
from tenuto.store.base import JobQuery, Tx
from tenuto.store.open import open_store
from tenuto.wire.worker import WORKER, WorkerId, WorkerState

P = Phase
NODES = {"node-0": 4, "노드-1": 2}
TIMEOUT = 15.0
CPU_JOBS = 1
"""Places without a GPU on each node, as the settings have it by default."""
ON_A_SLOT = 2
"""The most jobs on one slot, as the settings have it by default."""
picks = st.integers(0, 1000)
ticks = st.sampled_from([0, 1, 3])
WISHES: list[Mapping[str, Any]] = [
    {"cancel": True},
    {"pause": True},
    {"pause": False},
    {"urgent": True},
    {"pin": Pin(workers=1)},
    {"pin": Pin(workers=3)},
    {"pin": None},
    {"deadline": 5.0},
    {"deadline": 1000.0},
    {"deadline": None},
]
"""Deadlines are seconds from now."""


@cache
def an_empty_store() -> bytes:
    """A database with all its tables, made once: making them takes longer than an example."""
    with tempfile.TemporaryDirectory(prefix="tenuto-live-") as directory:
        file = Path(directory, "store.sqlite")
        open_store(f"sqlite:///{file}").close()
        return file.read_bytes()


def wishes_of(job: Job) -> dict[str, Any]:
    """The wishes that nobody but a user changes."""
    return {"cancel": job.cancel, "urgent": job.urgent, "pin": job.pin}


class Killed(Exception):
    """The controller was killed here."""


class LivePlatform(RuleBasedStateMachine):
    """Everything that can happen to a platform."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory(prefix="tenuto-live-")
        self.accepted: list[str] = []
        self.lost: set[str] = set()
        self.wishes: dict[str, dict[str, Any]] = {}
        self.chronicle = Chronicle()
        self.crews = Crews()
        self.term = 0
        self.joined = 2
        self.gave_up = False
        """Whether time has passed while nodes were silent: workers there may have been given up."""

    @initialize(
        policy=st.sampled_from(["elasticflow", "elasticflow", "fifo", "gandiva", "edf-admission"]),
        slowly=st.booleans(),
    )
    def begin(self, policy: str, slowly: bool) -> None:
        file = Path(self.directory.name, "store.sqlite")
        file.write_bytes(an_empty_store())
        store = open_store(f"sqlite:///{file}")
        self.here = Platform(
            NODES, store=store, policy=policy, start_cost=1.0, rescale_cost=1.0, timeout=TIMEOUT
        )
        for steps, strategy in ((None, "command"), (100.0, "allreduce"), (None, "allreduce")):
            self.submit(steps, 3.0, 1, Retry(failures=1), strategy, 3)
        self.stopping(slowly, 0)

    def teardown(self) -> None:
        try:
            if hasattr(self, "here"):
                self.come_to_rest()
        finally:
            if hasattr(self, "here"):
                self.here.store.close()
            self.directory.cleanup()

    # users

    @rule(
        steps=st.sampled_from([None, 20.0, 100.0]),
        slack=st.sampled_from([None, 1.2, 3.0, 10.0]),
        least=st.sampled_from([1, 1, 1, 2, 4, 7]),
        retry=st.builds(Retry, failures=st.integers(0, 2), losses=st.integers(0, 2)),
        strategy=st.sampled_from(["command", "allreduce"]),
        then=ticks,
        share=st.booleans(),
    )
    def submit(
        self,
        steps: float | None,
        slack: float | None,
        least: int,
        retry: Retry,
        strategy: str,
        then: int,
        share: bool = False,
    ) -> None:
        deadline = None if slack is None or steps is None else slack * steps / least + 2.0
        sizes = {size: float(size) for size in (1, 2, 4, 7) if size >= least}
        job = self.here.submit(
            f"작업 {len(self.accepted)}",
            steps=steps,
            deadline=deadline,
            curve=sizes if steps else {},
            min_workers=least,
            max_workers=max(least, 4),
            retry=retry,
            strategy=strategy,
            share=share,
            settle=False,
        )
        self.accepted.append(job)
        self._tick(then)

    @rule(
        workers=st.sampled_from([1, 1, 1, 2]),
        retry=st.builds(Retry, failures=st.integers(0, 2), losses=st.integers(0, 2)),
        then=ticks,
    )
    def submit_without_gpu(self, workers: int, retry: Retry, then: int) -> None:
        job = self.here.submit(
            f"정리 {len(self.accepted)}",
            steps=None,
            curve={},
            min_workers=workers,
            max_workers=workers,
            retry=retry,
            cpu_only=True,
            settle=False,
        )
        self.accepted.append(job)
        self._tick(then)

    @rule(pick=picks, condition=st.sampled_from(Condition), then=ticks)
    def submit_after(self, pick: int, condition: Condition, then: int) -> None:
        job = self.here.submit(after=self._any(pick), condition=condition, max_workers=2, settle=False)
        self.accepted.append(job)
        self._tick(then)

    @rule(pick=picks, wish=st.sampled_from(WISHES), then=ticks)
    def wish(self, pick: int, wish: Mapping[str, Any], then: int) -> None:
        """Cancel, pause, resume, hurry, scale, change the deadline."""
        self._wish(pick, wish)
        self._tick(then)

    @rule(pick=picks)
    def delete(self, pick: int) -> None:
        job = self.here.job(self._any(pick))
        if job.phase in ENDED and len(self.accepted) > 1:
            self.here.store.write(lambda tx: tx.remove_job(job.id))
            self.accepted.remove(job.id)

    # misfortune

    @rule(
        pick=picks,
        how=st.sampled_from(
            ["done", "done", "all fail", "ends", "fails", "vanishes", "killed", "killed", "memory"]
        ),
        then=ticks,
    )
    def workers_end(self, pick: int, how: str, then: int) -> None:
        if workers := self._running():
            engine, worker = self.here.engine, workers[pick % len(workers)]
            match how:
                case "done" | "all fail":
                    engine.end_job(worker.job, 0 if how == "done" else 1)
                case "ends" | "fails":
                    engine.exit_worker(worker, 0 if how == "ends" else 9)
                case "killed":
                    engine.kill_worker(worker)
                case "vanishes":
                    engine.vanish(worker)
                case "memory":
                    engine.run_out_of_memory(worker)
        self._tick(then)

    @rule(
        node=st.sampled_from(sorted(NODES)),
        what=st.sampled_from(
            ["lost", "lost with workers", "drained", "used again", "returns", "joins", "removed"]
        ),
        then=ticks,
    )
    def something_happens_to_a_node(self, node: str, what: str, then: int) -> None:
        match what:
            case "lost" | "lost with workers":
                self._lose(node, with_workers=what != "lost")
            case "drained" | "used again":
                self._drain(node, NodeState.DRAINING if what == "drained" else NodeState.ONLINE)
            case "returns":
                self._return_nodes()
            case "joins" if self.joined < 4:
                self.here.engine.add_node(f"węzeł-{self.joined}", 2)
                self.joined += 1
            case "removed":
                self._remove_newest_node()
        self._tick(then)

    @rule(slowly=st.booleans(), then=ticks)
    def stopping(self, slowly: bool, then: int) -> None:
        """From now on workers take their time when they are told to stop, or all have stopped."""
        self.here.engine.slow_stopping(inf if slowly else 0.0)
        if not slowly:
            self.here.engine.finish_stopping()
        self._tick(then)

    @rule(held=st.booleans(), forming=st.booleans(), then=ticks)
    def newcomers(self, held: bool, forming: bool, then: int) -> None:
        """From now on newcomers take their time to start, and groups to form, or all are ready."""
        engine = self.here.engine
        engine.slow_forming(inf if forming else 0.0)
        if held:
            engine.hold_starts()
        else:
            engine.release_starts()
        if not forming:
            engine.finish_forming()
        self._tick(then)

    # the controller

    @rule(seconds=st.sampled_from([0.5, 3.0, 20.0, 70.0]))
    def time_passes(self, seconds: float) -> None:
        self.gave_up |= bool(self.lost)
        self.here.clock.now += seconds
        self._tick(2)

    @rule(how=st.sampled_from(["killed", "killed before it gives orders", "with the server", "replaced"]))
    def another_controller(self, how: str) -> None:
        old = self.here.controller
        match how:
            case "killed before it gives orders":
                self._tick_without_orders()
            case "with the server":  # no node has been heard of yet
                self.here.engine.reopen()
                self.lost |= self.here.engine._nodes.keys()
        self.here.new_controller()
        if how == "replaced":
            self._old_one_goes_on(old)
        self._tick(1)

    @rule(pick=picks, wish=st.sampled_from(WISHES))
    def a_wish_comes_between_the_picture_and_the_commit(self, pick: int, wish: Mapping[str, Any]) -> None:
        """The server writes while the controller thinks about a newcomer."""
        self.submit(20.0, None, 1, Retry(), "allreduce", 0)
        store, write = self.here.store, self.here.store.write
        wished: list[bool] = []

        def late(act: Any) -> Any:
            if not wished:
                wished.append(True)
                self._wish(pick, wish)
            return write(act)

        store.write = late  # type: ignore[method-assign]
        try:
            self._tick(1)
        finally:
            store.write = write  # type: ignore[method-assign]

    # what must hold

    @invariant()
    def nothing_is_wrong(self) -> None:
        if not hasattr(self, "here"):
            return
        here, jobs = self.here, self._jobs()
        assert {job.id for job in jobs} == set(self.accepted), "a job was lost"
        for job in jobs:
            assert self.wishes.get(job.id, {}).items() <= wishes_of(job).items(), "a wish was lost"
        assert_no_slot_is_held_twice(jobs, here.engine)
        assert_guests_are_welcome(jobs, ON_A_SLOT)
        assert_places_without_gpus_are_had_once(jobs, CPU_JOBS)
        assert_no_worker_is_started_twice(here.engine)
        assert_records_make_sense(jobs)
        assert_members_are_the_slots(jobs)
        self.crews.look(jobs, here.engine)
        self.chronicle.read(here.events(after=self.chronicle.last))
        self.chronicle.assert_tells_all(jobs)
        if not (self.chronicle.offline or self.gave_up):
            assert_generations_follow_each_other(jobs, here.engine)
            assert_no_more_run_without_gpus(jobs, here.engine, CPU_JOBS)
        term = here.store.read(lambda tx: tx.meta("leadership"))["term"]
        assert term >= self.term
        self.term = term

    # the end

    def come_to_rest(self) -> None:
        """If nothing more happens, everything that is wanted runs, and only that."""
        here = self.here
        self._return_nodes()
        here.engine.slow_stopping(0.0)
        here.engine.finish_stopping()
        self.newcomers(held=False, forming=False, then=0)
        here.clock.now += 130.0
        here.settle()
        here.clock.now += 130.0
        here.settle()
        living = set(here.engine.living())
        nodes = here.store.read(lambda tx: tx.nodes())
        usable = {node.name for node in nodes if node.state is NodeState.ONLINE}
        wanted = set()
        shown = here.engine.observe().workers.values()
        # Once a worker of such a job has ended with 0, nobody joins the others any more: a rescale waits for their end.
        about_to_end = {worker.id.job for worker in shown if worker.exit_code == 0}
        for job in self._jobs():
            assert job.ending is None
            assert job.phase is not P.SUBMITTED or here.events(kind="policy") == []
            if job.phase in PLACED:
                rests = job.phase is P.RUNNING or (job.spec.in_place and job.id in about_to_end)
                assert rests, f"{job.id} is {job.phase} at rest: {job.message}"
                assert job.places.keys() <= usable, f"{job.id} is on {job.places}"
                wanted |= set(member_ids(job)) or {
                    WorkerId(job.id, job.generation, WORKER, rank) for rank in range(job.workers)
                }
        present = {
            worker.id
            for worker in here.engine.observe().workers.values()
            if worker.state is WorkerState.EXITED
        }
        assert living | present >= wanted >= living
        assert_nobody_waits_beside_an_open_place(self._jobs(), nodes, CPU_JOBS, ON_A_SLOT)
        self.nothing_is_wrong()

    # help

    def _tick(self, times: int) -> None:
        for _ in range(times):
            self.here.controller.tick()

    def _tick_without_orders(self) -> None:
        engine, want = self.here.engine, self.here.engine.want

        def killed(*_: object) -> None:
            raise Killed

        engine.want = killed  # type: ignore[method-assign, assignment]
        try:
            with suppress(Killed):
                self._tick(1)
        finally:
            engine.want = want  # type: ignore[method-assign]

    def _old_one_goes_on(self, old: Controller) -> None:
        with suppress(LeadershipLost):
            old.tick()  # it may never have led
        self._tick(1)
        revision = self.here.store.revision()
        with suppress(LeadershipLost):
            old.tick()
        assert self.here.store.revision() == revision

    def _lose(self, node: str, *, with_workers: bool) -> None:
        if node not in self.lost and node in self.here.engine.observe().nodes:
            self.here.engine.lose_node(node, with_workers=with_workers)
            self.lost.add(node)

    def _return_nodes(self) -> None:
        for node in sorted(self.lost & self.here.engine._nodes.keys()):
            self.here.engine.return_node(node)
        self.lost.clear()

    def _drain(self, node: str, state: NodeState) -> None:
        def act(tx: Tx) -> None:
            known = tx.node(node)
            if known is not None and known.state is not NodeState.OFFLINE:
                tx.put_node(replace(known, state=state))

        self.here.store.write(act)

    def _remove_newest_node(self) -> None:
        def act(tx: Tx) -> None:
            for node in tx.nodes()[2:][-1:]:
                tx.remove_node(node.name)

        self.here.store.write(act)

    def _any(self, pick: int) -> str:
        return self.accepted[pick % len(self.accepted)]

    def _any_live(self, pick: int) -> str:
        """A job that has not ended, if there is one; mostly one that holds slots."""
        live = [job for job in self._jobs() if job.phase not in ENDED]
        placed = [job for job in live if job.places] if pick % 3 else []
        among = placed or live
        return among[pick % len(among)].id if among else self._any(pick)

    def _jobs(self) -> list[Job]:
        return self.here.store.read(lambda tx: tx.jobs(JobQuery(limit=10_000)))

    def _running(self) -> list[WorkerId]:
        seen = self.here.engine.observe().workers.values()
        living = set(self.here.engine.living())
        return sorted(one.id for one in seen if one.state is WorkerState.RUNNING and one.id in living)

    def _wish(self, pick: int, wish: Mapping[str, Any]) -> None:
        """As the server does it: what cannot be granted is not written."""
        name, fields = self._any_live(pick), dict(wish)
        if fields.get("deadline") is not None:
            fields["deadline"] += self.here.clock.now

        def act(tx: Tx) -> None:
            job = tx.job(name)
            if job is None or job.phase in ENDED or job.cancel:
                return
            if job.ending is not None and job.ending.phase is not P.PAUSED:
                return
            if job.spec.cpu_only and (fields.get("pin") or fields.get("deadline")):
                return
            pin = fields.get("pin")
            if pin is not None and not job.spec.min_workers <= pin.workers <= job.spec.max_workers:
                return
            if fields.get("deadline") is not None and not job.curve:
                return
            tx.put_job(replace(job, actor="zofia", **fields))
            # The controller itself takes back a deadline that cannot be promised, or a resume.
            lasting = {key: value for key, value in fields.items() if key in ("cancel", "urgent", "pin")}
            self.wishes.setdefault(name, {}).update(lasting)

        self.here.store.write(act)


def _run(examples: int, steps: int) -> None:
    run_state_machine_as_test(
        LivePlatform,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_nothing_is_lost_doubled_or_forgotten_whatever_happens() -> None:
    _run(examples=20, steps=25)


@pytest.mark.big
def test_nothing_is_lost_doubled_or_forgotten_whatever_happens_for_long() -> None:
    _run(examples=600, steps=60)
