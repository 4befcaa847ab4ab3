"""The simulator's loop: the same round as the live platform's, in a world that jumps from event to event."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from tenuto.model.cost import Cost
from tenuto.model.snapshot import Rules
from tenuto.policy.base import Policy
from tenuto.rounds.round import run_round
from tenuto.sim.journal import Journal
from tenuto.sim.outcome import Outcome
from tenuto.sim.workload import Workload
from tenuto.sim.world import World

Progress = Callable[[int, int], None]
"""Told now and then how many of all jobs have ended or been refused."""
Stop = Callable[[Outcome], bool]


def simulate(
    workload: Workload,
    policy: Policy,
    *,
    cost: Cost,
    rules: Rules,
    layouts: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Replay a trace under a policy."""
    begun = time.process_time()
    world = World(workload, cost, rules)
    journal = Journal(world, layouts, progress)
    while (due := world.next_event()) < np.inf:
        world.advance_to(due)
        world.apply(run_round(world.snapshot(), policy))
        journal.note()
    return journal.outcome(cpu_s=time.process_time() - begun)
