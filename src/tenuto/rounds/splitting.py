"""Placements that may split any job over nodes, slot by slot; they never move who keeps its size."""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Ints
from tenuto.rounds.site import Site, clear, occupy

PACK, SPREAD, RANDOM = 0, 1, 2


@compiled
def splitting(
    first_slot: Ints, layout: Ints, number: Ints, held: Ints, sizes: Ints, kind: int, seed: int
) -> Ints:
    """Place slot by slot: on the fullest node, the emptiest one, or one drawn by lot."""
    moving = sizes != held
    site = clear(first_slot, layout, number, moving)
    for row in np.flatnonzero(moving & (sizes > 0)):
        for taken in range(sizes[row]):
            node = _choose(site, kind, seed, number[row], taken)
            occupy(site, node, number[row], 1)
    return site.layout


@compiled
def _choose(site: Site, kind: int, seed: int, job: int, taken: int) -> int:
    best, least = -1, 0
    for node in range(len(site.free)):
        if site.free[node] == 0:
            continue
        if kind == PACK:
            rank = site.free[node]
        elif kind == SPREAD:
            rank = -site.free[node]
        else:
            rank = _lot(seed, job, taken, node)
        if best < 0 or rank < least:
            best, least = node, rank
    return best


@compiled
def _lot(seed: int, job: int, taken: int, node: int) -> int:
    """A number that looks drawn by lot but follows from the seed (splitmix64's mixing)."""
    x = np.uint64(seed)
    for part in (job, taken, node):
        x = (x + np.uint64(part) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return int((x ^ (x >> np.uint64(31))) >> np.uint64(2))
