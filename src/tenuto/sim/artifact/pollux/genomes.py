"""Genomes of the search, replicas of every job on every node: how they are crossed, mutated, repaired, judged."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tenuto.compiled import compiled
from tenuto.model.columns import Floats, Ints
from tenuto.sim.artifact.pollux.draws import Random, below, mixed, shuffle, uniform
from tenuto.sim.artifact.pollux.goodput import MORE_NODES, ONE_NODE

Genome = NDArray[np.int16]
"""Replicas by job and node."""

_RESET, _THIN, _CLEAR = 0.1, 0.1, 0.1
"""How likely a row is reset to the present allocation, how likely it is thinned out, and then each entry lost."""
_BASE = np.uint64(0x100000001B3)
"""An odd number, larger than any node, in whose powers a row is written down to be named."""
_FLOOR = 1e-3
"""Added to every speedup, so that a job with nothing does not make all others worthless."""


class Problem(NamedTuple):
    """What is searched: jobs in the order of their service, nodes in the order of the cluster."""

    now: Genome
    """The present allocation."""
    gpus: Ints
    """Of each node."""
    least: Ints
    """Replicas below which a job does not run."""
    most: Ints
    """Replicas of a job at most."""
    most_nodes: Ints
    """Nodes of a job at most."""
    speedup: Floats
    """By job, spread and replicas, relative to the fair share."""
    after_change: Floats
    """What is left of a job's speedup if its allocation changes."""
    per_node: float
    """Nodes divided by GPUs."""


@compiled
def cross(genomes: Genome, parents: tuple[int, int], cut: int, children: tuple[int, int]) -> None:
    """Make two children of two parents by swapping the rows before a cut."""
    _, jobs, nodes = genomes.shape
    mother, father = parents
    first, second = children
    for job in range(jobs):
        if job == cut:
            mother, father = father, mother
        for node in range(nodes):
            genomes[first, job, node] = genomes[father, job, node]
            genomes[second, job, node] = genomes[mother, job, node]


@compiled
def mutate(genome: Genome, problem: Problem, used: Ints, sharers: Ints, random: Random) -> None:
    """Reset some rows to the present, thin out some, and let some entries grow where GPUs are free."""
    jobs, nodes = genome.shape
    now, gpus = problem.now, problem.gpus
    used[:] = 0
    sharers[:] = 0
    for job in range(jobs):
        reset = uniform(random) < _RESET
        thin = uniform(random) < _THIN
        for node in range(nodes):
            held = now[job, node] if reset else genome[job, node]
            if thin and held > 0 and uniform(random) < _CLEAR:
                held = 0
            genome[job, node] = held
            used[node] += held
            sharers[node] += held > 0
    anybody = 1.0 / jobs
    for node in range(nodes):
        if used[node] >= gpus[node]:
            continue
        member = 1.0 / max(sharers[node], 1)
        member += anybody - member * anybody
        for job in range(jobs):
            held = genome[job, node]
            if uniform(random) < (member if held > 0 else anybody):
                genome[job, node] = held + below(random, gpus[node] + 1 - held)


@compiled
def repair(genome: Genome, problem: Problem, free: Ints, taken: Ints, random: Random) -> None:
    """Make a genome possible: one job per node that spans nodes, limits of jobs, then of nodes, in job order."""
    jobs, nodes = genome.shape
    least, most, most_nodes = problem.least, problem.most, problem.most_nodes
    free[:] = problem.gpus
    taken[:] = 0
    for job in range(jobs):
        spread, replicas = 0, 0
        for node in range(nodes):
            spread += genome[job, node] > 0
        for node in range(nodes):
            if spread > 1 and genome[job, node] > 0:
                if taken[node] > 0:
                    genome[job, node] = 0
                taken[node] = 1
            replicas += genome[job, node]
        if replicas > most[job] or spread > most_nodes[job]:
            _cut_down(genome, job, most[job], most_nodes[job], random)
        replicas = 0
        for node in range(nodes):
            held = min(genome[job, node], free[node])
            genome[job, node] = held
            free[node] -= held
            replicas += held
        if 0 < replicas < least[job]:
            for node in range(nodes):
                free[node] += genome[job, node]
                genome[job, node] = 0


@compiled
def _cut_down(genome: Genome, job: int, most: int, most_nodes: int, random: Random) -> None:
    """Keep what is allowed of a row, counted through the nodes in any order."""
    order = np.arange(genome.shape[1])
    shuffle(random, order)
    for node in order:
        kept = min(genome[job, node], most) if most_nodes > 0 else 0
        genome[job, node] = kept
        most -= kept
        most_nodes -= kept > 0


@compiled
def judge(genome: Genome, problem: Problem, active: Ints) -> tuple[float, float, np.uint64]:
    """Return both objectives, to be minimised, and a number that names the genome.

    The first is the power mean, with exponent -1, of the speedups, scaled so that a node is worth 1; the second
    the sum of the speedups per GPU of the nodes in use.
    """
    jobs, nodes = genome.shape
    now, gpus, speedups, after_change = problem.now, problem.gpus, problem.speedup, problem.after_change
    active[:] = 0
    inverse, total = 0.0, 0.0
    name = np.uint64(0)
    for job in range(jobs):
        spread, replicas, different = 0, 0, 0
        row = np.uint64(0)
        for node in range(nodes):
            held = genome[job, node]
            different |= held ^ now[job, node]
            spread += held > 0
            replicas += held
            active[node] |= held
            row = row * _BASE + np.uint64(held)
        name = mixed(name + row)
        speedup = speedups[job, ONE_NODE if spread <= 1 else MORE_NODES, replicas]
        total += speedup
        if different != 0:
            speedup *= after_change[job]
        inverse += 1.0 / (speedup * problem.per_node + _FLOOR)
    in_use = 0
    for node in range(nodes):
        in_use += gpus[node] if active[node] > 0 else 0
    return -jobs / inverse, -total / max(in_use, 1), name
