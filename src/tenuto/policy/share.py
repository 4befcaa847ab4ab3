"""How one job would run: on free capacity at a capped level, or along its reservation.

A level is an index into the snapshot's sizes, NOTHING for no slots. A change of level pays its cost first:
until it is paid the slots are held without progress.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Floats, Ints
from tenuto.policy.free import Free, free_until

NOTHING = -1

TOLERANCE = 1e-3
"""Seconds by which a plan must end before its deadline, so that rounding never breaks a promise."""


class Terms(NamedTuple):
    """What holds for every job: the sizes, and the seconds that reaching each of them costs."""

    sizes: Ints
    start: Floats
    rescale: Floats
    move: Floats


class Runner(NamedTuple):
    """One job as it stands: what it still has to do, where it is, and how fast it is at each level."""

    todo: float
    held: int
    """Its level."""
    ready: float
    """From when on that level makes progress."""
    rate: Floats
    useful: Floats


class Segments(NamedTuple):
    """Columns to write a plan into: `size[k]` slots from `at[k]` on."""

    at: Floats
    size: Ints


@compiled
def level_of(sizes: Ints, slots: int) -> int:
    """Find the level with that many slots."""
    for level in range(len(sizes)):
        if sizes[level] == slots:
            return level
    return NOTHING


@compiled
def level_within(useful: Floats, sizes: Ints, slots: int, cap: int) -> int:
    """Find the largest level worth using that neither exceeds the cap nor that many slots."""
    best = NOTHING
    for level in range(cap + 1):
        if sizes[level] > slots:
            break
        if useful[level] > 0.0:
            best = level
    return best


@compiled
def change_cost(held: int, level: int, terms: Terms) -> float:
    """Seconds without progress when the level changes."""
    if level in (held, NOTHING):
        return 0.0
    return float(terms.start[level] if held == NOTHING else terms.rescale[level])


@compiled
def _better_stay(
    job: Runner,
    todo: float,
    level: int,
    wanted: int,
    cost: float,
    begin: float,
    works_from: float,
    until: float,
) -> bool:
    """Whether a running job gets further by `until` at its level than by paying for a faster one."""
    stay = max(until - works_from, 0.0) * job.rate[level]
    grow = max(until - begin - cost, 0.0) * job.rate[wanted]
    if stay >= todo and grow >= todo:
        return bool(works_from + todo / job.rate[level] <= begin + cost + todo / job.rate[wanted])
    return bool(stay >= grow)


@compiled
def _next_level(
    job: Runner,
    todo: float,
    terms: Terms,
    free: Free,
    k: int,
    level: int,
    cap: int,
    begin: float,
    productive: float,
    limit: float,
) -> int:
    """Choose the level for a segment of free capacity: the largest, unless its cost would not be earned."""
    wanted = level_within(job.useful, terms.sizes, free.slots[k], cap)
    if wanted in (level, NOTHING):
        return wanted
    cost = change_cost(level, wanted, terms)
    until = min(free_until(free, k, terms.sizes[wanted]), limit)
    if level == NOTHING:
        return wanted if until - begin > cost else NOTHING
    fits = level <= cap and terms.sizes[level] <= free.slots[k]
    if fits and _better_stay(job, todo, level, wanted, cost, begin, max(begin, productive), until):
        return level
    return wanted


@compiled
def fill(
    now: float, limit: float, job: Runner, cap: int, terms: Terms, free: Free, out: Segments
) -> tuple[int, float]:
    """Run a job on free capacity from now on, at no level above the cap.

    Writes its segments and returns their number and the finish, `inf` if it is not done before `limit`.
    """
    written = 0
    todo = job.todo
    level = job.held
    productive = job.ready
    for k in range(free.used):
        end = free.at[k + 1] if k + 1 < free.used else np.inf
        begin = max(free.at[k], now)
        if end <= begin:
            continue
        if begin >= limit:
            break
        wanted = _next_level(job, todo, terms, free, k, level, cap, begin, productive, limit)
        if wanted != level:
            productive = begin + change_cost(level, wanted, terms)
        if wanted != level or written == 0:
            level = wanted
            out.at[written] = begin
            out.size[written] = 0 if level == NOTHING else terms.sizes[level]
            written += 1
        works_from = max(begin, productive)
        if level == NOTHING or works_from >= end:
            continue
        done_at = works_from + todo / job.rate[level]
        if done_at <= end:
            return written, done_at
        todo -= (end - works_from) * job.rate[level]
    return written, np.inf


@compiled
def follow(now: float, job: Runner, terms: Terms, at: Floats, size: Ints) -> float:
    """When a job is done if it runs along its reservation from now on, the last segment having no end."""
    todo = job.todo
    level = job.held
    productive = job.ready
    for k in range(len(at)):
        end = at[k + 1] if k + 1 < len(at) else np.inf
        begin = max(at[k], now)
        if end <= begin:
            continue
        wanted = NOTHING if size[k] == 0 else level_of(terms.sizes, size[k])
        if wanted != level:
            productive = begin + change_cost(level, wanted, terms)
            level = wanted
        works_from = max(begin, productive)
        if level == NOTHING or works_from >= end:
            continue
        done_at = works_from + todo / job.rate[level]
        if done_at <= end:
            return float(done_at)
        todo -= (end - works_from) * job.rate[level]
    return np.inf


@compiled
def smallest_share(
    now: float, deadline: float, job: Runner, terms: Terms, free: Free, out: Segments
) -> tuple[int, float]:
    """Plan a job with the smallest cap that ends by its deadline: its minimum satisfactory share.

    A cap that leaves time for being moved to other slots is preferred to a smaller one that does not.
    Returns as `fill` does; the finish is `inf` if no cap suffices.
    """
    for moves in (1, 0):
        for cap in range(len(terms.sizes)):
            by = deadline - TOLERANCE - moves * terms.move[cap]
            if job.useful[cap] > 0.0 and now + job.todo / job.useful[cap] <= by:
                written, finish = fill(now, by, job, cap, terms, free, out)
                if finish <= by:
                    return written, finish
    return 0, np.inf


@compiled
def as_fast_as_possible(
    now: float, job: Runner, terms: Terms, free: Free, out: Segments
) -> tuple[int, float]:
    """Plan a job with everything it can use; it always ends once the whole cluster is free."""
    return fill(now, np.inf, job, len(terms.sizes) - 1, terms, free, out)
