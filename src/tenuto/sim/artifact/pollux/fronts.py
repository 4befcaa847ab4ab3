"""Two objectives at once: fronts that nobody dominates, crowding, survival and tournaments (NSGA-II).

Genomes are known by their slots; `value` has a row for each objective, both to be minimised.
"""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Floats, Ints
from tenuto.sim.artifact.pollux.draws import Random, uniform

_GAPS = (132, 57, 23, 10, 4, 1)
_ALONE = 1e14
"""The crowding distance at the ends of a front."""


@compiled
def sort_slots(slots: Ints, first: Floats, second: Floats) -> None:
    """Sort slots by one column, then by another (Shell's sort)."""
    for gap in _GAPS:
        for end in range(gap, len(slots)):
            slot, place = slots[end], end
            one, two = first[slot], second[slot]
            while place >= gap:
                other = slots[place - gap]
                if first[other] < one or (first[other] == one and second[other] <= two):
                    break
                slots[place] = other
                place -= gap
            slots[place] = slot


@compiled
def sort_into_fronts(slots: Ints, value: Floats, rank: Ints) -> int:
    """Rank slots that are sorted by both objectives; 0 is the front. Return how many ranks there are."""
    count = 0
    last = np.zeros(len(slots), dtype=np.int64)
    for slot in slots:
        front = 0
        while front < count and _behind(value, slot, last[front]):
            front += 1
        last[front] = slot
        rank[slot] = front
        count = max(count, front + 1)
    return count


@compiled
def _behind(value: Floats, slot: int, earlier: int) -> bool:
    """Tell whether a slot is dominated by one that is sorted before it."""
    if value[1, earlier] == value[1, slot]:
        return bool(value[0, earlier] < value[0, slot])
    return bool(value[1, earlier] < value[1, slot])


@compiled
def measure_crowding(front: Ints, value: Floats, crowding: Floats) -> None:
    """Measure how far the neighbours in a sorted front are; who equals an earlier one gets 0."""
    distinct = np.zeros(len(front), dtype=np.int64)
    count = 0
    for place in range(len(front)):
        slot, before = front[place], front[max(place - 1, 0)]
        crowding[slot] = 0.0
        if place == 0 or value[0, slot] != value[0, before] or value[1, slot] != value[1, before]:
            distinct[count] = slot
            count += 1
    width = value[0, distinct[count - 1]] - value[0, distinct[0]]
    height = value[1, distinct[0]] - value[1, distinct[count - 1]]
    for place in range(count):
        slot = distinct[place]
        if place in (0, count - 1):
            crowding[slot] = _ALONE
        else:
            before, after = distinct[place - 1], distinct[place + 1]
            crowding[slot] = (value[0, after] - value[0, before]) / width / 2.0
            crowding[slot] += (value[1, before] - value[1, after]) / height / 2.0


@compiled
def survive(slots: Ints, value: Floats, crowding: Floats, most: int, random: Random) -> tuple[int, int]:
    """Put the survivors first, rank by rank. Return their number, and the front's.

    Of the rank that has no place for all, the least crowded survive.
    """
    sort_slots(slots, value[0], value[1])
    rank = np.zeros(len(crowding), dtype=np.int64)
    fronts = sort_into_fronts(slots, value, rank)
    order = slots.copy()
    begin, first = 0, 0
    for front in range(fronts):
        end = begin
        for slot in order:
            if rank[slot] == front or (rank[slot] > front and begin >= most):
                slots[end] = slot
                end += 1
        if begin >= most:
            break
        members = slots[begin:end]
        measure_crowding(members, value, crowding)
        if begin < most < end:
            _put_least_crowded_first(members, crowding, random)
            sort_slots(slots[begin:most], value[0], value[1])
        first = min(end, most) if front == 0 else first
        begin = end
    return min(len(slots), most), first


@compiled
def _put_least_crowded_first(members: Ints, crowding: Floats, random: Random) -> None:
    """Sort by crowding, equals in any order."""
    lots = np.zeros(len(crowding))
    for slot in members:
        lots[slot] = uniform(random)
    sort_slots(members, -crowding, lots)


@compiled
def winner(one: int, other: int, value: Floats, crowding: Floats, random: Random) -> int:
    """Choose who dominates, else who is less crowded, else anybody."""
    better = value[0, one] < value[0, other] or value[1, one] < value[1, other]
    worse = value[0, one] > value[0, other] or value[1, one] > value[1, other]
    if better != worse:
        return one if better else other
    if crowding[one] != crowding[other]:
        return one if crowding[one] > crowding[other] else other
    return one if uniform(random) < 0.5 else other
