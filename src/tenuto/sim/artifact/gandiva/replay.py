"""A replay under Gandiva: all visits at arrivals, then one every slot until the last job has ended."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tenuto.model.columns import Ints, frozen
from tenuto.sim.artifact.fixed_size_report import events_of, outcome_of
from tenuto.sim.artifact.gandiva.state import NONE, Floor, floor_of
from tenuto.sim.artifact.gandiva.visit import pay_visits, write_layout
from tenuto.sim.artifact.gandiva.visits import at_arrivals, every_slot
from tenuto.sim.artifact.order import Order
from tenuto.sim.artifact.state import rules_for
from tenuto.sim.outcome import Outcome
from tenuto.sim.workload import Workload

_AT_A_TIME = 500
"""Visits between two reports of progress."""


def replay_gandiva(workload: Workload, order: Order) -> Outcome:
    """Replay a workload."""
    floor = floor_of(workload, rules_for(workload.cluster, order.slot, refresh=True))
    jobs, tally = len(workload.trace), floor.tally[0]
    log: list[NDArray[np.void]] = []
    layouts: list[Ints] = []
    told = 0
    visits = at_arrivals(workload.trace.submitted, order.slot)
    while len(visits) > 0:
        part, visits = visits[:_AT_A_TIME], visits[_AT_A_TIME:]
        if order.layouts:
            part = part[: _seen(floor, part, workload.trace.position, layouts)]
        else:
            part = part[: pay_visits(floor, part)]
        log.append(part)
        told = order.tell(int(tally["ended"]), told, jobs)
        if len(visits) == 0 and tally["ended"] < jobs:
            visits = every_slot(part["time"][-1], order.slot, jobs, _AT_A_TIME)
    return outcome_of(
        workload, floor.jobs, events_of(np.concatenate(log), layouts if order.layouts else None)
    )


def _seen(floor: Floor, visits: NDArray[np.void], position: Ints, layouts: list[Ints]) -> int:
    """Pay visits one at a time and keep the layout after each. Return how many were paid."""
    for number in range(len(visits)):
        if pay_visits(floor, visits[number : number + 1]) == 0:
            return number
        cells = np.full(int(floor.tally["total"][0]), NONE, dtype=np.int64)
        write_layout(floor, cells)
        layouts.append(frozen(np.where(cells >= 0, position[cells], NONE)))
    return len(visits)
