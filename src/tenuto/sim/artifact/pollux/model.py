"""An agent's model of its job: how long a step takes on any placement, fitted to the steps it has seen.

A gradient takes alpha_c + beta_c * local batch seconds, synchronising alpha + beta * (replicas - 2) more, with
one pair of numbers across nodes and one within a node. The two overlap by a power mean with exponent gamma.
"""

from __future__ import annotations

from math import exp, log, sqrt
from typing import NamedTuple

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Flags, Floats, Ints

ALPHA_C, BETA_C, ALPHA_N, BETA_N, ALPHA_R, BETA_R, GAMMA = range(7)
PARAMETERS = 7

NODES, REPLICAS, LOCAL_BATCH = range(3)
"""Columns of what was observed."""

TINY = 1e-8
"""The least that any parameter may be, and the time to synchronise nobody."""
_ACROSS_AT_LEAST = 1.1
"""Nodes never seen together are taken to synchronise slower than a node by this factor."""
_ITERATIONS = 200
_GOOD_ENOUGH = 1e-9
"""Relative gain below which an iteration is the last."""
_HALVINGS = 30
_ROUNDING = 1e-8
"""Added under the root, which has no slope where the errors vanish."""
_LONGEST = 1.0
"""How far a logarithm may move at once: far below its optimum an exponential has no slope to come back."""
_RESTARTS = 3
"""How often what was learnt about curvature is forgotten when it helps no more."""


class Steps(NamedTuple):
    """What the model is fitted to."""

    observed: Ints
    """For each step a row of nodes, replicas and local batch."""
    log_gradient: Floats
    """Logarithm of the seconds of a gradient."""
    log_step: Floats


def fit(observed: Ints, gradient_s: Floats, step_s: Floats) -> Floats:
    """Fit the parameters to steps: one row of nodes, replicas and local batch for each, and its two times."""
    point, lower, upper = _terms(observed, gradient_s)
    x = _descend(point, lower, upper, Steps(observed, np.log(gradient_s), np.log(step_s)))
    fitted = np.exp(x)
    fitted[GAMMA] = x[GAMMA]
    if (observed[:, NODES] <= 1).all():
        fitted[ALPHA_N] = max(fitted[ALPHA_N], fitted[ALPHA_R] * _ACROSS_AT_LEAST)
        fitted[BETA_N] = max(fitted[BETA_N], fitted[BETA_R] * _ACROSS_AT_LEAST)
    return fitted


def _terms(observed: Ints, gradient_s: Floats) -> tuple[Floats, Floats, Floats]:
    """Where the fit begins, and between what it stays. All but gamma are logarithms.

    What nothing was seen of is fixed: alpha_c at half the time of a gradient if there was one local batch
    only, the others as small as they may be, which makes the agent curious.
    """
    point = np.log([1e-1, 1e-2, 1e-1, 1e-2, 1e-1, 1e-2, 1.0])
    lower = np.full(PARAMETERS, log(TINY))
    upper = np.full(PARAMETERS, np.inf)
    point[GAMMA], lower[GAMMA], upper[GAMMA] = 1.001, 1.0, 10.0
    nodes, replicas = observed[:, NODES], observed[:, REPLICAS]
    if len(np.unique(observed[:, LOCAL_BATCH])) == 1:
        point[ALPHA_C] = lower[ALPHA_C] = upper[ALPHA_C] = log(gradient_s.mean() / 2)
    unseen: list[int] = []
    if (nodes <= 1).all():
        unseen += [ALPHA_N, BETA_N]
    if not ((nodes == 1) & (replicas > 1)).any():
        unseen += [ALPHA_R, BETA_R]
    if (replicas <= 2).all():
        unseen += [BETA_N, BETA_R]
    point[unseen] = upper[unseen] = lower[unseen]
    return point, lower, upper


@compiled
def sync_time(parameters: Floats, nodes: int, replicas: int) -> float:
    """Seconds to synchronise so many replicas."""
    more = max(float(replicas - 2), TINY)
    if nodes > 1:
        return float(parameters[ALPHA_N] + parameters[BETA_N] * more)
    if replicas > 1:
        return float(parameters[ALPHA_R] + parameters[BETA_R] * more)
    return TINY + TINY * more


@compiled
def overlapped(gradient: float, sync: float, gamma: float) -> tuple[float, float]:
    """The logarithm of a step's time from those of its two parts, and the first part's weight in it."""
    top = max(gradient, sync)
    first, second = exp(gamma * (gradient - top)), exp(gamma * (sync - top))
    return top + log(first + second) / gamma, first / (first + second)


@compiled
def _error(x: Floats, steps: Steps, slope: Floats) -> float:
    """What is minimised, from logarithms; `slope` is overwritten with its gradient."""
    observed, gradient_s, step_s = steps
    count = len(observed)
    p = np.exp(x)
    gamma = x[GAMMA]
    first, second = np.zeros(PARAMETERS), np.zeros(PARAMETERS)
    error_1, error_2 = _ROUNDING, _ROUNDING
    for row in range(count):
        nodes, replicas, local = observed[row, NODES], observed[row, REPLICAS], observed[row, LOCAL_BATCH]
        gradient = p[ALPHA_C] + p[BETA_C] * local
        sync = sync_time(p, nodes, replicas)
        log_gradient, log_sync = log(gradient), log(sync)
        log_step, weight = overlapped(log_gradient, log_sync, gamma)
        off_1, off_2 = log_gradient - gradient_s[row], log_step - step_s[row]
        error_1 += off_1 * off_1 / count
        error_2 += off_2 * off_2 / count
        constant = p[ALPHA_C] / gradient
        first[ALPHA_C] += off_1 * constant
        first[BETA_C] += off_1 * (1.0 - constant)
        second[ALPHA_C] += off_2 * weight * constant
        second[BETA_C] += off_2 * weight * (1.0 - constant)
        if replicas > 1:
            alpha = ALPHA_N if nodes > 1 else ALPHA_R
            constant = p[alpha] / sync
            second[alpha] += off_2 * (1.0 - weight) * constant
            second[alpha + 1] += off_2 * (1.0 - weight) * (1.0 - constant)
        mean = weight * log_gradient + (1.0 - weight) * log_sync
        second[GAMMA] += off_2 * (mean - log_step) / gamma
    root_1, root_2 = sqrt(error_1), sqrt(error_2)
    slope[:] = first / (count * root_1) + second / (count * root_2)
    return root_1 + root_2 + _reluctance(p, gamma, slope)


@compiled
def _reluctance(p: Floats, gamma: float, slope: Floats) -> float:
    """A small charge for parameters that foretell bad scaling; its gradient is added."""
    slope[GAMMA] += 2e-3 * (gamma - 1.0)
    charge = 1e-3 * (gamma - 1.0) ** 2
    for alpha in (ALPHA_N, ALPHA_R):
        ratio = 1e-2 * (p[alpha + 1] / p[alpha]) ** 2
        charge += ratio
        slope[alpha + 1] += 2.0 * ratio
        slope[alpha] -= 2.0 * ratio
    return float(charge)


@compiled
def _held_back(x: Floats, slope: Floats, lower: Floats, upper: Floats) -> Flags:
    """Parameters at a bound that they would leave."""
    return ((x <= lower) & (slope >= 0.0)) | ((x >= upper) & (slope <= 0.0))


@compiled
def _descend(point: Floats, lower: Floats, upper: Floats, steps: Steps) -> Floats:
    """Minimise by a quasi-Newton method (BFGS), with every step cut off at the bounds."""
    x, slope, new_slope = point.copy(), np.zeros(PARAMETERS), np.zeros(PARAMETERS)
    error = _error(x, steps, slope)
    curvature, fresh, restarts = np.eye(PARAMETERS), True, 0
    for _ in range(_ITERATIONS):
        direction = _direction(curvature, slope, ~_held_back(x, slope, lower, upper))
        length = 1.0
        for _ in range(_HALVINGS):
            new = np.minimum(np.maximum(x + length * direction, lower), upper)
            new_error = _error(new, steps, new_slope)
            if new_error <= error + 1e-4 * _dot(slope, new - x):
                break
            length *= 0.5
        stuck = not error - new_error > _GOOD_ENOUGH * max(error, 1e-3)
        if stuck and (fresh or restarts == _RESTARTS):
            break
        if stuck:
            curvature, fresh, restarts = np.eye(PARAMETERS), True, restarts + 1
            continue
        _update(curvature, new - x, new_slope - slope)
        x, error, fresh = new, new_error, False
        slope[:] = new_slope
    return x


@compiled
def _direction(curvature: Floats, slope: Floats, free: Flags) -> Floats:
    """Where to go: downhill among the parameters that are free to move, none of them far."""
    downhill, direction = np.zeros(PARAMETERS), np.zeros(PARAMETERS)
    for i in range(PARAMETERS):
        downhill[i] = -slope[i] if free[i] else 0.0
    longest = 0.0
    for i in range(PARAMETERS):
        direction[i] = _dot(curvature[i], downhill) if free[i] else 0.0
        longest = max(longest, abs(direction[i]))
    if _dot(direction, downhill) <= 0.0:
        direction, longest = downhill, np.abs(downhill).max()
    return direction * (_LONGEST / longest) if longest > _LONGEST else direction


@compiled
def _dot(one: Floats, other: Floats) -> float:
    total = 0.0
    for i in range(PARAMETERS):
        total += one[i] * other[i]
    return total


@compiled
def _update(curvature: Floats, moved: Floats, turned: Floats) -> None:
    """Learn the inverse curvature from one step."""
    product = _dot(moved, turned)
    if product <= 1e-12:
        return
    spread = np.zeros(PARAMETERS)
    for i in range(PARAMETERS):
        spread[i] = _dot(curvature[i], turned)
    factor = (product + _dot(turned, spread)) / product**2
    for i in range(PARAMETERS):
        for j in range(PARAMETERS):
            learnt = (spread[i] * moved[j] + moved[i] * spread[j]) / product
            curvature[i, j] += factor * moved[i] * moved[j] - learnt
