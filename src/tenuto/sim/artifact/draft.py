"""The sheet on which one job is planned: the capacity profile's steps with the job's share beside them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Floats, Ints
from tenuto.sim.artifact.capacity import Capacity
from tenuto.sim.artifact.plans import Plans, with_room


class Draft(NamedTuple):
    """Steps of capacity while one job is planned."""

    time: Floats
    free: Ints
    """GPUs free when the job has taken its share."""
    before: Ints
    """GPUs free without the job."""
    share: Ints
    """The job's GPUs."""


class Sketch(NamedTuple):
    """A finished draft."""

    end: float
    """When the job gives its GPUs back: a whole number of slots."""
    real_end: float
    """When its work is done."""
    restored: int
    """GPUs that are free from `end` on, unless the profile has a step there already."""
    entries: int
    """How many of the first steps belong to the job's plan. They may reach beyond `end` (Q3)."""
    size: int
    extra: int
    """The step at the deadline if it was inserted, else -1."""


def draft_for(jobs: int) -> Draft:
    """Make room for the steps of a capacity profile, a deadline and an end."""
    room = 2 * jobs + 12
    ints = [np.zeros(room, dtype=np.int64) for _ in range(3)]
    return Draft(np.zeros(room), ints[0], ints[1], ints[2])


@compiled
def copied(capacity: Capacity, draft: Draft) -> int:
    """Begin a draft with the profile as it is. Return the number of steps."""
    size = int(capacity.size[0])
    for step in range(size):
        draft.time[step] = capacity.time[step]
        draft.free[step] = capacity.free[step]
        draft.before[step] = capacity.free[step]
        draft.share[step] = 0
    return size


@compiled
def put_step(draft: Draft, size: int, time: float, free: int) -> int:
    """Append a step unless it equals the one before. Return the number of steps."""
    if size > 0 and draft.free[size - 1] == free:
        return size
    draft.time[size] = time
    draft.free[size] = free
    draft.before[size] = free
    draft.share[size] = 0
    return size + 1


@compiled
def given_back(capacity: Capacity, plans: Plans, job: int, end: float, draft: Draft) -> int:
    """Begin a draft with the profile as it would be without the job's own plan. Return the number of steps."""
    last = int(capacity.size[0])
    entry = plans.first[job]
    stop = entry + plans.size[job]
    free, share = capacity.free[0], plans.gpus[entry]
    size = put_step(draft, 0, capacity.time[0], free + share)
    step, entry = 1, entry + 1
    time = -np.inf
    while time < end:
        time = end
        if step < last and capacity.time[step] < time:
            time = capacity.time[step]
        if entry < stop and plans.time[entry] < time:
            time = plans.time[entry]
        if step < last and capacity.time[step] == time:
            free = capacity.free[step]
            step += 1
        if entry < stop and plans.time[entry] == time:
            share = plans.gpus[entry]
            entry += 1
        size = put_step(draft, size, time, free + share if time < end else free)
    for rest in range(step, last):
        size = put_step(draft, size, capacity.time[rest], capacity.free[rest])
    return size


@compiled
def marked(draft: Draft, size: int, time: float) -> tuple[int, int, bool]:
    """Insert a step at a time, with the value before it. Return its place, the number of steps, whether it is new."""
    place = int(np.searchsorted(draft.time[:size], time))
    if place < size and draft.time[place] == time:
        return place, size, False
    for step in range(size, place, -1):
        draft.time[step] = draft.time[step - 1]
        draft.free[step] = draft.free[step - 1]
        draft.before[step] = draft.before[step - 1]
        draft.share[step] = draft.share[step - 1]
    draft.time[place] = time
    draft.free[place] = draft.free[place - 1]
    draft.before[place] = draft.before[place - 1]
    draft.share[place] = 0
    return place, size + 1, True


@compiled
def bill(draft: Draft, sketch: Sketch) -> float:
    """Sum up GPU seconds. A step beyond the end is counted as the reference does: the one before it in full (Q3)."""
    last = sketch.entries - 1
    total = 0.0
    for step in range(last):
        total += draft.share[step] * (draft.time[step + 1] - draft.time[step])
    return float(total + draft.share[last] * (sketch.end - draft.time[last]))


@compiled
def adopt(draft: Draft, sketch: Sketch, capacity: Capacity) -> None:
    """Make the draft the new capacity profile, equal neighbours merged."""
    size = 0
    closed = False
    for step in range(sketch.size):
        time, free = draft.time[step], draft.free[step]
        if not closed and time >= sketch.end:
            closed = True
            if time > sketch.end:
                size = _put(capacity, size, sketch.end, sketch.restored)
            elif step == sketch.extra:
                free = sketch.restored
        size = _put(capacity, size, time, free)
    if not closed:
        size = _put(capacity, size, sketch.end, sketch.restored)
    capacity.size[0] = size


@compiled
def _put(capacity: Capacity, size: int, time: float, free: int) -> int:
    if size > 0 and capacity.free[size - 1] == free:
        return size
    capacity.time[size] = time
    capacity.free[size] = free
    return size + 1


@compiled
def record(plans: Plans, job: int, draft: Draft, entries: int) -> Plans:
    """Store the draft as the job's plan, equal neighbours merged. Return the plans, enlarged if need be."""
    plans = with_room(plans, entries)
    first = plans.used[0]
    used = first
    for step in range(entries):
        if used == first or plans.gpus[used - 1] != draft.share[step]:
            plans.time[used] = draft.time[step]
            plans.gpus[used] = draft.share[step]
            used += 1
    plans.first[job] = first
    plans.size[job] = used - first
    plans.used[0] = used
    return plans
