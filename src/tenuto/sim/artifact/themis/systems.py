"""Linear systems of the fairness program.

Jobs meet in two numbers only, the worst ratio and the price of a GPU. So a system falls into one small block per
job and one of these two. Blocks are inverted without taking differences of nearly equal numbers, and answers are
repaired up to three times: late on the path entries differ by many orders of magnitude.
"""

from __future__ import annotations

from math import sqrt

from tenuto.compiled import compiled
from tenuto.model.columns import Floats
from tenuto.sim.artifact.themis.cone import scale, unscale_twice
from tenuto.sim.artifact.themis.desk import (
    BOUND,
    BOUND_BLOCK,
    CROSS_BLOCK,
    FACTOR,
    FIRST,
    GPUS,
    HEAD,
    LEAST,
    LEFT_ERROR,
    LEFT_REPAIR,
    LEFT_SIDE,
    MOST,
    NUMBERS,
    OF_BOTH,
    OF_PRICE,
    OF_WORST,
    PAPER,
    RIGHT_ERROR,
    RIGHT_REPAIR,
    RIGHT_SIDE,
    SECOND,
    SHARE_BLOCK,
    TIE_BOUND,
    TIE_SHARE,
    WEIGHT,
    WORST,
    WORST_TIE,
    inner,
    jobs_on,
)
from tenuto.sim.artifact.themis.program import times, transposed_times

_REPAIRS = 3
_EXACT = 1e-12
"""An answer that misses no more, relative to the sides, is not repaired."""


@compiled
def set_blocks(desk: Floats) -> None:
    """Prepare for systems with the present scaling."""
    jobs, numbers = jobs_on(desk), desk[NUMBERS]
    numbers[OF_WORST], numbers[OF_BOTH], numbers[OF_PRICE] = 0.0, 0.0, 1.0 / desk[WEIGHT, 3 * jobs]
    for job in range(jobs):
        factor, second = desk[FACTOR, 3 * jobs + 1 + job], desk[SECOND, job]
        strength = 2.0 / (factor * factor)
        plus, minus = _sum_and_difference(desk[HEAD, job], desk[FIRST, job], second)
        tie = strength * desk[TIE_BOUND, job] * desk[TIE_SHARE, job]
        on_bound = strength * (desk[TIE_BOUND, job] * plus) ** 2
        ratio = desk[BOUND, job] ** 2 * desk[WEIGHT, job]
        limits = desk[LEAST, job] ** 2 * desk[WEIGHT, jobs + job]
        limits += desk[MOST, job] ** 2 * desk[WEIGHT, 2 * jobs + job]
        on_share = strength * (desk[TIE_SHARE, job] * minus) ** 2 + limits
        tied = tie * tie * (1.0 + 2.0 * second * second) + on_bound * limits
        whole = tied + ratio * on_share
        desk[BOUND_BLOCK, job] = on_share / whole
        desk[CROSS_BLOCK, job] = -tie * second * second / whole
        desk[SHARE_BLOCK, job] = (on_bound + ratio) / whole
        desk[WORST_TIE, job] = desk[WORST, job] * desk[BOUND, job] * desk[WEIGHT, job]
        numbers[OF_WORST] += desk[WORST, job] ** 2 * desk[WEIGHT, job] * tied / whole
        numbers[OF_BOTH] -= desk[WORST_TIE, job] * desk[CROSS_BLOCK, job] * desk[GPUS, job]
        numbers[OF_PRICE] += desk[GPUS, job] ** 2 * desk[SHARE_BLOCK, job]


@compiled
def _sum_and_difference(head: float, first: float, second: float) -> tuple[float, float]:
    """Of a triple whose square of the head exceeds those of the others by 1."""
    larger = head + abs(first)
    smaller = (1.0 + second * second) / larger
    return (larger, smaller) if first >= 0.0 else (smaller, larger)


@compiled
def solve(desk: Floats, unknowns: Floats, vector: Floats) -> None:
    """Find unknowns and a vector of the cone for the two sides on the desk.

    The transposed matrix times the vector is the left side; the matrix times the unknowns less the vector, scaled
    twice, is the right side.
    """
    size = 1 + 2 * jobs_on(desk)
    _solve(desk, desk[LEFT_SIDE], desk[RIGHT_SIDE], unknowns, vector)
    missed = 1e300
    for _ in range(_REPAIRS):
        before, missed = missed, _set_errors(desk, unknowns, vector)
        if missed <= _EXACT or missed >= before:
            break
        _solve(desk, desk[LEFT_ERROR], desk[RIGHT_ERROR], desk[LEFT_REPAIR], desk[RIGHT_REPAIR])
        for place in range(size):
            unknowns[place] += desk[LEFT_REPAIR, place]
        for place in range(len(vector)):
            vector[place] += desk[RIGHT_REPAIR, place]


@compiled
def _set_errors(desk: Floats, unknowns: Floats, vector: Floats) -> float:
    """See what an answer misses of both sides, also relative to them."""
    size, rows = 1 + 2 * jobs_on(desk), desk.shape[1]
    transposed_times(desk, vector, desk[LEFT_ERROR])
    for place in range(size):
        desk[LEFT_ERROR, place] = desk[LEFT_SIDE, place] - desk[LEFT_ERROR, place]
    scale(desk, vector, desk[PAPER])
    scale(desk, desk[PAPER], desk[RIGHT_ERROR])
    times(desk, unknowns, desk[PAPER])
    for place in range(rows):
        desk[RIGHT_ERROR, place] += desk[RIGHT_SIDE, place] - desk[PAPER, place]
    left, right = _norm(desk[LEFT_SIDE], size), _norm(desk[RIGHT_SIDE], rows)
    return max(_norm(desk[LEFT_ERROR], size) / (1.0 + left), _norm(desk[RIGHT_ERROR], rows) / (1.0 + right))


@compiled
def _norm(vector: Floats, size: int) -> float:
    return sqrt(inner(vector, vector, size))


@compiled
def _solve(desk: Floats, left: Floats, right: Floats, unknowns: Floats, vector: Floats) -> None:
    """Eliminate the jobs, solve what is left, and put the jobs back."""
    jobs, numbers = jobs_on(desk), desk[NUMBERS]
    unscale_twice(desk, right, vector)
    vector[3 * jobs] = 0.0
    transposed_times(desk, vector, unknowns)
    for place in range(1 + 2 * jobs):
        unknowns[place] += left[place]
    worst, price = unknowns[0], right[3 * jobs]
    for job in range(jobs):
        bound, share = unknowns[1 + job], unknowns[1 + jobs + job]
        unknowns[1 + job] = desk[BOUND_BLOCK, job] * bound + desk[CROSS_BLOCK, job] * share
        unknowns[1 + jobs + job] = desk[CROSS_BLOCK, job] * bound + desk[SHARE_BLOCK, job] * share
        worst -= desk[WORST_TIE, job] * unknowns[1 + job]
        price -= desk[GPUS, job] * unknowns[1 + jobs + job]
    of_worst, of_both, of_price = numbers[OF_WORST], numbers[OF_BOTH], numbers[OF_PRICE]
    whole = of_worst * of_price + of_both * of_both
    unknowns[0] = (of_price * worst + of_both * price) / whole
    paid = (of_both * worst - of_worst * price) / whole
    for job in range(jobs):
        tie, gpus = desk[WORST_TIE, job] * unknowns[0], desk[GPUS, job] * paid
        unknowns[1 + job] -= desk[BOUND_BLOCK, job] * tie + desk[CROSS_BLOCK, job] * gpus
        unknowns[1 + jobs + job] -= desk[CROSS_BLOCK, job] * tie + desk[SHARE_BLOCK, job] * gpus
    times(desk, unknowns, vector)
    for place in range(len(vector)):
        vector[place] -= right[place]
    unscale_twice(desk, vector, vector)
    vector[3 * jobs] = paid
