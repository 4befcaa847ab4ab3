"""Generated snapshots and workloads: everything that may come together in a cluster, small."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, product
from math import inf
from operator import mul

from hypothesis import strategies as st
from tests.builders import AJob, Seconds, a_job, a_snapshot, a_workload, as_usual, free_of_charge

from tenuto.model.snapshot import Placement, Rules, Snapshot
from tenuto.sim.workload import Workload

POWERS = (1, 2, 4, 8, 16)
ODD = (1, 2, 3, 5)

seconds = st.integers(0, 400).map(float)
costs: st.SearchStrategy[Seconds] = st.sampled_from([free_of_charge, as_usual])
even_nodes = st.sampled_from([(slots,) * nodes for slots in (1, 2, 4, 8) for nodes in (1, 2, 3, 4)])
any_nodes = even_nodes | st.lists(st.sampled_from([1, 2, 3, 4, 8]), min_size=1, max_size=4).map(tuple)


def _pool(sizes: Sequence[int]) -> list[Mapping[int, float]]:
    """Speeds at some of the sizes; more slots may help less and less, not at all, or even harm."""
    some = [sizes, sizes[:3], sizes[1:3], sizes[2:], sizes[:1], sizes[1:2], sizes[-1:]]
    growths = [(2.0, 2.0, 2.0, 2.0), (1.9, 1.5, 1.3, 1.1), (1.5, 1.0, 1.5, 0.8), (1.3, 0.8, 1.9, 1.0)]
    slowest = [0.5, 1.0, 3.0]
    return [
        dict(zip(chosen, accumulate(growth, mul, initial=rate), strict=False))
        for chosen, growth, rate in product(some, growths, slowest)
    ]


curves = st.sampled_from(_pool(POWERS) + _pool(ODD))
power_curves = st.sampled_from(_pool(POWERS))


all_rules = st.sampled_from(
    [
        Rules(interval=interval, margin=margin, placement=placement, seed=seed)
        for interval, margin, placement, seed in product((0.0, 60.0), (0.0, 0.1), Placement, (0, 7))
    ]
)


splitting_rules = all_rules.filter(lambda rules: rules.placement is not Placement.BUDDY)


@st.composite
def snapshots(draw: st.DrawFn, *, splitting_only: bool = False, without_deadlines: bool = False) -> Snapshot:
    """Jobs that run, stall, wait or have just come, on nodes of which some may be lost."""
    nodes = draw(any_nodes)
    lost = draw(st.sets(st.integers(0, len(nodes) - 1), max_size=len(nodes) - 1)) if len(nodes) > 1 else set()
    idle = [
        slot
        for node, first in enumerate(sum(nodes[:k]) for k in range(len(nodes)))
        for slot in range(first, first + nodes[node])
        if node not in lost
    ]
    if draw(st.booleans()):
        idle = draw(st.permutations(idle))
    now = 400.0
    deadlines = st.just(inf) if without_deadlines else st.just(inf) | seconds.map(now.__add__)
    jobs = []
    for _ in range(draw(st.integers(0, 8))):
        jobs.append(draw(_live_jobs(idle, deadlines)))
        idle = idle[len(jobs[-1].on) :]
    return a_snapshot(
        jobs=jobs,
        nodes=nodes,
        lost=sorted(lost),
        now=now,
        cost=draw(costs),
        rules=draw(splitting_rules if splitting_only else all_rules),
    )


@st.composite
def _live_jobs(draw: st.DrawFn, idle: Sequence[int], deadlines: st.SearchStrategy[float]) -> AJob:
    curve = draw(curves)
    fitting = [size for size in curve if size <= len(idle)]
    running = bool(fitting) and draw(st.booleans())
    changed = draw(seconds)
    return a_job(
        arrived=changed,
        deadline=draw(deadlines),
        left=float(draw(st.integers(1, 1000))),
        curve=curve,
        size=draw(st.sampled_from(sorted(curve))),
        on=idle[: draw(st.sampled_from(fitting))] if running else (),
        ready_at=changed + draw(st.sampled_from([0.0, 8.0, 60.0])) if running else -inf,
        changed_at=changed if running else -inf,
        new=not running and draw(st.booleans()),
        urgent=draw(st.booleans()),
    )


def submissions_of(*, powers_only: bool, most: int = 12) -> st.SearchStrategy[list[AJob]]:
    """What users submit: some without a deadline, some hopeless, some at the same moment."""
    return st.lists(_submissions(power_curves if powers_only else curves), min_size=1, max_size=most)


@st.composite
def workloads(draw: st.DrawFn, *, powers_only: bool = False) -> Workload:
    """A few jobs on a few nodes."""
    nodes = draw(even_nodes if powers_only else any_nodes)
    return a_workload(jobs=draw(submissions_of(powers_only=powers_only)), nodes=nodes)


@st.composite
def _submissions(draw: st.DrawFn, kinds: st.SearchStrategy[Mapping[int, float]]) -> AJob:
    curve = draw(kinds)
    arrived = draw(seconds)
    left = float(draw(st.integers(1, 600)))
    slack = draw(st.sampled_from([1.05, 1.2, 1.5, 2.0, 4.0, inf]))
    return a_job(
        arrived=arrived,
        deadline=arrived + 20.0 + slack * left / max(curve.values()),
        left=left,
        curve=curve,
        size=draw(st.sampled_from(sorted(curve))),
    )
