"""Jobs that may not run everywhere: bound to a node, or pinned to so many slots on each of some nodes.

They are placed before all others, on the slots they have, then on idle ones, then on those of jobs that can give way;
never on those of a job whose promise a move would break. Who does not fit gets nothing this round.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tenuto.errors import PlanRefused
from tenuto.model.columns import Flags, Ints
from tenuto.model.plan import NEVER, Decision
from tenuto.model.snapshot import IDLE, UNUSABLE, Snapshot

OWN, FREE, OCCUPIED = -1, 0, 1
"""What taking a slot costs; an occupied one costs its holder's reluctance in addition."""
FORBIDDEN = OCCUPIED + NEVER


def claims(snap: Snapshot, bound: Mapping[int, Ints], decision: Decision) -> Ints:
    """For each slot the number of the bound job that gets it, or IDLE."""
    claimed = np.full(len(snap.layout), IDLE, dtype=np.int64)
    cost = _costs(snap, bound, decision)
    for row in _in_order(snap, bound, decision):
        size, number = int(decision.sizes[row]), int(snap.number[row])
        own_cost = np.where(snap.layout == number, OWN, cost)
        own_cost[claimed != IDLE] = FORBIDDEN
        slots = _cheapest(snap, bound[row], own_cost)[:size]
        if len(slots) == size:
            claimed[slots] = number
    return claimed


def without_place(snap: Snapshot, decision: Decision, granted: Ints) -> Ints:
    """The bound rows that were to get slots and found none where they may be.

    Who was promised a deadline is not among them: a round without it would forget the promise.
    """
    rows = [row for row in snap.bound or {} if snap.deadline[row] == np.inf]
    return np.array([row for row in rows if decision.sizes[row] > 0 and granted[row] == 0], dtype=np.int64)


def check_bound(snap: Snapshot, layout: Ints) -> None:
    """Refuse a layout in which a job is where it may not be."""
    for row, most in (snap.bound or {}).items():
        nodes = snap.cluster.node_of_slot[layout == snap.number[row]]
        there = np.bincount(nodes, minlength=len(most))
        if (there > most).any():
            node = int(np.flatnonzero(there > most)[0])
            raise PlanRefused(
                f"job {int(snap.number[row])}: {there[node]} slots on node {snap.cluster.node_names[node]}, "
                f"where it may have {most[node]}"
            )


def _in_order(snap: Snapshot, bound: Mapping[int, Ints], decision: Decision) -> list[int]:
    """Who keeps its size first, then who runs, then by number."""
    rows = [row for row in bound if decision.sizes[row] > 0]
    return sorted(rows, key=lambda row: (decision.sizes[row] != snap.held[row], snap.held[row] == 0, row))


def _costs(snap: Snapshot, bound: Mapping[int, Ints], decision: Decision) -> Ints:
    """What taking each slot would do to who has it."""
    cost = np.where(snap.layout == IDLE, FREE, OCCUPIED)
    cost[snap.layout == UNUSABLE] = FORBIDDEN
    if decision.reluctance is not None:
        stays: Flags = (decision.sizes == snap.held) & (decision.reluctance > 0)
        for row in np.flatnonzero(stays).tolist():
            if row not in bound:
                cost[snap.layout == snap.number[row]] += decision.reluctance[row]
    return cost


def _cheapest(snap: Snapshot, most: Ints, cost: Ints) -> Ints:
    """The slots that a job may have, within the limit of each node, the cheapest first."""
    found: list[Ints] = [np.empty(0, dtype=np.int64)]
    for node in np.flatnonzero(most).tolist():
        first, last = int(snap.cluster.first_slot[node]), int(snap.cluster.first_slot[node + 1])
        slots = first + np.argsort(cost[first:last], kind="stable")
        found.append(slots[cost[slots] < FORBIDDEN][: int(most[node])])
    slots = np.concatenate(found)
    return slots[np.argsort(cost[slots], kind="stable")]
