"""What an agent expects of a placement: the goodput at the best batch, found among fifty sizes."""

from __future__ import annotations

from math import ceil, exp, log
from typing import NamedTuple

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Floats
from tenuto.sim.artifact.pollux.model import ALPHA_C, BETA_C, GAMMA, overlapped, sync_time

_BATCHES = 50
_EPS = 1e-8
"""How much less than the next whole number still counts as it."""

ONE_NODE, MORE_NODES = range(2)
"""How far a job is spread; an agent's model knows no more of its nodes."""


class Limits(NamedTuple):
    """The batches among which an agent chooses."""

    initial: int
    largest: int
    least_local: int
    most_local: int


class Belief(NamedTuple):
    """What an agent knows of its job."""

    parameters: Floats
    """The fitted model."""
    sqr: float
    """Squared norm of the gradients, as last seen."""
    var: float
    """Their variance."""
    limits: Limits


class Choice(NamedTuple):
    """What an agent chose for a placement."""

    goodput: float
    local_batch: int
    """Of each replica and each of its passes."""
    extra_passes: int
    """Passes that accumulate gradients without synchronising."""


@compiled
def split(limits: Limits, replicas: int, local: float, single: float) -> tuple[int, int]:
    """Split a replica's batch into passes that fit. Return the size of a pass and the extra passes.

    A lone replica does two passes if its batch is above `single`, because one tells nothing about variance.
    """
    extra = ceil(local / limits.most_local - _EPS) - 1
    if replicas == 1 and local > single:
        extra = max(extra, 1)
    return ceil(local / (extra + 1) - _EPS), extra


@compiled
def best_batch(belief: Belief, nodes: int, replicas: int) -> Choice:
    """Choose the batch with the highest goodput."""
    parameters, limits = belief.parameters, belief.limits
    least = max(limits.initial, limits.least_local * replicas)
    ratio = log(limits.largest / least)
    log_sync = log(sync_time(parameters, nodes, replicas))
    best = Choice(-1.0, 0, 0)
    for step in range(_BATCHES):
        batch = least * exp(ratio * step / (_BATCHES - 1))
        if step == _BATCHES - 1:
            batch = float(limits.largest)
        local, extra = split(limits, replicas, batch / replicas, limits.initial + _EPS)
        goodput = 0.0
        if limits.least_local <= local <= limits.most_local:
            gradient = parameters[ALPHA_C] + parameters[BETA_C] * local
            log_step, _ = overlapped(log(gradient), log_sync, parameters[GAMMA])
            real_batch = replicas * local * (extra + 1)
            useful = efficiency(belief.sqr, belief.var, real_batch / limits.initial)
            goodput = real_batch / (extra * gradient + exp(log_step)) * useful
        if goodput > best.goodput:
            best = Choice(goodput, local, extra)
    return best


@compiled
def efficiency(sqr: float, var: float, scale: float) -> float:
    """The progress of a sample in a batch so many times the initial one, relative to that one's."""
    rest = var / scale + sqr
    return (var + sqr) / rest / scale if rest > 0.0 else 1.0 / scale


@compiled
def goodputs(belief: Belief, per_node: int, most: int) -> Floats:
    """Goodput by spread and replicas, up to so many of them; 0 where there is no such placement."""
    table = np.zeros((2, most + 1))
    for replicas in range(1, min(per_node, most) + 1):
        table[ONE_NODE, replicas] = best_batch(belief, 1, replicas).goodput
    for replicas in range(2, most + 1):
        table[MORE_NODES, replicas] = best_batch(belief, 2, replicas).goodput
    return table
