"""Two objectives at once: fronts that nobody dominates, crowding, survival and tournaments (NSGA-II)."""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Floats, Ints
from tenuto.sim.artifact.pollux.draws import Random, uniform

_ALONE = 1e14
"""The crowding distance at the ends of a front."""


@compiled
def sort_into_fronts(order: Ints, value: Floats, rank: Ints) -> int:
    """Rank genomes that come sorted by both objectives; 0 is the front. Return how many ranks there are."""
    count = 0
    last = np.zeros(len(order), dtype=np.int64)
    for slot in order:
        front = 0
        while front < count:
            best = last[front]
            behind = value[best, 1] < value[slot, 1] or (
                value[best, 1] == value[slot, 1] and value[best, 0] < value[slot, 0]
            )
            if not behind:
                break
            front += 1
        last[front] = slot
        rank[slot] = front
        count = max(count, front + 1)
    return count


@compiled
def sorted_slots(slots: Ints, value: Floats) -> Ints:
    """Sort genomes by the first objective, then by the second."""
    by_second = slots[np.argsort(value[slots, 1], kind="mergesort")]
    return by_second[np.argsort(value[by_second, 0], kind="mergesort")]


@compiled
def measure_crowding(front: Ints, value: Floats, crowding: Floats) -> None:
    """Measure how far a sorted front's neighbours are; who equals an earlier one gets 0."""
    size = len(front)
    if size <= 2:
        crowding[front] = _ALONE
        return
    distinct = np.zeros(size, dtype=np.int64)
    count = 0
    for place in range(size):
        slot = front[place]
        crowding[slot] = 0.0
        previous = front[place - 1]
        if place == 0 or value[slot, 0] != value[previous, 0] or value[slot, 1] != value[previous, 1]:
            distinct[count] = slot
            count += 1
    width = value[distinct[count - 1], 0] - value[distinct[0], 0]
    height = value[distinct[0], 1] - value[distinct[count - 1], 1]
    for place in range(count):
        slot = distinct[place]
        if place in (0, count - 1):
            crowding[slot] = _ALONE
        else:
            before, after = distinct[place - 1], distinct[place + 1]
            crowding[slot] = (value[after, 0] - value[before, 0]) / width / 2.0
            crowding[slot] += (value[before, 1] - value[after, 1]) / height / 2.0


@compiled
def survive(
    slots: Ints, value: Floats, rank: Ints, crowding: Floats, most: int, random: Random
) -> tuple[int, int]:
    """Put the survivors first, rank by rank, the last rank by crowding. Return their number, and the front's."""
    order = sorted_slots(slots, value)
    fronts = sort_into_fronts(order, value, rank)
    ranks = rank[order]
    kept, first, filled = 0, 0, 0
    for front in range(fronts):
        members = order[ranks == front]
        measure_crowding(members, value, crowding)
        if front == 0:
            first = min(len(members), most)
        if kept < most < kept + len(members):
            members = _least_crowded_first(members, crowding, random)
            members[: most - kept] = sorted_slots(members[: most - kept], value)
        kept = min(kept + len(members), most)
        slots[filled : filled + len(members)] = members
        filled += len(members)
    return kept, first


@compiled
def _least_crowded_first(members: Ints, crowding: Floats, random: Random) -> Ints:
    """Sort by crowding, equals in any order."""
    lots = np.zeros(len(members))
    for place in range(len(members)):
        lots[place] = uniform(random)
    members = members[np.argsort(lots, kind="mergesort")]
    return members[np.argsort(-crowding[members], kind="mergesort")]


@compiled
def winner(one: int, other: int, value: Floats, crowding: Floats, random: Random) -> int:
    """Choose who dominates, else who is less crowded, else anybody."""
    better = value[one, 0] < value[other, 0] or value[one, 1] < value[other, 1]
    worse = value[one, 0] > value[other, 0] or value[one, 1] > value[other, 1]
    if better != worse:
        return one if better else other
    if crowding[one] != crowding[other]:
        return one if crowding[one] > crowding[other] else other
    return one if uniform(random) < 0.5 else other
