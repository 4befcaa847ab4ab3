"""The nodes while a placement is being made: who is where, and how many slots are idle."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Flags, Ints
from tenuto.model.snapshot import IDLE, UNUSABLE


class Site(NamedTuple):
    """`layout` is being changed, `before` is what it was; `free[node]` of `width[node]` usable slots are idle now."""

    first_slot: Ints
    before: Ints
    layout: Ints
    free: Ints
    width: Ints


@compiled
def row_of(number: Ints, job: int) -> int:
    """The row of a job in an ascending column of numbers; -1 if it is gone."""
    row = np.searchsorted(number, job)
    return int(row) if row < len(number) and number[row] == job else -1


@compiled
def clear(first_slot: Ints, layout: Ints, number: Ints, leaves: Flags) -> Site:
    """Take every leaving job, and every job that is gone, off its slots."""
    cleared = layout.copy()
    free = np.zeros(len(first_slot) - 1, dtype=np.int64)
    width = np.zeros(len(first_slot) - 1, dtype=np.int64)
    for node in range(len(free)):
        for slot in range(first_slot[node], first_slot[node + 1]):
            if cleared[slot] >= 0:
                row = row_of(number, cleared[slot])
                if row < 0 or leaves[row]:
                    cleared[slot] = IDLE
            if cleared[slot] == IDLE:
                free[node] += 1
            if cleared[slot] != UNUSABLE:
                width[node] += 1
    return Site(first_slot, layout, cleared, free, width)


@compiled
def occupy(site: Site, node: int, job: int, slots: int) -> None:
    """Put a job on idle slots of a node, on those it had before first."""
    site.free[node] -= slots
    for own in (True, False):
        for slot in range(site.first_slot[node], site.first_slot[node + 1]):
            if slots == 0:
                return
            if site.layout[slot] == IDLE and (site.before[slot] == job) == own:
                site.layout[slot] = job
                slots -= 1


@compiled
def remove(site: Site, job: int) -> None:
    """Take a job off all its slots."""
    for node in range(len(site.free)):
        for slot in range(site.first_slot[node], site.first_slot[node + 1]):
            if site.layout[slot] == job:
                site.layout[slot] = IDLE
                site.free[node] += 1


@compiled
def was_on(site: Site, node: int, job: int) -> bool:
    """Whether a job was on a node before."""
    return bool(np.any(site.before[site.first_slot[node] : site.first_slot[node + 1]] == job))


@compiled
def guests(site: Site, node: int, job: int) -> int:
    """Slots of a node on which somebody else was before."""
    count = 0
    for slot in range(site.first_slot[node], site.first_slot[node + 1]):
        if site.before[slot] >= 0 and site.before[slot] != job:
            count += 1
    return count
