"""Solve the fairness program along the path of an interior-point method.

The reference hands its program to such a solver, and where the worst ratio leaves shares open it takes what the
path happens to end at; so this walks the same path: the self-dual embedding with the scaling of Nesterov and Todd,
Mehrotra's predictor and corrector, and the constants of ECOS (Domahidi, Chu and Boyd, 2013). Where digits run out
before the end, that solver returns the best point it has seen and so does this, but the points may differ.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Floats
from tenuto.sim.artifact.themis.cone import divide, lift, longest_step, multiply, scale, set_scaling
from tenuto.sim.artifact.themis.desk import (
    COST,
    DUAL,
    FACTOR,
    FIXED_DUAL,
    FIXED_UNKNOWNS,
    HEAD,
    KAPPA,
    LACK_OF_SLACK,
    LACK_OF_TAU,
    LACK_OF_UNKNOWNS,
    LEFT_SIDE,
    MIDDLE,
    NUMBERS,
    PAPER,
    RIGHT,
    RIGHT_SIDE,
    SHRINK,
    SLACK,
    STEP_DUAL,
    STEP_KAPPA,
    STEP_SLACK,
    STEP_TAU,
    STEP_TURNED,
    STEP_UNKNOWNS,
    TAU,
    UNKNOWNS,
    WANTED,
    WEIGHT,
    copy,
    fill,
    inner,
    jobs_on,
)
from tenuto.sim.artifact.themis.program import times, transposed_times
from tenuto.sim.artifact.themis.systems import set_blocks, solve

_MOST_STEPS = 100
_LONGEST, _SHORTEST = 0.999, 1e-6
_CAUTION = 0.99
"""How much of the way to the cone's border a step goes."""
_LEAST_CENTRING = 1e-4
_CLOSE = 1e-8
_NEAR = 1e-5
"""Nearer than this, a step after which more is lacking than before has only lost digits."""


@compiled
def write_shares(desk: Floats, shares: Floats) -> None:
    """Solve the program on the desk and write the shares at the end of the path."""
    _start(desk)
    lacking = np.inf
    for _ in range(_MOST_STEPS):
        _survey(desk)
        lacked, lacking = lacking, _norm(desk[LACK_OF_SLACK]) / desk[NUMBERS, TAU]
        if not (lacking < lacked or _relative_gap(desk) > _NEAR):
            break
        _read(desk, shares)
        if _is_close(desk) or not _advance(desk):
            break


@compiled
def _read(desk: Floats, shares: Floats) -> None:
    jobs = jobs_on(desk)
    for job in range(jobs):
        share = desk[UNKNOWNS, 1 + jobs + job] / (desk[SHRINK, job] * desk[NUMBERS, TAU])
        shares[job] = min(max(share, 0.0), 1.0)


@compiled
def _norm(vector: Floats) -> float:
    return sqrt(inner(vector, vector, len(vector)))


@compiled
def _start(desk: Floats) -> None:
    """Begin with the least-squares answers, moved into the cone."""
    fill(desk[FACTOR], 1.0)
    fill(desk[WEIGHT], 1.0)
    fill(desk[HEAD], 1.0)
    set_blocks(desk)
    fill(desk[LEFT_SIDE], 0.0)
    copy(desk[RIGHT], desk[RIGHT_SIDE])
    solve(desk, desk[UNKNOWNS], desk[SLACK])
    for place in range(desk.shape[1]):
        desk[SLACK, place] = -desk[SLACK, place]
    lift(desk, desk[SLACK])
    desk[LEFT_SIDE, 0] = -desk[NUMBERS, COST]
    fill(desk[RIGHT_SIDE], 0.0)
    solve(desk, desk[FIXED_UNKNOWNS], desk[DUAL])
    lift(desk, desk[DUAL])
    desk[NUMBERS, TAU] = 1.0
    desk[NUMBERS, KAPPA] = 1.0


@compiled
def _survey(desk: Floats) -> None:
    """See what the point lacks of an answer."""
    numbers, rows = desk[NUMBERS], desk.shape[1]
    transposed_times(desk, desk[DUAL], desk[LACK_OF_UNKNOWNS])
    for place in range(1 + 2 * jobs_on(desk)):
        desk[LACK_OF_UNKNOWNS, place] = -desk[LACK_OF_UNKNOWNS, place]
    desk[LACK_OF_UNKNOWNS, 0] -= numbers[TAU] * numbers[COST]
    times(desk, desk[UNKNOWNS], desk[LACK_OF_SLACK])
    for place in range(rows):
        desk[LACK_OF_SLACK, place] += desk[SLACK, place] - numbers[TAU] * desk[RIGHT, place]
    numbers[LACK_OF_TAU] = (
        numbers[KAPPA] + numbers[COST] * desk[UNKNOWNS, 0] + inner(desk[RIGHT], desk[DUAL], rows)
    )


@compiled
def _relative_gap(desk: Floats) -> float:
    """How far the two ends of the program are apart, relative to what they are about."""
    rows = desk.shape[1]
    cost = -inner(desk[RIGHT], desk[DUAL], rows) / desk[NUMBERS, TAU]
    return inner(desk[SLACK], desk[DUAL], rows) / cost if cost > 0.0 else np.inf


@compiled
def _is_close(desk: Floats) -> bool:
    """Tell whether the point is an answer up to a small error."""
    tau = desk[NUMBERS, TAU]
    primal = max(1.0, _norm(desk[RIGHT])) + _norm(desk[UNKNOWNS]) + _norm(desk[SLACK])
    dual = max(1.0, desk[NUMBERS, COST]) + _norm(desk[DUAL])
    if _norm(desk[LACK_OF_SLACK]) >= _CLOSE * primal * tau:
        return False
    if _norm(desk[LACK_OF_UNKNOWNS]) >= _CLOSE * dual * tau:
        return False
    gap = inner(desk[SLACK], desk[DUAL], desk.shape[1])
    return bool(gap < _CLOSE or _relative_gap(desk) < _CLOSE)


@compiled
def _advance(desk: Floats) -> bool:
    """Make one step; False if there is no way on."""
    if not set_scaling(desk):
        return False
    scale(desk, desk[DUAL], desk[MIDDLE])
    set_blocks(desk)
    fill(desk[LEFT_SIDE], 0.0)
    desk[LEFT_SIDE, 0] = -desk[NUMBERS, COST]
    copy(desk[RIGHT], desk[RIGHT_SIDE])
    solve(desk, desk[FIXED_UNKNOWNS], desk[FIXED_DUAL])
    copy(desk[MIDDLE], desk[WANTED])
    product = desk[NUMBERS, KAPPA] * desk[NUMBERS, TAU]
    _set_step(desk, product, 1.0)
    centring = min(max((1.0 - _reach(desk)) ** 3, _LEAST_CENTRING), 1.0)
    jobs, rows = jobs_on(desk), desk.shape[1]
    aim = centring * (inner(desk[SLACK], desk[DUAL], rows) + product) / (4 * jobs + 2)
    _set_wanted(desk, aim)
    product += desk[NUMBERS, STEP_KAPPA] * desk[NUMBERS, STEP_TAU] - aim
    _set_step(desk, product, 1.0 - centring)
    length = _reach(desk)
    if not length > _SHORTEST:
        return False
    _move(desk, _CAUTION * length)
    return True


@compiled
def _set_wanted(desk: Floats, aim: float) -> None:
    """Let slack and dual lose all but the aim, what the predicted step bends included."""
    flat = 3 * jobs_on(desk) + 1
    multiply(desk, desk[STEP_SLACK], desk[STEP_TURNED], desk[PAPER])
    multiply(desk, desk[MIDDLE], desk[MIDDLE], desk[WANTED])
    for place in range(desk.shape[1]):
        desk[WANTED, place] += desk[PAPER, place]
        if place < flat or (place - flat) % 3 == 0:
            desk[WANTED, place] -= aim
    divide(desk, desk[WANTED], desk[MIDDLE])


@compiled
def _set_step(desk: Floats, product: float, part: float) -> None:
    """Find the direction in which slack and dual lose what is wanted, TAU and KAPPA a product, and lacks a part."""
    numbers, rows, size = desk[NUMBERS], desk.shape[1], 1 + 2 * jobs_on(desk)
    for place in range(size):
        desk[LEFT_SIDE, place] = part * desk[LACK_OF_UNKNOWNS, place]
    scale(desk, desk[WANTED], desk[RIGHT_SIDE])
    for place in range(rows):
        desk[RIGHT_SIDE, place] -= part * desk[LACK_OF_SLACK, place]
    solve(desk, desk[STEP_UNKNOWNS], desk[STEP_DUAL])
    rise = numbers[COST] * desk[STEP_UNKNOWNS, 0] + inner(desk[RIGHT], desk[STEP_DUAL], rows)
    fall = numbers[COST] * desk[FIXED_UNKNOWNS, 0] + inner(desk[RIGHT], desk[FIXED_DUAL], rows)
    lost = part * numbers[LACK_OF_TAU] - product / numbers[TAU]
    tau = (lost + rise) / (numbers[KAPPA] / numbers[TAU] - fall)
    numbers[STEP_TAU] = tau
    numbers[STEP_KAPPA] = -(product + numbers[KAPPA] * tau) / numbers[TAU]
    for place in range(size):
        desk[STEP_UNKNOWNS, place] += tau * desk[FIXED_UNKNOWNS, place]
    for place in range(rows):
        desk[STEP_DUAL, place] += tau * desk[FIXED_DUAL, place]
    scale(desk, desk[STEP_DUAL], desk[STEP_TURNED])
    for place in range(rows):
        desk[STEP_SLACK, place] = -desk[WANTED, place] - desk[STEP_TURNED, place]


@compiled
def _reach(desk: Floats) -> float:
    """How long the step may be."""
    numbers = desk[NUMBERS]
    longest = min(
        longest_step(desk, desk[MIDDLE], desk[STEP_SLACK]),
        longest_step(desk, desk[MIDDLE], desk[STEP_TURNED]),
    )
    if numbers[STEP_TAU] < 0.0:
        longest = min(longest, -numbers[TAU] / numbers[STEP_TAU])
    if numbers[STEP_KAPPA] < 0.0:
        longest = min(longest, -numbers[KAPPA] / numbers[STEP_KAPPA])
    return min(max(longest, _SHORTEST), _LONGEST)


@compiled
def _move(desk: Floats, length: float) -> None:
    numbers = desk[NUMBERS]
    scale(desk, desk[STEP_SLACK], desk[PAPER])
    for place in range(1 + 2 * jobs_on(desk)):
        desk[UNKNOWNS, place] += length * desk[STEP_UNKNOWNS, place]
    for place in range(desk.shape[1]):
        desk[SLACK, place] += length * desk[PAPER, place]
        desk[DUAL, place] += length * desk[STEP_DUAL, place]
    numbers[TAU] += length * numbers[STEP_TAU]
    numbers[KAPPA] += length * numbers[STEP_KAPPA]
