"""Ordered lists of jobs: append, drop, copy, sort."""

from __future__ import annotations

from tenuto.compiled import compiled
from tenuto.model.columns import Ints
from tenuto.sim.artifact.state import Queue, Rows


@compiled
def append(queue: Queue, job: int) -> None:
    """Put a job at the end."""
    queue.jobs[queue.size[0]] = job
    queue.size[0] += 1


@compiled
def keep_phases(queue: Queue, rows: Rows, low: int, high: int) -> None:
    """Drop all jobs that are in none of the phases from low to high; the others keep their order."""
    size = 0
    for place in range(queue.size[0]):
        job = queue.jobs[place]
        if low <= rows[job].phase <= high:
            queue.jobs[size] = job
            size += 1
    queue.size[0] = size


@compiled
def copy_queue(source: Queue, target: Queue) -> None:
    """Copy a list."""
    for place in range(source.size[0]):
        target.jobs[place] = source.jobs[place]
    target.size[0] = source.size[0]


@compiled
def sort_by_deadline(queue: Queue, rows: Rows, spare: Ints) -> None:
    """Sort by deadline; best-effort jobs come last."""
    for place in range(queue.size[0]):
        row = rows[queue.jobs[place]]
        row.key = row.deadline
    sort_by_key(queue, rows, spare)


@compiled
def sort_by_size(queue: Queue, rows: Rows, spare: Ints) -> None:
    """Sort by GPUs held; the largest come first."""
    for place in range(queue.size[0]):
        row = rows[queue.jobs[place]]
        row.key = -1.0 * row.gpus
    sort_by_key(queue, rows, spare)


@compiled
def sort_by_key(queue: Queue, rows: Rows, spare: Ints) -> None:
    """Sort by the jobs' keys, ascending; jobs with equal keys keep their order."""
    size = queue.size[0]
    width = 1
    while width < size:
        for low in range(0, size - width, 2 * width):
            _merge(queue.jobs, low, low + width, min(low + 2 * width, size), rows, spare)
        width *= 2


@compiled
def _merge(jobs: Ints, low: int, middle: int, high: int, rows: Rows, spare: Ints) -> None:
    if rows[jobs[middle - 1]].key <= rows[jobs[middle]].key:
        return
    for place in range(low, middle):
        spare[place] = jobs[place]
    left, right = low, middle
    for place in range(low, high):
        if left >= middle:
            break
        if right < high and rows[jobs[right]].key < rows[spare[left]].key:
            jobs[place] = jobs[right]
            right += 1
        else:
            jobs[place] = spare[left]
            left += 1
