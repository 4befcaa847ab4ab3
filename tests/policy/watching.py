"""Watching a replay: who held slots how long, and since when."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tests.builders import AJob, Seconds, a_job, a_world, free_of_charge

from tenuto.model.columns import Floats, Ints
from tenuto.model.snapshot import Rules
from tenuto.policy.base import Policy
from tenuto.rounds.round import run_round
from tenuto.sim.workload import Workload


def on(slots: int, seconds: float, *, arrived: float = 0.0) -> AJob:
    """A job that takes so long on so many slots, and runs on no others."""
    return a_job(arrived=arrived, left=seconds * slots, curve={slots: float(slots)})


@dataclass(frozen=True)
class Watched:
    """What happened until a moment."""

    seconds: Floats
    """How long each job has held slots."""
    times: list[float]
    """When the rounds were."""
    held: list[Ints]
    """Who held how many slots after each of them."""


def watched(
    workload: Workload,
    policy: Policy,
    *,
    until: float,
    cost: Seconds = free_of_charge,
    rules: Rules | None = None,
) -> Watched:
    """Replay a workload up to a moment."""
    world = a_world(workload, cost=cost, rules=rules)
    seconds = np.zeros(len(workload.trace))
    times: list[float] = []
    held: list[Ints] = []
    while (due := min(world.next_event(), until)) < np.inf:
        if times:
            seconds += (held[-1] > 0) * (due - times[-1])
        if due == until:
            break
        world.advance_to(due)
        world.apply(run_round(world.snapshot(), policy))
        times.append(due)
        held.append(world.held.copy())
    return Watched(seconds, times, held)
