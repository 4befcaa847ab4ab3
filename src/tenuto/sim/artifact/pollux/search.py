"""The genetic search (NSGA-II) for the next allocation.

The reference always breeds a hundred generations. We stop when the best allocation and the front have not
changed for a while: what is applied is the best one, and the front is where the next search begins.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tenuto.compiled import compiled
from tenuto.model.columns import Floats, Ints
from tenuto.sim.artifact.pollux.draws import Random, below, shuffle, uniform
from tenuto.sim.artifact.pollux.fronts import survive, winner
from tenuto.sim.artifact.pollux.genomes import Genome, Problem, cross, judge, mutate, repair

POPULATION = 100
GENERATIONS = 100
"""The first is what the search begins with."""
PATIENCE = 10
"""Generations without a change after which a search ends."""
_CROSSED = 0.9
"""How likely two parents are crossed."""
_TRIES = 10
"""How often children are bred to replace those that existed already."""


class Herd(NamedTuple):
    """All genomes of a search, in slots; the first `alive` of the numbers in `slots` are the population."""

    genomes: Genome
    slots: Ints
    names: NDArray[np.uint64]
    value: Floats
    """Both objectives, to be minimised."""
    rank: Ints
    crowding: Floats
    pad: Ints
    """Three rows of numbers by node, for anything."""


@compiled
def search(
    problem: Problem, ancestors: Genome, generations: int, patience: int, random: Random
) -> tuple[Genome, int]:
    """Search from some genomes on. Return the front, the best first objective first, and the generations."""
    herd = _herd(problem, ancestors)
    count = 0
    for place in range(len(ancestors)):
        repair(herd.genomes[place], problem, herd.pad[0], herd.pad[1], random)
        count = _take(herd, problem, place, count)
    alive, front = _select(herd, count, random)
    changed = 0
    for generation in range(1, generations):
        before = _signature(herd, front)
        count = _breed(herd, problem, alive, random)
        alive, front = _select(herd, count, random)
        if _signature(herd, front) != before:
            changed = generation
        elif generation - changed >= patience:
            return herd.genomes[herd.slots[:front]], generation + 1
    return herd.genomes[herd.slots[:front]], generations


@compiled
def _herd(problem: Problem, ancestors: Genome) -> Herd:
    """Make room for parents, as many children and one to spare; the ancestors have the first slots."""
    size = 2 * POPULATION + 1
    jobs, nodes = problem.now.shape
    genomes = np.zeros((size, jobs, nodes), dtype=np.int8)
    genomes[: len(ancestors)] = ancestors
    return Herd(
        genomes,
        np.arange(size),
        np.zeros(size, dtype=np.uint64),
        np.zeros((size, 2)),
        np.zeros(size, dtype=np.int64),
        np.zeros(size),
        np.zeros((3, nodes), dtype=np.int64),
    )


@compiled
def _take(herd: Herd, problem: Problem, place: int, count: int) -> int:
    """Judge the genome in the slot at a place and count it among the others, unless it equals one of them."""
    slots = herd.slots
    slot = slots[place]
    name = judge(herd.genomes[slot], problem, herd.pad[2], herd.value[slot])
    for other in slots[:count]:
        if herd.names[other] == name:
            return count
    herd.names[slot] = name
    slots[place], slots[count] = slots[count], slot
    return count + 1


@compiled
def _select(herd: Herd, count: int, random: Random) -> tuple[int, int]:
    """Let the fittest survive. Return how many did, and how many of them are the front."""
    return survive(herd.slots[:count], herd.value, herd.rank, herd.crowding, POPULATION, random)


@compiled
def _signature(herd: Herd, front: int) -> tuple[float, float, int]:
    """The best first objective, and what the front's distinct points add up to."""
    total, points = 0.0, 0
    for place in range(front):
        slot, previous = herd.slots[place], herd.slots[place - 1]
        if place == 0 or herd.value[slot, 0] != herd.value[previous, 0]:
            total += herd.value[slot, 0] + herd.value[slot, 1]
            points += 1
    return herd.value[herd.slots[0], 0], total, points


@compiled
def _breed(herd: Herd, problem: Problem, alive: int, random: Random) -> int:
    """Breed as many children as the population may have members. Return how many there are with the parents."""
    count, limit = alive, alive + POPULATION
    for _ in range(_TRIES):
        before = count
        parents = _parents(herd, alive, limit - count + (limit - count) % 2, random)
        for couple in range(0, len(parents), 2):
            mother, father = parents[couple], parents[couple + 1]
            first, second = herd.slots[count], herd.slots[count + 1]
            cut = below(random, len(problem.now)) if uniform(random) < _CROSSED else 0
            cross(herd.genomes[mother], herd.genomes[father], cut, herd.genomes[first], herd.genomes[second])
            for child in (first, second):
                mutate(herd.genomes[child], problem, herd.pad[0], herd.pad[1], random)
                repair(herd.genomes[child], problem, herd.pad[0], herd.pad[1], random)
            place = count
            count = _take(herd, problem, place, count)
            if count < limit:
                count = _take(herd, problem, place + 1, count)
        if count in (before, limit):
            break
    return count


@compiled
def _parents(herd: Herd, alive: int, count: int, random: Random) -> Ints:
    """Hold so many tournaments between two, everybody taking part before anybody does so again."""
    parents = np.zeros(count, dtype=np.int64)
    order = np.arange(alive)
    place = alive
    for couple in range(count):
        pair = np.zeros(2, dtype=np.int64)
        for side in range(2):
            if place == alive:
                shuffle(random, order)
                place = 0
            pair[side] = herd.slots[order[place]]
            place += 1
        parents[couple] = winner(pair[0], pair[1], herd.value, herd.crowding, random)
    return parents
