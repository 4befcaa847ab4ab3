"""One visit after the other: balance, work, newcomers, those who waited, the log."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tenuto.compiled import compiled
from tenuto.model.columns import Ints
from tenuto.sim.artifact.gandiva.sharing import balance, place
from tenuto.sim.artifact.gandiva.state import NONE, Floor
from tenuto.sim.artifact.gandiva.turns import work
from tenuto.sim.artifact.gandiva.visits import FREE_OF_CHARGE


@compiled
def pay_visits(floor: Floor, visits: NDArray[np.void]) -> int:
    """Pay visits until all jobs of the trace have ended. Return how many were paid."""
    for number in range(len(visits)):
        if floor.tally[0].ended == len(floor.jobs):
            return number
        visit = visits[number]
        balance(floor)
        released = work(floor, visit.time, visit.elapsed)
        _let_in(floor, visit.arrived, visit.time)
        if released:
            _let_in_who_waited(floor, visit.time)
        _write_log(floor, visits, number)
    return len(visits)


@compiled
def _let_in(floor: Floor, arrived: int, now: float) -> None:
    tally = floor.tally[0]
    for job in range(tally.arrived, arrived):
        if place(floor, job):
            floor.jobs[job].started = now
        else:
            floor.jobs[job].delayed = True
            floor.pending[tally.pending] = job
            tally.pending += 1
    tally.arrived = arrived


@compiled
def _let_in_who_waited(floor: Floor, now: float) -> None:
    """Try again. Whenever one finds room, the next one is passed over (Q14)."""
    tally, pending = floor.tally[0], floor.pending
    index = 0
    while index < tally.pending:
        job = pending[index]
        if place(floor, job):
            floor.jobs[job].started = now
            tally.pending -= 1
            for later in range(index, tally.pending):
                pending[later] = pending[later + 1]
        index += 1


@compiled
def _write_log(floor: Floor, visits: NDArray[np.void], number: int) -> None:
    """Note who holds GPUs: the first jobs of each set. Let every job in a set pay for the round."""
    visit, tally = visits[number], floor.tally[0]
    busy, running, speed = 0, 0, 0.0
    for kind in range(len(floor.kinds)):
        row = floor.kinds[kind]
        for node in floor.lists[kind, : row.sets]:
            seats, job = row.capacity, floor.sets[node].first_job
            while job != NONE:
                _note(floor, job, node if seats > 0 else NONE, visit.charge)
                if seats > 0:
                    busy += row.gpus
                    running += 1
                    speed += floor.jobs[job].speedup
                seats -= 1
                job = floor.jobs[job].next
    visit.efficiency = speed / tally.total
    visit.busy = busy
    visit.running = running
    visit.waiting = tally.arrived - tally.ended - running


@compiled
def _note(floor: Floor, job: int, node: int, charge: int) -> None:
    """Note where a job holds GPUs, and what it pays. One that found no room at first pays only if charged."""
    row = floor.jobs[job]
    if row.set != node:
        row.changes += 1
        if node == NONE:
            row.preempted += 1
    row.set = node
    if charge != FREE_OF_CHARGE:
        row.overhead = row.price[charge]
    elif row.delayed:
        row.overhead = 0.0


@compiled
def write_layout(floor: Floor, layout: Ints) -> None:
    """Write each job that holds GPUs on the GPUs of its set, in order."""
    per_node = floor.tally[0].per_node
    for kind in range(len(floor.kinds)):
        row = floor.kinds[kind]
        for first in floor.lists[kind, : row.sets]:
            job, node, cell = floor.sets[first].first_job, first, 0
            for seat in range(min(row.capacity, floor.sets[first].jobs)):
                while cell < (seat + 1) * row.gpus:
                    layout[node * per_node + cell % per_node] = job
                    cell += 1
                    if cell % per_node == 0:
                        node = floor.next_node[node]
                job = floor.jobs[job].next
