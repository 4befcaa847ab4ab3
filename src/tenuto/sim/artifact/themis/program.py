"""The fairness program as the reference hands it to its solver, its rows and columns scaled as there."""

from __future__ import annotations

from math import sqrt

from tenuto.compiled import compiled
from tenuto.model.columns import Floats
from tenuto.sim.artifact.themis.desk import (
    BOUND,
    COST,
    GPUS,
    LEAST,
    MOST,
    NUMBERS,
    RIGHT,
    SHRINK,
    TIE_BOUND,
    TIE_SHARE,
    WORST,
    jobs_on,
)

_ROUNDS = 3
"""Rounds of equilibration."""
_TINY = 1e-6


@compiled
def write_program(desk: Floats, gpus: Floats, work: Floats, waited: Floats, rate: Floats) -> None:
    """Write down: a job's ratio is waited + work / (rate * share). How many GPUs there are is written later."""
    jobs = jobs_on(desk)
    desk[NUMBERS, COST] = 1.0
    for job in range(jobs):
        desk[WORST, job] = -1.0
        desk[BOUND, job] = work[job]
        desk[LEAST, job] = -1.0
        desk[MOST, job] = 1.0
        desk[GPUS, job] = gpus[job]
        desk[TIE_BOUND, job] = -1.0
        desk[TIE_SHARE, job] = -rate[job]
        desk[SHRINK, job] = 1.0
        desk[RIGHT, job] = -waited[job]
        desk[RIGHT, 2 * jobs + job] = 1.0
        desk[RIGHT, 3 * jobs + 3 + 3 * job] = 2.0


@compiled
def equilibrate(desk: Floats, total: float) -> None:
    """Write how many GPUs there are, and scale rows and columns until no entry is much larger than others."""
    desk[RIGHT, 3 * jobs_on(desk)] = total
    for _ in range(_ROUNDS):
        _equilibrate(desk)


@compiled
def _root(entry: float) -> float:
    return sqrt(abs(entry)) if abs(entry) >= _TINY else 1.0


@compiled
def _equilibrate(desk: Floats) -> None:
    """Divide each row and column by the root of its largest entry; the rows of a triple by that of their sum."""
    jobs = jobs_on(desk)
    worst, room = 0.0, 0.0
    for job in range(jobs):
        worst = max(worst, _root(desk[WORST, job]))
        room = max(room, _root(desk[GPUS, job]))
    for job in range(jobs):
        ratio = max(_root(desk[WORST, job]), _root(desk[BOUND, job]))
        least, most = _root(desk[LEAST, job]), _root(desk[MOST, job])
        tie = _root(2.0 * max(abs(desk[TIE_BOUND, job]), abs(desk[TIE_SHARE, job])))
        bound = max(_root(desk[BOUND, job]), _root(desk[TIE_BOUND, job]))
        share = max(least, most, _root(desk[GPUS, job]), _root(desk[TIE_SHARE, job]))
        desk[WORST, job] /= ratio * worst
        desk[BOUND, job] /= ratio * bound
        desk[LEAST, job] /= least * share
        desk[MOST, job] /= most * share
        desk[GPUS, job] /= room * share
        desk[TIE_BOUND, job] /= tie * bound
        desk[TIE_SHARE, job] /= tie * share
        desk[RIGHT, job] /= ratio
        desk[RIGHT, 2 * jobs + job] /= most
        desk[RIGHT, 3 * jobs + 3 + 3 * job] /= tie
        desk[SHRINK, job] *= share
    desk[RIGHT, 3 * jobs] /= room
    desk[NUMBERS, COST] /= worst


@compiled
def times(desk: Floats, unknowns: Floats, result: Floats) -> None:
    """Multiply the matrix by a vector of unknowns."""
    jobs = jobs_on(desk)
    result[3 * jobs] = 0.0
    for job in range(jobs):
        bound, share = unknowns[1 + job], unknowns[1 + jobs + job]
        result[job] = desk[WORST, job] * unknowns[0] + desk[BOUND, job] * bound
        result[jobs + job] = desk[LEAST, job] * share
        result[2 * jobs + job] = desk[MOST, job] * share
        result[3 * jobs] += desk[GPUS, job] * share
        triple = 3 * jobs + 1 + 3 * job
        result[triple] = desk[TIE_SHARE, job] * share + desk[TIE_BOUND, job] * bound
        result[triple + 1] = desk[TIE_SHARE, job] * share - desk[TIE_BOUND, job] * bound
        result[triple + 2] = 0.0


@compiled
def transposed_times(desk: Floats, vector: Floats, result: Floats) -> None:
    """Multiply the transposed matrix by a vector of the cone."""
    jobs = jobs_on(desk)
    result[0] = 0.0
    for job in range(jobs):
        first, second = vector[3 * jobs + 1 + 3 * job], vector[3 * jobs + 2 + 3 * job]
        result[0] += desk[WORST, job] * vector[job]
        result[1 + job] = desk[BOUND, job] * vector[job] + desk[TIE_BOUND, job] * (first - second)
        result[1 + jobs + job] = (
            desk[LEAST, job] * vector[jobs + job]
            + desk[MOST, job] * vector[2 * jobs + job]
            + desk[GPUS, job] * vector[3 * jobs]
            + desk[TIE_SHARE, job] * (first + second)
        )
