"""The live platform and the simulator, event by event, side by side.

Jobs are submitted through the REST API to a real SQLite store; a real controller decides; a fake engine runs toy
workers that count their own steps, pay for every change of size, and exit when they are done. The clock jumps to the
next arrival, end, or moment at which the policy wants to be asked, once everything is at rest. After each jump both
worlds must agree to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from random import Random

import numpy as np
from tests.builders import AJob, a_job, a_workload
from tests.live.platform import Platform
from tests.server.serving import Served, a_server

from tenuto.engines.fake import FakeEngine
from tenuto.model.cost import Cost
from tenuto.model.job import Job, Reply
from tenuto.model.phase import Phase, PromiseState
from tenuto.model.plan import Round
from tenuto.model.snapshot import Rules
from tenuto.plugins import policy_called
from tenuto.rounds.round import run_round
from tenuto.sim.world import DONE, World

START_COST, RESCALE_COST = 5.0, 3.0
NODES = (4, 4, 8)
RULES = Rules(interval=30.0, margin=0.1)
SLOPES = (2.0, 1.9, 1.7)


def some_jobs(count: int, seed: int) -> list[AJob]:
    """More work than the cluster can take, most of it in a hurry; arrivals and deadlines are whole seconds."""
    lot = Random(seed)
    jobs, now = [], 0.0
    for _ in range(count):
        now += lot.choice([0, 3, 10, 25, 60])
        slope, first = lot.choice(SLOPES), lot.choice([0.7, 1.0, 2.5])
        curve = {size: first * slope**level for level, size in enumerate((1, 2, 4, 8))}
        steps = float(lot.randrange(50, 2000))
        hurry = lot.choice([1.3, 2.0, 4.0, 8.0])
        # The longest curve of all reaches every size, so that both worlds have the same columns.
        jobs.append(
            a_job(
                arrived=now,
                deadline=now + round(20 + hurry * steps / curve[4]),
                left=steps,
                curve=curve,
                size=lot.choice([1, 2, 4, 8]),
            )
        )
    return jobs


@dataclass
class Toy:
    """How far one job's workers are, by their own count."""

    left: float
    curve: Mapping[int, float]
    generation: int = 0
    size: int = 0
    ready: float = -inf

    @property
    def speed(self) -> float:
        return self.curve[self.size] if self.size else 0.0

    def end(self, now: float) -> float:
        return max(now, self.ready) + self.left / self.speed if self.size else inf

    def work(self, now: float, then: float) -> bool:
        """Do the steps between two moments; whether all are done."""
        if not self.size:
            return False
        self.left -= max(then - max(now, self.ready), 0.0) * self.speed
        return self.left <= DONE * self.speed


class Live:
    """The live platform with its toys."""

    def __init__(self, served: Served, jobs: Sequence[AJob], policy: str) -> None:
        served.clock.now = 0.0
        self.served, self.trace = served, jobs
        nodes = {f"node-{index}": slots for index, slots in enumerate(NODES)}
        self.platform = Platform(
            nodes,
            store=served.store,
            policy=policy,
            start=0.0,
            start_cost=START_COST,
            rescale_cost=RESCALE_COST,
            interval=RULES.interval,
            margin=RULES.margin,
        )
        # Both worlds count from the same zero, so that no time is rounded on the way from one to the other.
        served.set_meta(epoch=0.0)
        self.platform.clock = served.clock  # type: ignore[assignment]
        self.platform.engine = FakeEngine(served.clock)
        for name, slots in nodes.items():
            self.platform.engine.add_node(name, slots)
        self.platform.new_controller()
        self.ids: list[str] = []
        self.toys: dict[str, Toy] = {}

    @property
    def wake_at(self) -> float:
        wake_at = self.served.store.read(lambda tx: tx.meta("wake_at"))
        return inf if wake_at is None else float(wake_at)

    def next_event(self) -> float:
        now = self.served.clock.now
        arrival = self.trace[len(self.ids)].arrived if len(self.ids) < len(self.trace) else inf
        ends = min((toy.end(now) for toy in self.toys.values()), default=inf)
        return min(arrival, ends, self.wake_at if self.toys or arrival < inf else inf)

    def jump(self, then: float) -> None:
        """Let the toys work, end the finished, submit the arrived; then wait until all is at rest."""
        now, self.served.clock.now = self.served.clock.now, then
        done = [job for job, toy in self.toys.items() if toy.work(now, then)]
        for job in done:
            self.platform.engine.end_job(job)
            del self.toys[job]
        while len(self.ids) < len(self.trace) and self.trace[len(self.ids)].arrived <= then:
            self._submit(self.trace[len(self.ids)])
        self.platform.settle()
        self._notice_changes()

    def _submit(self, asked: AJob) -> None:
        sizes = sorted(asked.curve)
        shown = self.served.submit(
            f"작업 {len(self.ids)}",
            workers=f"{sizes[0]}..{sizes[-1]}",
            preferred=asked.size,
            total={"steps": asked.left},
            curve={str(size): rate for size, rate in asked.curve.items()},
            **({} if asked.deadline == inf else {"deadline": f"+{asked.deadline - asked.arrived:.0f}s"}),
        )
        self.ids.append(shown["id"])
        self.toys[shown["id"]] = Toy(asked.left, asked.curve)

    def _notice_changes(self) -> None:
        """Workers that were started just now have their costs before them."""
        now = self.served.clock.now
        for job, toy in self.toys.items():
            living = self.platform.engine.living(job)
            size, generation = len(living), max((worker.generation for worker in living), default=0)
            if size and generation != toy.generation:
                toy.ready = now + (RESCALE_COST if toy.size else START_COST)
                toy.generation = generation
            toy.size = size

    def records(self) -> list[Job]:
        return [self.platform.job(job) for job in self.ids]


def a_world_of(jobs: Sequence[AJob]) -> World:
    """The simulator's world, with the same costs."""
    workload = a_workload(jobs=jobs, nodes=NODES)
    start = np.full(len(workload.sizes), START_COST)
    rescale = np.full(len(workload.sizes), RESCALE_COST)
    return World(workload, Cost(start, rescale, rescale), RULES)


@contextmanager
def side_by_side(directory: Path, jobs: Sequence[AJob], policy: str) -> Iterator[Iterator[int]]:
    """Yields an iterator over the rounds; each has been compared when it is given."""
    with a_server(directory) as served:
        yield _rounds(Live(served, jobs, policy), a_world_of(jobs), policy)


def _rounds(live: Live, world: World, name: str) -> Iterator[int]:
    policy, count = policy_called(name), 0
    while (due := world.next_event()) < inf:
        assert live.next_event() == due
        world.advance_to(due)
        decided = run_round(world.snapshot(), policy)
        world.apply(decided)
        live.jump(due)
        records = live.records()
        _same_answers(records, decided)
        _same_slots(records, world)
        _same_progress(live, records, world)
        assert live.wake_at == world.wake_at
        count += 1
        yield count
    _same_ends(live.records(), world)


def _same_answers(records: list[Job], decided: Round) -> None:
    for row, verdict in decided.verdicts.items():
        answer = records[row].contract
        assert answer is not None
        assert (answer.reply, answer.why) == (Reply(verdict.answer.value), verdict.why.value)
        assert (answer.promised, answer.share) == (verdict.promised, verdict.share)
        if verdict.expected is not None:
            assert answer.expected == verdict.expected
        if verdict.refused:
            assert records[row].phase is Phase.DECLINED
            assert answer.offers.earliest is None or answer.offers.earliest > records[row].submitted_at


def _same_slots(records: list[Job], world: World) -> None:
    cluster = world.workload.cluster
    held: dict[int, dict[str, tuple[int, ...]]] = {row: {} for row in range(len(records))}
    for slot, row in enumerate(world.layout.tolist()):
        if row >= 0:
            node = int(cluster.node_of_slot[slot])
            name = cluster.node_names[node]
            held[row][name] = (*held[row].get(name, ()), slot - int(cluster.first_slot[node]))
    assert {row: dict(job.slots) for row, job in enumerate(records)} == held


def _same_progress(live: Live, records: list[Job], world: World) -> None:
    for row, job in enumerate(records):
        if job.id in live.toys and job.phase is not Phase.DECLINED:
            assert live.toys[job.id].left == world.left[row]
        if job.slots:
            assert (job.phase, job.progress.speed) == (Phase.RUNNING, world.speed[row])
            assert (job.progress.ready_at, job.progress.changed_at) == (
                world.ready_at[row],
                world.changed_at[row],
            )
        if job.phase is Phase.DECLINED:
            live.toys.pop(job.id, None)


def _same_ends(records: list[Job], world: World) -> None:
    for row, job in enumerate(records):
        if world.refused[row]:
            assert job.phase is Phase.DECLINED
        else:
            assert (job.phase, job.ended_at) == (Phase.SUCCEEDED, world.finished[row])
        if np.isfinite(world.promised[row]) and world.finished[row] <= world.promised[row]:
            assert job.promise is PromiseState.KEPT


def without_deadlines(jobs: Sequence[AJob], every: int) -> list[AJob]:
    """Every so many jobs has no deadline."""
    return [replace(job, deadline=inf) if index % every == 0 else job for index, job in enumerate(jobs)]
