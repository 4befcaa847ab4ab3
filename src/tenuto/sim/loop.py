"""The simulator's loop: the same round as the live platform's, in a world that jumps from event to event."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from tenuto.model.cluster import Cluster
from tenuto.model.columns import frozen
from tenuto.model.cost import Cost
from tenuto.model.curve import Profiles
from tenuto.model.snapshot import Rules
from tenuto.policy.base import Policy
from tenuto.rounds.round import run_round
from tenuto.sim.early_stop import EarlyStop
from tenuto.sim.journal import Journal
from tenuto.sim.outcome import Outcome
from tenuto.sim.trace import Trace
from tenuto.sim.workload import Workload
from tenuto.sim.world import World

Progress = Callable[[int, int], None]
"""Told now and then how many of all jobs have ended or been refused."""


def simulate(
    workload: Workload,
    policy: Policy,
    *,
    cost: Cost,
    rules: Rules,
    layouts: bool = False,
    progress: Progress | None = None,
    early_stop: EarlyStop | None = None,
) -> Outcome:
    """Replay a trace under a policy."""
    begun = time.process_time()
    world = World(workload, cost, rules)
    journal = Journal(world, layouts, progress)
    while (due := world.next_event()) < np.inf:
        world.advance_to(due)
        world.apply(run_round(world.snapshot(), policy))
        journal.note()
        if early_stop is not None and early_stop.reached(world):
            break
    return journal.outcome(cpu_s=time.process_time() - begun)


def warm_up(policy: Policy, rules: Rules) -> float:
    """Load or compile all kernels that a replay needs; return the CPU seconds that took."""
    begun = time.process_time()
    workload = _three_jobs()
    cost = Cost.by_size(workload.sizes, lambda _: 1.0)
    simulate(workload, policy, cost=cost, rules=rules)
    return time.process_time() - begun


def _three_jobs() -> Workload:
    numbers = frozen(np.arange(3, dtype=np.int64))
    trace = Trace(
        name="warm-up",
        source="warm-up",
        ids=("0", "1", "2"),
        models=("toy",) * 3,
        batch=numbers,
        submitted=frozen(np.array([0.0, 1.0, 2.0])),
        steps=frozen(np.array([100.0, 100.0, 100.0])),
        deadline=frozen(np.array([500.0, 60.0, np.inf])),
        best_effort=frozen(np.array([False, False, True])),
        requested=frozen(np.ones(3, dtype=np.int64)),
        duration=frozen(np.full(3, 100.0)),
        position=numbers,
        line=numbers,
    )
    sizes = frozen(np.array([1, 2], dtype=np.int64))
    rate = frozen(np.array([[1.0, 1.9]] * 3))
    cluster = Cluster.regular("warm-up", nodes=2, slots=2)
    return Workload(trace, cluster, Profiles("warm-up", "", {}), sizes, rate)
