"""ElasticFlow's planner for jobs that can meet their deadline: the smallest share that suffices.

Work is counted backwards from the deadline at each level; at the first level that suffices the job gets that level
from the pivot on and one level less before it. The order of every sum is the reference's, so that results are equal
to the last bit.
"""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Floats, Ints
from tenuto.sim.artifact.ask import Ask, Sketch
from tenuto.sim.artifact.capacity import Capacity, insert_step, merge_steps
from tenuto.sim.artifact.levels import level_fitting


@compiled
def shares_in_time(capacity: Capacity, share: Ints, ask: Ask, todo: float, first: int, last: int) -> Sketch:
    """Find the shares from the first step to the last one before the deadline, without changing the profile."""
    level, pivot = smallest_level(capacity, ask, todo, first, last)
    if level < 0:
        return Sketch(-1.0, -1.0, 0, 0.0)
    return _filled(capacity, share, ask, todo, first, last, level, pivot)


@compiled
def seconds_of(time: Floats, step: int, last: int, deadline: float) -> float:
    """Measure a step before the deadline; the last one ends at the deadline itself, not at its slot."""
    return float((deadline if step == last - 1 else time[step + 1]) - time[step])


@compiled
def smallest_level(capacity: Capacity, ask: Ask, todo: float, first: int, last: int) -> tuple[int, int]:
    """Count work backwards from the deadline. Return the lowest level that suffices, -1 if none, and its pivot."""
    for level in range(ask.top + 1):
        work = 0.0
        for step in range(last - 1, first - 1, -1):
            taken = min(level, level_fitting(capacity.free[step]))
            if taken >= 0:
                work += seconds_of(capacity.time, step, last, ask.deadline) * ask.rate[taken]
                if work >= todo:
                    return level, step
    return -1, -1


@compiled
def _filled(
    capacity: Capacity, share: Ints, ask: Ask, todo: float, first: int, last: int, level: int, pivot: int
) -> Sketch:
    """Take the level from the pivot on and the next lower one before it, until the work is done."""
    time = capacity.time
    bill = 0.0
    for step in range(first, last):
        share[step] = 0
        taken = min(level if step >= pivot else level - 1, level_fitting(capacity.free[step]))
        if taken < 0:
            continue
        share[step] = 1 << taken
        work = seconds_of(time, step, last, ask.deadline) * ask.rate[taken]
        if step < pivot or work < todo:
            todo -= work
            bill += (1 << taken) * (time[step + 1] - time[step])
            continue
        rest = np.ceil(todo / ask.rate[taken])
        end = time[step] + ask.slot * np.ceil(rest / ask.slot)
        steps = min(step + 2, last)
        share[step + 1] = 0
        bill += (1 << taken) * ((time[step + 1] if steps == step + 2 else end) - time[step])
        return Sketch(end, time[step] + rest, steps, bill)
    # Only rounding leads here.
    return Sketch(-1.0, -1.0, 0, 0.0)


@compiled
def take_shares(capacity: Capacity, share: Ints, sketch: Sketch) -> None:
    """Take shares out of the profile and give the last one back at the end."""
    finish = sketch.steps - 1 if share[sketch.steps - 1] > 0 else sketch.steps - 2
    touched = finish
    for step in range(finish + 1):
        if share[step] > 0:
            touched = min(touched, step)
            capacity.free[step] -= share[step]
    following = finish + 1
    while following < capacity.size[0] and capacity.time[following] < sketch.end:
        following += 1
    if following == capacity.size[0] or capacity.time[following] != sketch.end:
        restored = capacity.free[following - 1]
        if following - 1 == finish:
            restored += share[finish]
        insert_step(capacity, following, sketch.end)
        capacity.free[following] = restored
    merge_steps(capacity, touched, following)
