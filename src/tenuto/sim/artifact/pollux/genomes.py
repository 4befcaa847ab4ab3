"""Genomes of the search, replicas of every job on every node: how they are crossed, mutated, repaired, judged."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tenuto.compiled import compiled
from tenuto.model.columns import Floats, Ints
from tenuto.sim.artifact.pollux.draws import Random, below, mixed, shuffle, uniform
from tenuto.sim.artifact.pollux.goodput import MORE_NODES, ONE_NODE

Genome = NDArray[np.int8]
"""Replicas by job and node."""

_RESET, _THIN, _CLEAR = 0.1, 0.1, 0.1
"""How likely a row is reset to the present allocation, how likely it is thinned out, and then each entry lost."""
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
def cross(mother: Genome, father: Genome, cut: int, first: Genome, second: Genome) -> None:
    """Make two children of two parents by swapping the rows before a cut."""
    for job in range(len(mother)):
        swapped = job < cut
        first[job] = father[job] if swapped else mother[job]
        second[job] = mother[job] if swapped else father[job]


@compiled
def mutate(genome: Genome, problem: Problem, used: Ints, sharers: Ints, random: Random) -> None:
    """Reset some rows to the present, thin out some, and let some entries grow where GPUs are free."""
    jobs, nodes = genome.shape
    used[:], sharers[:] = 0, 0
    for job in range(jobs):
        if uniform(random) < _RESET:
            genome[job] = problem.now[job]
        thin = uniform(random) < _THIN
        for node in range(nodes):
            if genome[job, node] > 0:
                if thin and uniform(random) < _CLEAR:
                    genome[job, node] = 0
                else:
                    used[node] += genome[job, node]
                    sharers[node] += 1
    any_job = 1.0 / jobs
    for node in range(nodes):
        gpus = problem.gpus[node]
        if used[node] >= gpus:
            continue
        member = 1.0 / max(sharers[node], 1)
        member += any_job - member * any_job
        for job in range(jobs):
            held = genome[job, node]
            if uniform(random) < (member if held > 0 else any_job):
                genome[job, node] = held + below(random, gpus + 1 - held)


@compiled
def repair(genome: Genome, problem: Problem, free: Ints, taken: Ints, random: Random) -> None:
    """Make a genome possible: one job per node that spans nodes, limits of jobs, then of nodes, in job order."""
    jobs, nodes = genome.shape
    free[:], taken[:] = problem.gpus, 0
    for job in range(jobs):
        row = genome[job]
        spread, replicas = 0, 0
        for node in range(nodes):
            spread += row[node] > 0
        for node in range(nodes):
            if row[node] > 0:
                if spread > 1 and taken[node] > 0:
                    row[node] = 0
                elif spread > 1:
                    taken[node] = 1
                replicas += row[node]
        if replicas > problem.most[job] or spread > problem.most_nodes[job]:
            _cut_down(row, problem.most[job], problem.most_nodes[job], random)
        replicas = 0
        for node in range(nodes):
            if row[node] > free[node]:
                row[node] = free[node]
            free[node] -= row[node]
            replicas += row[node]
        if 0 < replicas < problem.least[job]:
            for node in range(nodes):
                free[node] += row[node]
                row[node] = 0


@compiled
def _cut_down(row: Genome, most: int, most_nodes: int, random: Random) -> None:
    """Keep what is allowed, counted through the nodes in any order."""
    order = np.arange(len(row))
    shuffle(random, order)
    for node in order:
        kept = min(row[node], most) if most_nodes > 0 else 0
        row[node] = kept
        most -= kept
        most_nodes -= kept > 0


@compiled
def judge(genome: Genome, problem: Problem, active: Ints, value: Floats) -> np.uint64:
    """Write both objectives, to be minimised, into `value`. Return a number that names the genome.

    The first is the power mean, with exponent -1, of the speedups, scaled so that a node is worth 1; the second
    the sum of the speedups per GPU of the nodes in use.
    """
    jobs, nodes = genome.shape
    active[:] = 0
    inverse, total = 0.0, 0.0
    name = np.uint64(0)
    for job in range(jobs):
        spread, replicas, changed = 0, 0, False
        for node in range(nodes):
            held = genome[job, node]
            changed |= held != problem.now[job, node]
            if held > 0:
                spread += 1
                replicas += held
                active[node] = 1
                name += mixed(np.uint64((job * nodes + node) * 256 + held))
        speedup = problem.speedup[job, ONE_NODE if spread <= 1 else MORE_NODES, replicas]
        total += speedup
        if changed:
            speedup *= problem.after_change[job]
        inverse += 1.0 / (speedup * problem.per_node + _FLOOR)
    in_use = np.sum(active * problem.gpus)
    value[0] = -jobs / inverse
    value[1] = -total / in_use if in_use > 0 else 0.0
    return name
