"""ElasticFlow's planner for jobs that can meet their deadline: the smallest share that suffices.

Work is counted backwards from the deadline at each level; at the first level that suffices the job gets that
level from the pivot on and one level less before it. The order of every sum is the reference's, so that
results are equal to the last bit.
"""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.sim.artifact.ask import Ask, Sketch
from tenuto.sim.artifact.capacity import Capacity, insert_step, merge_steps
from tenuto.sim.artifact.levels import level_fitting
from tenuto.sim.artifact.state import Rows


@compiled
def shares_in_time(steps: Rows, ask: Ask, todo: float, first: int, last: int) -> Sketch:
    """Find the job's shares from the first step to before the last, which is the first not before the deadline.

    Free capacity is left as it is. The sketch has no end if the job would be late.
    """
    level, pivot = smallest_level(steps, ask, todo, first, last)
    if level < 0:
        return Sketch(-1.0, -1.0, 0, 0.0)
    return _filled(steps, ask, todo, first, last, level, pivot)


@compiled
def seconds_of(steps: Rows, step: int, last: int, deadline: float) -> float:
    """Measure a step before the deadline; the last one ends at the deadline itself, not at its slot."""
    end = deadline if step == last - 1 else steps[step + 1].time
    return float(end - steps[step].time)


@compiled
def smallest_level(steps: Rows, ask: Ask, todo: float, first: int, last: int) -> tuple[int, int]:
    """Find the lowest level that suffices and its pivot; -1 if none does."""
    for level in range(ask.top + 1):
        work = 0.0
        for step in range(last - 1, first - 1, -1):
            taken = min(level, level_fitting(steps[step].free))
            if taken >= 0:
                work += seconds_of(steps, step, last, ask.deadline) * ask.rate[taken]
                if work >= todo:
                    return level, step
    return -1, -1


@compiled
def _filled(steps: Rows, ask: Ask, todo: float, first: int, last: int, level: int, pivot: int) -> Sketch:
    """Take the level from the pivot on and the next lower one before it, until the work is done."""
    bill = 0.0
    for step in range(first, last):
        steps[step].share = 0
        taken = min(level if step >= pivot else level - 1, level_fitting(steps[step].free))
        if taken < 0:
            continue
        gpus = 1 << taken
        begin = steps[step].time
        steps[step].share = gpus
        work = seconds_of(steps, step, last, ask.deadline) * ask.rate[taken]
        if step < pivot or work < todo:
            todo -= work
            bill += gpus * (steps[step + 1].time - begin)
            continue
        rest = np.ceil(todo / ask.rate[taken])
        end = begin + ask.slot * np.ceil(rest / ask.slot)
        if step + 1 == last:
            return Sketch(end, begin + rest, last, bill + gpus * (end - begin))
        # The reference keeps the next step in the plan and bills the present one as far as to it (Q3).
        steps[step + 1].share = 0
        return Sketch(end, begin + rest, step + 2, bill + gpus * (steps[step + 1].time - begin))
    # Only rounding leads here.
    return Sketch(-1.0, -1.0, 0, 0.0)


@compiled
def take_shares(capacity: Capacity, sketch: Sketch) -> None:
    """Take the job's shares out of the profile and give the last one back at the end."""
    steps = capacity.steps
    finish = sketch.steps - 1 if steps[sketch.steps - 1].share > 0 else sketch.steps - 2
    touched = finish
    for step in range(finish, -1, -1):
        if steps[step].share > 0:
            touched = step
            steps[step].free -= steps[step].share
    following = finish + 1
    while following < capacity.size[0] and steps[following].time < sketch.end:
        following += 1
    if following == capacity.size[0] or steps[following].time != sketch.end:
        restored = steps[following - 1].free
        if following - 1 == finish:
            restored += steps[finish].share
        insert_step(capacity, following, sketch.end, restored)
    merge_steps(capacity, touched, following)
