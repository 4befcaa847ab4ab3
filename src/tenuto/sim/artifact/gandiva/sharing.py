"""Who gets nodes: room for one job, and the balance between the sizes."""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.sim.artifact.gandiva.node_sets import (
    add_job,
    deal,
    drop_first,
    first_to_the_end,
    gather,
    give_back,
    new_set,
    sort_sets,
)
from tenuto.sim.artifact.gandiva.state import NONE, Floor


@compiled
def place(floor: Floor, job: int) -> bool:
    """Find room: in the first set of its size, in a new one, or behind other jobs. Tell whether there is any.

    A set with one seat left is taken for full (Q12).
    """
    kind = int(floor.jobs[job].kind)
    row = floor.kinds[kind]
    chosen = NONE
    if row.sets > 0:
        first = first_to_the_end(floor, kind)
        if floor.sets[first].used + 1 < row.capacity:
            chosen = first
    if chosen == NONE:
        chosen = new_set(floor, kind)
    if chosen == NONE and row.sets > 0:
        chosen = first_to_the_end(floor, kind)
    if chosen == NONE:
        return False
    add_job(floor, chosen, job)
    sort_sets(floor, kind)
    return True


@compiled
def balance(floor: Floor) -> None:
    """Let each size have nodes in proportion to what its jobs want, but not more than they want.

    For every job's worth of GPUs too many a whole set is taken away, though a set may have room for several
    jobs: those of less than a node end up on far fewer nodes than their share.
    """
    total = _count(floor)
    if total == 0:
        return
    for kind in range(len(floor.kinds)):
        row = floor.kinds[kind]
        if row.demand == 0:
            continue
        share = int(np.floor(row.demand / total * floor.tally[0].total))
        missing = min(share, row.demand) - row.occupied
        if missing > 0:
            _expand(floor, kind, -(-missing // row.gpus))
        elif missing < 0:
            _shrink(floor, kind, min(-(missing // row.gpus), row.sets - 1))


@compiled
def _count(floor: Floor) -> int:
    """Note what each size wants and has. Return what all want together."""
    total = 0
    for kind in range(len(floor.kinds)):
        row = floor.kinds[kind]
        jobs = 0
        for number in floor.lists[kind, : row.sets]:
            jobs += floor.sets[number].jobs
        row.demand = jobs * row.gpus
        row.occupied = row.sets * row.nodes * floor.tally[0].per_node
        total += row.demand
    return int(total)


@compiled
def _expand(floor: Floor, kind: int, count: int) -> None:
    """Add sets while nodes are idle. Jobs are dealt anew only if nodes ran out or a set has several (Q13).

    Sets that stay empty are given back before a job can use them.
    """
    added = 0
    while added < count and new_set(floor, kind) != NONE:
        added += 1
    if added < count or floor.kinds[kind].nodes > 1:
        deal(floor, kind, gather(floor, kind, floor.kinds[kind].sets))


@compiled
def _shrink(floor: Floor, kind: int, count: int) -> None:
    """Take the least used sets away and deal their jobs to the others."""
    moving = gather(floor, kind, count)
    for number in floor.lists[kind, :count]:
        give_back(floor, kind, number)
    drop_first(floor, kind, count)
    deal(floor, kind, moving)
