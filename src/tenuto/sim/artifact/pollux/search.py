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
    """All genomes of a search, in slots; the first of the numbers in `slots` are the population."""

    genomes: Genome
    slots: Ints
    names: NDArray[np.uint64]
    value: Floats
    """Both objectives by slot, to be minimised."""
    crowding: Floats
    pad: Ints
    """Three rows of numbers by node, for anything."""


def search(
    problem: Problem, ancestors: Genome, random: Random, patience: int = PATIENCE
) -> tuple[Genome, int]:
    """Search from some genomes on. Return the front, the best first objective first, and the generations."""
    herd = _herd(ancestors)
    front, generations = _evolve(problem, herd, len(ancestors), patience, random)
    return herd.genomes[herd.slots[:front]], generations


def _herd(ancestors: Genome) -> Herd:
    """Make room for parents, as many children and one to spare; the ancestors have the first slots."""
    size = 2 * POPULATION + 1
    genomes = np.zeros((size, *ancestors.shape[1:]), dtype=np.int16)
    genomes[: len(ancestors)] = ancestors
    return Herd(
        genomes,
        slots=np.arange(size),
        names=np.zeros(size, dtype=np.uint64),
        value=np.zeros((2, size)),
        crowding=np.zeros(size),
        pad=np.zeros((3, ancestors.shape[2]), dtype=np.int64),
    )


@compiled
def _evolve(problem: Problem, herd: Herd, ancestors: int, patience: int, random: Random) -> tuple[int, int]:
    """Breed until the front is stable. Return its size and the number of generations."""
    count = 0
    for place in range(ancestors):
        repair(herd.genomes[place], problem, herd.pad[0], herd.pad[1], random)
        count = _take(herd, problem, place, count)
    alive, front = _select(herd, count, random)
    changed = 0
    for generation in range(1, GENERATIONS):
        before = _signature(herd, front)
        count = _breed(herd, problem, alive, random)
        alive, front = _select(herd, count, random)
        if _signature(herd, front) != before:
            changed = generation
        elif generation - changed >= patience:
            return front, generation + 1
    return front, GENERATIONS


@compiled
def _take(herd: Herd, problem: Problem, place: int, count: int) -> int:
    """Judge the genome in the slot at a place and count it among the others, unless it equals one of them."""
    slots = herd.slots
    slot = slots[place]
    first, second, name = judge(herd.genomes[slot], problem, herd.pad[2])
    for other in slots[:count]:
        if herd.names[other] == name:
            return count
    herd.names[slot] = name
    herd.value[0, slot], herd.value[1, slot] = first, second
    slots[place], slots[count] = slots[count], slot
    return count + 1


@compiled
def _select(herd: Herd, count: int, random: Random) -> tuple[int, int]:
    """Let the fittest survive. Return how many did, and how many of them are the front."""
    return survive(herd.slots[:count], herd.value, herd.crowding, POPULATION, random)


@compiled
def _signature(herd: Herd, front: int) -> tuple[float, float, int]:
    """The best first objective, and what the front's distinct points add up to."""
    value = herd.value
    total, points = 0.0, 0
    for place in range(front):
        slot, before = herd.slots[place], herd.slots[max(place - 1, 0)]
        if place == 0 or value[0, slot] != value[0, before]:
            total += value[0, slot] + value[1, slot]
            points += 1
    return value[0, herd.slots[0]], total, points


@compiled
def _breed(herd: Herd, problem: Problem, alive: int, random: Random) -> int:
    """Breed as many children as the population may have members. Return how many there are with the parents."""
    count, limit = alive, alive + POPULATION
    for _ in range(_TRIES):
        before = count
        parents = _parents(herd, alive, limit - count + (limit - count) % 2, random)
        for couple in range(0, len(parents), 2):
            children = (herd.slots[count], herd.slots[count + 1])
            cut = below(random, len(problem.now)) if uniform(random) < _CROSSED else 0
            cross(herd.genomes, (parents[couple], parents[couple + 1]), cut, children)
            for child in children:
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
        rivals = (0, 0)
        for _ in range(2):
            if place == alive:
                shuffle(random, order)
                place = 0
            rivals = (rivals[1], herd.slots[order[place]])
            place += 1
        parents[couple] = winner(rivals[0], rivals[1], herd.value, herd.crowding, random)
    return parents
