"""Vectors of the cone: numbers that must not be negative, then triples (a, b, c) with a at least |(b, c)|.

What interior-point methods do with such vectors, after Nesterov and Todd: their product and its inverse, the scaling
in which two vectors become one, and how far one can go before leaving the cone.
"""

from __future__ import annotations

from math import sqrt

from tenuto.compiled import compiled
from tenuto.model.columns import Floats
from tenuto.sim.artifact.themis.desk import DUAL, FACTOR, FIRST, HEAD, SECOND, SLACK, WEIGHT, jobs_on

_FREE = 1e13
"""A step that nothing limits."""
_SHORT = 0.99
"""A vector inside the cone is moved too, if only by what is short of 1."""


@compiled
def lift(desk: Floats, vector: Floats) -> None:
    """Move a vector along the cone's axis until it is well inside."""
    flat, missing = 3 * jobs_on(desk) + 1, -_SHORT
    for place in range(flat):
        if vector[place] <= 0.0:
            missing = max(missing, -vector[place])
    for place in range(flat, len(vector), 3):
        room = vector[place] - _size(vector, place)
        if room <= 0.0:
            missing = max(missing, -room)
    for place in range(flat):
        vector[place] += 1.0 + missing
    for place in range(flat, len(vector), 3):
        vector[place] += 1.0 + missing


@compiled
def _size(vector: Floats, place: int) -> float:
    """The length of the last two numbers of a triple."""
    return sqrt(vector[place + 1] * vector[place + 1] + vector[place + 2] * vector[place + 2])


@compiled
def _depth(vector: Floats, place: int) -> float:
    """How far a triple is inside the cone: the square of its first number less those of the others."""
    size = _size(vector, place)
    return float((vector[place] - size) * (vector[place] + size))


@compiled
def set_scaling(desk: Floats) -> bool:
    """Find the scaling that takes the dual to where its inverse takes the slack; False if one has left the cone."""
    slack, dual, flat = desk[SLACK], desk[DUAL], 3 * jobs_on(desk) + 1
    for place in range(flat):
        if not (slack[place] > 0.0 and dual[place] > 0.0):
            return False
        desk[FACTOR, place] = sqrt(slack[place] / dual[place])
        desk[WEIGHT, place] = dual[place] / slack[place]
    for job in range(jobs_on(desk)):
        place = flat + 3 * job
        one, two = _depth(slack, place), _depth(dual, place)
        if not (one > 0.0 and two > 0.0):
            return False
        one, two = sqrt(one), sqrt(two)
        both = slack[place] * dual[place]
        both += slack[place + 1] * dual[place + 1] + slack[place + 2] * dual[place + 2]
        half = 0.5 / sqrt(0.5 * (1.0 + both / (one * two)))
        desk[HEAD, job] = half * (slack[place] / one + dual[place] / two)
        desk[FIRST, job] = half * (slack[place + 1] / one - dual[place + 1] / two)
        desk[SECOND, job] = half * (slack[place + 2] / one - dual[place + 2] / two)
        desk[FACTOR, flat + job] = sqrt(one / two)
    return True


@compiled
def scale(desk: Floats, vector: Floats, result: Floats) -> None:
    """Apply the scaling to a vector."""
    flat = 3 * jobs_on(desk) + 1
    for place in range(flat):
        result[place] = desk[FACTOR, place] * vector[place]
    for job in range(jobs_on(desk)):
        place, factor = flat + 3 * job, desk[FACTOR, flat + job]
        head, first, second = desk[HEAD, job], desk[FIRST, job], desk[SECOND, job]
        tail = first * vector[place + 1] + second * vector[place + 2]
        shift = vector[place] + tail / (1.0 + head)
        result[place] = factor * (head * vector[place] + tail)
        result[place + 1] = factor * (vector[place + 1] + shift * first)
        result[place + 2] = factor * (vector[place + 2] + shift * second)


@compiled
def unscale_twice(desk: Floats, vector: Floats, result: Floats) -> None:
    """Apply the inverse of the scaling twice; the result may take the vector's place."""
    flat = 3 * jobs_on(desk) + 1
    for place in range(flat):
        result[place] = desk[WEIGHT, place] * vector[place]
    for job in range(jobs_on(desk)):
        place, factor = flat + 3 * job, desk[FACTOR, flat + job]
        head, first, second = desk[HEAD, job], desk[FIRST, job], desk[SECOND, job]
        twice = 2.0 * (head * vector[place] - first * vector[place + 1] - second * vector[place + 2])
        strength = 1.0 / (factor * factor)
        result[place] = strength * (twice * head - vector[place])
        result[place + 1] = strength * (vector[place + 1] - twice * first)
        result[place + 2] = strength * (vector[place + 2] - twice * second)


@compiled
def multiply(desk: Floats, one: Floats, two: Floats, result: Floats) -> None:
    """Multiply two vectors: number by number, triples as the cone demands."""
    flat = 3 * jobs_on(desk) + 1
    for place in range(flat):
        result[place] = one[place] * two[place]
    for place in range(flat, len(one), 3):
        tail = one[place + 1] * two[place + 1] + one[place + 2] * two[place + 2]
        result[place] = one[place] * two[place] + tail
        result[place + 1] = one[place] * two[place + 1] + two[place] * one[place + 1]
        result[place + 2] = one[place] * two[place + 2] + two[place] * one[place + 2]


@compiled
def divide(desk: Floats, vector: Floats, by: Floats) -> None:
    """Replace a vector by what must be multiplied by another to get it."""
    flat = 3 * jobs_on(desk) + 1
    for place in range(flat):
        vector[place] /= by[place]
    for place in range(flat, len(vector), 3):
        tail = by[place + 1] * vector[place + 1] + by[place + 2] * vector[place + 2]
        depth = _depth(by, place)
        shift = (tail / by[place] - vector[place]) / depth
        vector[place] = (by[place] * vector[place] - tail) / depth
        vector[place + 1] = shift * by[place + 1] + vector[place + 1] / by[place]
        vector[place + 2] = shift * by[place + 2] + vector[place + 2] / by[place]


@compiled
def longest_step(desk: Floats, start: Floats, direction: Floats) -> float:
    """How many times a direction can be added to a vector inside the cone before it leaves it."""
    flat, steepest = 3 * jobs_on(desk) + 1, 1.0 / _FREE
    for place in range(flat):
        steepest = max(steepest, -direction[place] / start[place])
    for place in range(flat, len(start), 3):
        depth = _depth(start, place)
        if depth <= 0.0:
            continue
        norm = sqrt(depth)
        head, first, second = start[place] / norm, start[place + 1] / norm, start[place + 2] / norm
        along = head * direction[place] - first * direction[place + 1] - second * direction[place + 2]
        shift = (along + direction[place]) / (head + 1.0)
        one, two = direction[place + 1] - shift * first, direction[place + 2] - shift * second
        steepest = max(steepest, (sqrt(one * one + two * two) - along) / norm)
    return 1.0 / steepest
