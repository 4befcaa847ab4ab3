"""Buddy placement: a job that fits on one node is never split, a larger one gets whole nodes.

Who keeps its size keeps its slots. If holes leave no place for somebody, as few small jobs as possible are
moved out of the way; if that fails, all who may be moved are packed anew, largest first. With sizes and
nodes in powers of two that succeeds unless jobs that should not move stand in the way. Then a job of at least
a node's size is scattered over parts of nodes; a smaller one has to do with less; and only if it is owed its
size, the others are moved in spite of themselves. With other sizes even that may leave no place; then a job is
split as the last resort, because a promise weighs more than neighbourhood.
"""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Flags, Ints
from tenuto.model.plan import NEVER, RATHER_NOT
from tenuto.rounds.site import Site, clear, guests, occupy, remove, row_of, was_on

PLACED = -1
MUST_MOVE = NEVER + 1
NOBODY = 2**62
"""A size that no job has."""


@compiled
def buddy(
    first_slot: Ints, layout: Ints, number: Ints, held: Ints, sizes: Ints, reluctance: Ints, modest: Ints
) -> Ints:
    """Place all jobs of the given sizes; who stands in the way of a promise gets its modest size instead."""
    sizes = sizes.copy()
    for least in (RATHER_NOT, NEVER, MUST_MOVE):
        pinned = reluctance >= least
        while True:
            site, stuck = _attempts(first_slot, layout, number, held, sizes, pinned, least == MUST_MOVE)
            if stuck == PLACED or not 0 <= modest[stuck] < sizes[stuck]:
                break
            sizes[stuck] = modest[stuck]
        if stuck == PLACED:
            break
    return site.layout


@compiled
def _attempts(
    first_slot: Ints, layout: Ints, number: Ints, held: Ints, sizes: Ints, pinned: Flags, last_resort: bool
) -> tuple[Site, int]:
    """Try with fewer and fewer scruples until everybody has a place; name the first job left over."""
    moving = sizes != held
    loose = ~pinned | moving
    for attempt in range(5 if last_resort else 4):
        leaving = moving if attempt in (0, 2) else loose
        site = clear(first_slot, layout, number, leaving)
        may_split = (NOBODY, NOBODY, site.width.max(), site.width.max(), 1)[attempt]
        stuck = _put_all(site, number, held, sizes, leaving, pinned, may_split)
        if stuck == PLACED:
            break
    return site, stuck


@compiled
def _put_all(
    site: Site, number: Ints, held: Ints, sizes: Ints, moving: Flags, pinned: Flags, may_split: int
) -> int:
    """Place the moving jobs, largest first, among equals those that run already; return the first left over.

    Jobs of `may_split` slots or more that find no place are scattered over what all others have left.
    """
    stuck = PLACED
    last = np.zeros(len(number), dtype=np.bool_)
    rows = np.flatnonzero(moving & (sizes > 0))
    for row in rows[np.argsort(-2 * sizes[rows] - (held[rows] > 0), kind="mergesort")]:
        job, slots = number[row], sizes[row]
        placed = put(site, job, slots)
        if not placed and _make_room(site, number, sizes, moving, pinned, slots):
            placed = put(site, job, slots)
        if not placed and slots >= may_split:
            placed = last[row] = True
        if not placed and stuck == PLACED:
            stuck = int(row)
    for row in np.flatnonzero(last):
        if not _scatter(site, number[row], sizes[row]) and stuck == PLACED:
            stuck = int(row)
    return stuck


@compiled
def _scatter(site: Site, job: int, slots: int) -> bool:
    """Put a large job on the emptiest nodes, whole or not."""
    while slots > 0:
        node = int(np.argmax(site.free))
        part = min(slots, site.free[node])
        if part == 0:
            remove(site, job)
            return False
        occupy(site, node, job, part)
        slots -= part
    return True


@compiled
def _best_node(site: Site, job: int, slots: int) -> int:
    """The node for a job that fits on one: its own if it can stay, else the fullest one with room."""
    best = -1
    for node in range(len(site.free)):
        if site.free[node] < slots:
            continue
        if was_on(site, node, job):
            return node
        if best < 0 or site.free[node] < site.free[best]:
            best = node
    return best


@compiled
def _best_whole_node(site: Site, job: int) -> int:
    """The idle node for a part of a large job: its own, else the one where fewest others must give way."""
    best, least = -1, 0
    for node in range(len(site.free)):
        if site.free[node] == 0 or site.free[node] < site.width[node]:
            continue
        strangers = -1 if was_on(site, node, job) else guests(site, node, job)
        if best < 0 or strangers < least:
            best, least = node, strangers
    return best


@compiled
def put(site: Site, job: int, slots: int) -> bool:
    """Place one job; False, and nothing changed, if there is no place for it."""
    node = _best_node(site, job, slots)
    if node >= 0:
        occupy(site, node, job, slots)
        return True
    if slots < site.width.max():
        return False
    rest = slots
    while rest > 0:
        node = _best_whole_node(site, job)
        if node < 0 and rest < slots:
            node = _best_node(site, job, rest)
        if node < 0:
            remove(site, job)
            return False
        part = min(rest, site.free[node])
        occupy(site, node, job, part)
        rest -= part
    return True


@compiled
def _make_room(site: Site, number: Ints, sizes: Ints, moving: Flags, pinned: Flags, slots: int) -> bool:
    """Empty nodes, cheapest first, until a job of that size fits; False if somebody found no other place."""
    need = slots
    closed = np.zeros(len(site.free), dtype=np.bool_)
    if slots >= site.width.max():
        for node in range(len(site.free)):
            if site.free[node] == site.width[node]:
                closed[node] = True
                need -= site.width[node]
    while need > 0:
        target = min(need, site.width.max())
        node = _cheapest(site, number, sizes, moving, pinned, closed, target)
        if node < 0:
            return False
        closed[node] = True
        if not _empty(site, number, sizes, closed, node, target):
            return False
        need -= target
    return True


@compiled
def _cheapest(
    site: Site, number: Ints, sizes: Ints, moving: Flags, pinned: Flags, closed: Flags, slots: int
) -> int:
    """The node that needs the fewest slots emptied to have that many idle, by moving smaller jobs only."""
    best = -1
    for node in range(len(site.free)):
        if closed[node] or site.width[node] < slots:
            continue
        movable = site.free[node]
        for slot in range(site.first_slot[node], site.first_slot[node + 1]):
            row = -1 if site.layout[slot] < 0 else row_of(number, site.layout[slot])
            if row >= 0 and not moving[row] and not pinned[row] and sizes[row] < slots:
                movable += 1
        if movable >= slots and (best < 0 or site.free[node] > site.free[best]):
            best = node
    return best


@compiled
def _empty(site: Site, number: Ints, sizes: Ints, closed: Flags, node: int, slots: int) -> bool:
    """Move jobs from a node to others until that many slots are idle, large jobs first."""
    while site.free[node] < slots:
        chosen, most = -1, 0
        for slot in range(site.first_slot[node], site.first_slot[node + 1]):
            row = -1 if site.layout[slot] < 0 else row_of(number, site.layout[slot])
            if row >= 0 and most < sizes[row] < slots:
                chosen, most = row, sizes[row]
        if chosen < 0:
            return False
        target = -1
        for other in range(len(site.free)):
            fits = not closed[other] and site.free[other] >= most
            if fits and (target < 0 or site.free[other] < site.free[target]):
                target = other
        if target < 0:
            return False
        remove(site, number[chosen])
        occupy(site, target, number[chosen], most)
    return True
