"""The live platform and the simulator, event by event, side by side.

The rehearsal plays: jobs are submitted through the REST API to a real SQLite store, a real controller decides, a fake
engine runs stand-ins that count their own steps. After each jump of the clock both worlds must agree to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf
from random import Random

import numpy as np
from tests.builders import AJob, a_job, a_workload
from tests.server.serving import TOKEN, Served

from tenuto.client.plain import PlainClient
from tenuto.model.job import Job, Reply
from tenuto.model.phase import Phase, PromiseState
from tenuto.model.plan import Round
from tenuto.model.snapshot import Rules
from tenuto.plugins import policy_called
from tenuto.rehearsal.fast_forward import FastForward, Tell
from tenuto.rehearsal.score import Score, score_of
from tenuto.rehearsal.stage import Stage, a_stage
from tenuto.rehearsal.walk import Walk
from tenuto.rounds.round import run_round
from tenuto.server.scene import Rule
from tenuto.settings import Scheduling
from tenuto.sim.cost import load_cost
from tenuto.sim.world import World

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


RULE = Rule(
    Scheduling(
        interval=RULES.interval, margin=RULES.margin, start_cost=START_COST, rescale_cost=RESCALE_COST
    ),
    {},
)


def a_world_of(score: Score) -> World:
    """The simulator's world, with the same costs."""
    workload = score.workload
    return World(workload, load_cost(f"{START_COST},{RESCALE_COST}", workload.sizes, workload.cluster), RULES)


def side_by_side(jobs: Sequence[AJob], policy: str) -> Iterator[int]:
    """Yields the number of each round; it has been compared when it is given."""
    score = score_of(a_workload(jobs=jobs, nodes=NODES))
    rule = replace(RULE, scheduling=replace(RULE.scheduling, policy=policy))
    with a_stage(score.workload.cluster, rule) as stage:
        yield from _rounds(FastForward(stage, score, rule.scheduling), a_world_of(score), policy)


class Live(FastForward):
    """The same on a platform whose server others can ask as well."""

    def __init__(self, served: Served, jobs: Sequence[AJob], policy: str) -> None:
        served.clock.now = 0.0
        score = score_of(a_workload(jobs=jobs, nodes=NODES))
        rule = replace(RULE, scheduling=replace(RULE.scheduling, policy=policy))
        client = PlainClient(served.url, TOKEN)
        stage = Stage(served.store, client, served.clock, score.workload.cluster, rule)
        super().__init__(stage, score, rule.scheduling)

    def play(self, tell: Tell = lambda _done, _all: None) -> list[Walk]:
        with self.stage.client:
            return super().play(tell)

    def records(self) -> list[Job]:
        return _records(self)


def _rounds(live: FastForward, world: World, name: str) -> Iterator[int]:
    policy, count = policy_called(name), 0
    while (due := world.next_event()) < inf:
        assert live.next_event() == due
        world.advance_to(due)
        decided = run_round(world.snapshot(), policy)
        world.apply(decided)
        live.jump(due)
        records = _records(live)
        _same_answers(records, decided)
        _same_slots(records, world)
        _same_progress(live, records, world)
        assert live.stage.wake_at == world.wake_at
        count += 1
        yield count
    _same_ends(_records(live), world)


def _records(live: FastForward) -> list[Job]:
    return [live.stage.job(job) for job in live.ids]


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


def _same_progress(live: FastForward, records: list[Job], world: World) -> None:
    for row, job in enumerate(records):
        if job.id in live.at_work:
            assert live.at_work[job.id].left == world.left[row]
        if job.slots:
            assert (job.phase, job.progress.speed) == (Phase.RUNNING, world.speed[row])
            assert (job.progress.ready_at, job.progress.changed_at) == (
                world.ready_at[row],
                world.changed_at[row],
            )


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
