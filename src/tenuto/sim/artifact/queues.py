"""Ordered lists of jobs: append, drop, sort."""

from __future__ import annotations

from tenuto.compiled import compiled
from tenuto.model.columns import Floats, Ints
from tenuto.sim.artifact.state import Queue


@compiled
def append(queue: Queue, job: int) -> None:
    """Put a job at the end."""
    queue.jobs[queue.size[0]] = job
    queue.size[0] += 1


@compiled
def keep_phases(queue: Queue, phase: Ints, low: int, high: int) -> None:
    """Drop all jobs that are in none of the phases from low to high; the others keep their order."""
    size = 0
    for place in range(queue.size[0]):
        job = queue.jobs[place]
        if low <= phase[job] <= high:
            queue.jobs[size] = job
            size += 1
    queue.size[0] = size


@compiled
def sort_by(queue: Queue, key: Floats, spare: Ints) -> None:
    """Sort ascending by key; jobs with equal keys keep their order."""
    size = queue.size[0]
    width = 1
    while width < size:
        for low in range(0, size - width, 2 * width):
            _merge(queue.jobs, low, low + width, min(low + 2 * width, size), key, spare)
        width *= 2


@compiled
def _merge(jobs: Ints, low: int, middle: int, high: int, key: Floats, spare: Ints) -> None:
    if key[jobs[middle - 1]] <= key[jobs[middle]]:
        return
    for place in range(low, middle):
        spare[place] = jobs[place]
    left, right = low, middle
    for place in range(low, high):
        if left >= middle:
            break
        if right < high and key[jobs[right]] < key[spare[left]]:
            jobs[place] = jobs[right]
            right += 1
        else:
            jobs[place] = spare[left]
            left += 1


@compiled
def copy_queue(source: Queue, target: Queue) -> None:
    """Copy a list."""
    target.jobs[: source.size[0]] = source.jobs[: source.size[0]]
    target.size[0] = source.size[0]
