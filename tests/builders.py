"""Snapshots and workloads for tests: valid by default, so that a test names only what matters to it.

Columns are read-only where the simulated world's are, and only there: Numba compiles every kernel once more
for each mixture of read-only and writable columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, log2
from typing import Any

import numpy as np

from tenuto.model.cluster import Cluster
from tenuto.model.columns import Flags, Floats, Ints, frozen
from tenuto.model.cost import Cost
from tenuto.model.curve import Curve, Profiles
from tenuto.model.snapshot import IDLE, UNUSABLE, Rules, Snapshot, worth_using
from tenuto.policy.base import Policy
from tenuto.sim.loop import simulate
from tenuto.sim.outcome import Outcome
from tenuto.sim.trace import Trace
from tenuto.sim.workload import Workload
from tenuto.sim.world import World

LINEAR: Mapping[int, float] = {1: 1.0, 2: 2.0, 4: 4.0, 8: 8.0}
"""Twice the slots, twice the speed, up to eight."""
FLATTENING: Mapping[int, float] = {1: 1.0, 2: 1.8, 4: 3.0, 8: 4.0}

Seconds = Callable[[int], float]
"""What reaching a size costs."""


def free_of_charge(_: int) -> float:
    return 0.0


def as_usual(size: int) -> float:
    """The default cost model."""
    return 2.0 + 2.0 * (log2(size) + 1.0)


@dataclass(frozen=True, kw_only=True)
class AJob:
    """A job as a test describes it. `on` are the slots it holds, `size` is what it asks for."""

    arrived: float = 0.0
    deadline: float = inf
    left: float = 100.0
    curve: Mapping[int, float]
    size: int
    on: Sequence[int] = ()
    ready_at: float = -inf
    changed_at: float = -inf
    new: bool = False
    urgent: bool = False


def a_job(
    *,
    arrived: float = 0.0,
    deadline: float = inf,
    left: float = 100.0,
    curve: Mapping[int, float] = LINEAR,
    size: int | None = None,
    on: Sequence[int] = (),
    ready_at: float = -inf,
    changed_at: float = -inf,
    new: bool = False,
    urgent: bool = False,
) -> AJob:
    """A job that waits, has 100 steps to do and nobody waits for it."""
    return AJob(
        arrived=arrived,
        deadline=deadline,
        left=left,
        curve=curve,
        size=min(curve) if size is None else size,
        on=tuple(on),
        ready_at=ready_at,
        changed_at=changed_at,
        new=new,
        urgent=urgent,
    )


def a_cluster(nodes: Sequence[int]) -> Cluster:
    """One node for each number of slots."""
    return Cluster(
        name="test",
        slots=frozen(np.array(nodes, dtype=np.int64)),
        switch=frozen(np.zeros(len(nodes), dtype=np.int64)),
        node_names=tuple(f"node-{index}" for index in range(len(nodes))),
    )


def a_snapshot(
    *,
    jobs: Sequence[AJob] = (),
    nodes: Sequence[int] = (8,),
    lost: Sequence[int] = (),
    now: float = 0.0,
    cost: Seconds = free_of_charge,
    rules: Rules | None = None,
    memory: Any = None,
) -> Snapshot:
    """A picture of these jobs, numbered in their order, on one node of eight slots; `lost` are nodes."""
    cluster = a_cluster(nodes)
    sizes = frozen(_sizes(jobs))
    rate = _rate(jobs, sizes)
    return Snapshot(
        now=now,
        cluster=cluster,
        layout=_layout(cluster, jobs, lost),
        sizes=sizes,
        number=_ints(range(len(jobs))),
        undecided=_flags(job.new for job in jobs),
        urgent=_flags(job.urgent for job in jobs),
        arrived=_floats(job.arrived for job in jobs),
        deadline=_floats(job.deadline for job in jobs),
        left=_floats(job.left for job in jobs),
        rate=rate,
        useful=worth_using(rate),
        requested=_ints(job.size for job in jobs),
        held=_ints(len(job.on) for job in jobs),
        ready_at=_floats(job.ready_at for job in jobs),
        changed_at=_floats(job.changed_at for job in jobs),
        cost=Cost.by_size(sizes, cost),
        rules=Rules(margin=0.0) if rules is None else rules,
        memory=memory,
    )


def a_workload(*, jobs: Sequence[AJob], nodes: Sequence[int] = (8,)) -> Workload:
    """A trace of these jobs, each with a curve of its own; `left` are its steps."""
    jobs = sorted(jobs, key=lambda job: job.arrived)
    curves = {(f"model-{index}", 1): Curve(job.curve) for index, job in enumerate(jobs)}
    sizes = frozen(_sizes(jobs))
    trace = Trace(
        name="test",
        source="test",
        ids=tuple(f"job-{index}" for index in range(len(jobs))),
        models=tuple(model for model, _ in curves),
        batch=_ints(1 for _ in jobs),
        submitted=_floats(job.arrived for job in jobs),
        steps=_floats(job.left for job in jobs),
        deadline=_floats(job.deadline for job in jobs),
        best_effort=_flags(job.deadline == inf for job in jobs),
        requested=_ints(job.size for job in jobs),
        duration=_floats(job.left / job.curve[job.size] for job in jobs),
        position=_ints(range(len(jobs))),
        line=_ints(range(2, len(jobs) + 2)),
    )
    profiles = Profiles(name="test", source="test", curves=curves)
    return Workload(trace, a_cluster(nodes), profiles, sizes, frozen(_rate(jobs, sizes)))


def replayed(
    workload: Workload, policy: Policy, *, cost: Seconds = free_of_charge, rules: Rules | None = None
) -> Outcome:
    """Replay a workload; without a margin unless the test says otherwise."""
    return simulate(
        workload,
        policy,
        cost=Cost.by_size(workload.sizes, cost),
        rules=Rules(margin=0.0) if rules is None else rules,
    )


def a_world(workload: Workload, *, cost: Seconds = free_of_charge, rules: Rules | None = None) -> World:
    """A world before its first event."""
    return World(workload, Cost.by_size(workload.sizes, cost), Rules(margin=0.0) if rules is None else rules)


def _sizes(jobs: Sequence[AJob]) -> Ints:
    return _ints(sorted({size for job in jobs for size in job.curve} or {1}))


def _rate(jobs: Sequence[AJob], sizes: Ints) -> Floats:
    rate = np.zeros((len(jobs), len(sizes)))
    for row, job in enumerate(jobs):
        rate[row] = [job.curve.get(size, 0.0) for size in sizes.tolist()]
    return rate


def _layout(cluster: Cluster, jobs: Sequence[AJob], lost: Sequence[int]) -> Ints:
    layout = np.full(cluster.total, IDLE, dtype=np.int64)
    layout[np.isin(cluster.node_of_slot, lost)] = UNUSABLE
    for number, job in enumerate(jobs):
        for slot in job.on:
            assert layout[slot] == IDLE, f"slot {slot} is not free for job {number}"
            layout[slot] = number
    return layout


def _ints(values: Any) -> Ints:
    return np.fromiter(values, dtype=np.int64)


def _floats(values: Any) -> Floats:
    return np.fromiter(values, dtype=np.float64)


def _flags(values: Any) -> Flags:
    return np.fromiter(values, dtype=np.bool_)
