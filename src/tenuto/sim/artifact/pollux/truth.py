"""What really happens in the simulated cluster: an application's speed and its gradients, from measurements."""

from __future__ import annotations

from bisect import bisect_left
from functools import cache

import numpy as np

from tenuto.sim.artifact.pollux.applications import Application, Nodes, smallest_rotation

LARGEST_NODE = 4
"""GPUs of a node where the measurements were taken. A larger node counts as several of these."""


@cache
def step_times(application: Application, placement: Nodes, local_batch: int) -> tuple[float, float]:
    """Seconds of a step and of the synchronisation in it."""
    nodes = smallest_rotation(_as_measured(placement))
    timings = application.placements.get(nodes)
    if timings is not None:
        return timings.at(local_batch)
    return _between_shapes(application, len(nodes), sum(nodes), local_batch)


def _as_measured(placement: Nodes) -> Nodes:
    parts: list[int] = []
    for gpus in placement:
        full, rest = divmod(gpus, LARGEST_NODE)
        parts += [LARGEST_NODE] * full + [rest] * (rest > 0)
    return tuple(parts)


def _between_shapes(
    application: Application, nodes: int, replicas: int, local_batch: int
) -> tuple[float, float]:
    """Interpolate between the nearest numbers of nodes that were timed, at equal replicas per node.

    The reference interpolates over a triangulation, which is not unique where points lie on a grid.
    """
    levels = sorted(application.shapes)
    per_node = replicas / nodes
    nodes = min(nodes, levels[-1])
    above = bisect_left(levels, nodes)
    upper = _along(application, levels[above], per_node, local_batch)
    if levels[above] == nodes:
        return upper
    lower = _along(application, levels[above - 1], per_node, local_batch)
    weight = (nodes - levels[above - 1]) / (levels[above] - levels[above - 1])
    return lower[0] + weight * (upper[0] - lower[0]), lower[1] + weight * (upper[1] - lower[1])


def _along(application: Application, nodes: int, per_node: float, local_batch: int) -> tuple[float, float]:
    """Interpolate between numbers of replicas on so many nodes."""
    shapes = application.shapes[nodes]
    times = np.array([timings.at(local_batch) for timings in shapes.values()])
    counts = np.array(list(shapes))
    step, sync = (float(np.interp(per_node * nodes, counts, times[:, part])) for part in range(2))
    return step, sync


@cache
def gradients(application: Application, batch: int, epoch: int) -> tuple[float, float]:
    """The squared norm and the variance of gradients at a batch, between those that were recorded."""
    batches = application.batches
    above = bisect_left(batches, batch)
    upper = float(application.grad_sqr[above, epoch]), float(application.grad_var[above, epoch])
    if batches[above] == batch:
        return upper
    lower = float(application.grad_sqr[above - 1, epoch]), float(application.grad_var[above - 1, epoch])
    weight = (batch - batches[above - 1]) / (batches[above] - batches[above - 1])
    return lower[0] + weight * (upper[0] - lower[0]), lower[1] + weight * (upper[1] - lower[1])
