"""Queues: jobs go down with the service they have had, and whoever stands further ahead is served first."""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.sim.artifact.tiresias.state import BY_SIZE, ENDED, QUEUES, RUNNING, THRESHOLDS, WAITING, Book


@compiled
def enqueue(book: Book, job: int) -> None:
    """Put a newcomer at the end of the first queue, and behind all jobs that are not smaller."""
    _append(book, 0, job)
    row = book.lists[BY_SIZE]
    place = book.length[BY_SIZE]
    while place > 0 and book.jobs[row[place - 1]].gpus < book.jobs[job].gpus:
        row[place] = row[place - 1]
        place -= 1
    row[place] = job
    book.length[BY_SIZE] += 1


@compiled
def _append(book: Book, queue: int, job: int) -> None:
    book.lists[queue, book.length[queue]] = job
    book.length[queue] += 1


@compiled
def drop_ended(book: Book) -> None:
    """Take jobs that have ended out of all rows."""
    for index in range(len(book.lists)):
        row = book.lists[index]
        kept = 0
        for job in row[: book.length[index]]:
            if book.jobs[job].phase != ENDED:
                row[kept] = job
                kept += 1
        book.length[index] = kept


@compiled
def attain(book: Book) -> None:
    """Credit running jobs with service. One that has had enough goes to the end of the next queue."""
    now = book.clock[0].now
    for job in book.lists[BY_SIZE, : book.length[BY_SIZE]]:
        row = book.jobs[job]
        if row.phase == RUNNING:
            row.executed = np.floor(row.executed + max(int(now - row.seen) - row.overhead, 0.0))
            row.overhead = 0.0
            if row.queue < QUEUES - 1 and row.executed * row.gpus >= THRESHOLDS[row.queue]:
                row.queue += 1
                _append(book, row.queue, job)
        row.seen = now
    for queue in range(QUEUES - 1):
        _drop_demoted(book, queue)


@compiled
def _drop_demoted(book: Book, queue: int) -> None:
    row = book.lists[queue]
    kept = 0
    for job in row[: book.length[queue]]:
        if book.jobs[job].queue == queue:
            row[kept] = job
            kept += 1
    book.length[queue] = kept


@compiled
def serve(book: Book, restart: bool) -> int:
    """Let jobs run in the order of the queues while GPUs last; a small job may pass a large one.

    Return how many GPUs are left.
    """
    clock = book.clock[0]
    free = int(clock.total)
    for queue in range(QUEUES):
        for job in book.lists[queue, : book.length[queue]]:
            row = book.jobs[job]
            fits = row.gpus <= free
            if fits:
                free -= row.gpus
            if fits != (row.phase == RUNNING):
                row.changes += 1
                if fits:
                    row.phase = RUNNING
                    row.overhead = row.price[1 if restart else 0]
                    row.started = clock.now if np.isnan(row.started) else row.started
                else:
                    row.phase = WAITING
                    row.preempted += 1
    return free


@compiled
def running_first(book: Book) -> None:
    """In every queue let those who run stand before those who wait."""
    for queue in range(QUEUES):
        row = book.lists[queue]
        running, waiting = 0, 0
        for job in row[: book.length[queue]]:
            if book.jobs[job].phase == RUNNING:
                row[running] = job
                running += 1
            else:
                book.spare[waiting] = job
                waiting += 1
        for place in range(waiting):
            row[running + place] = book.spare[place]
