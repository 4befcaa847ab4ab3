"""The desk on which the fairness program is solved: one table, each row a vector, so that kernels pass one array.

Vectors of the cone have one number per row of the program: for each job that its ratio is not above the worst one;
that its share is not below 0; that it is not above 1; once, that the shares fit on the GPUs; and for each job a
triple that ties the inverse of its speed to its share. Vectors of unknowns have the worst ratio, for each job a
bound on the inverse of its speed, and for each job its share. Shorter vectors leave the end of their row unused.
"""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Floats

WORST, BOUND, LEAST, MOST, GPUS, TIE_BOUND, TIE_SHARE = range(7)
"""The program's matrix, one number per job: in the row of the ratio the entries of the worst ratio and of the bound;
those of the share in the three rows after it; both in the triple. Its second row has the bound's with another sign."""
RIGHT, SHRINK = range(7, 9)
"""The right side; what shares must be divided by at the end, because columns were scaled."""
FACTOR, HEAD, FIRST, SECOND = range(9, 13)
"""The scaling: a factor for each row that stands alone and for each triple; a triple for each triple."""
WEIGHT, BOUND_BLOCK, CROSS_BLOCK, SHARE_BLOCK, WORST_TIE = range(13, 18)
"""For each row that stands alone one over its squared factor; for each job the inverse of its block."""
UNKNOWNS, SLACK, DUAL = range(18, 21)
"""The present point of the path."""
LACK_OF_UNKNOWNS, LACK_OF_SLACK = range(21, 23)
"""What it lacks of an answer."""
FIXED_UNKNOWNS, FIXED_DUAL = range(23, 25)
"""Where one more unit of TAU leads."""
STEP_UNKNOWNS, STEP_SLACK, STEP_DUAL, STEP_TURNED = range(25, 29)
"""A direction; that of the slack is scaled back, that of the dual both as it is and scaled."""
MIDDLE, WANTED = range(29, 31)
"""Slack and dual, which the scaling makes equal; what they must lose together."""
LEFT_SIDE, RIGHT_SIDE, LEFT_ERROR, RIGHT_ERROR, LEFT_REPAIR, RIGHT_REPAIR, PAPER = range(31, 38)
"""Sides of a linear system, what its answer misses, a better answer, and scratch paper."""
NUMBERS = 38
_ROWS = 39

COST, TAU, KAPPA, LACK_OF_TAU, STEP_TAU, STEP_KAPPA, OF_WORST, OF_BOTH, OF_PRICE = range(9)
"""What the row of NUMBERS holds: the cost of the worst ratio; TAU, by which all must be divided at the end, and KAPPA,
above 0 where there is no answer, with their lacks and steps; the block left when all jobs are eliminated."""


@compiled
def desk_for(jobs: int) -> Floats:
    """Make room for a program."""
    return np.zeros((_ROWS, max(6 * jobs + 1, 9)))


@compiled
def jobs_on(desk: Floats) -> int:
    """How many jobs the program has."""
    return int((desk.shape[1] - 1) // 6)


@compiled
def inner(one: Floats, two: Floats, size: int) -> float:
    """Multiply two vectors and add up."""
    total = 0.0
    for place in range(size):
        total += one[place] * two[place]
    return total


@compiled
def fill(vector: Floats, number: float) -> None:
    """Write one number everywhere."""
    for place in range(len(vector)):
        vector[place] = number


@compiled
def copy(vector: Floats, result: Floats) -> None:
    """Write a vector into another."""
    for place in range(len(vector)):
        result[place] = vector[place]
