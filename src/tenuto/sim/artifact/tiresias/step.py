"""One step after the other: what has happened, who runs, what comes next, the log."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tenuto.compiled import compiled
from tenuto.sim.artifact.tiresias.clock import foresee_ends, foresee_jump, merge_arrivals, move_on
from tenuto.sim.artifact.tiresias.queues import attain, running_first, serve
from tenuto.sim.artifact.tiresias.state import BY_SIZE, RUNNING, Book


@compiled
def play(book: Book, log: NDArray[np.void]) -> int:
    """Take steps until the log is full or all jobs of the trace have ended. Return how many were taken."""
    clock = book.clock[0]
    for number in range(len(log)):
        if clock.ended == len(book.jobs):
            return number
        move_on(book)
        attain(book)
        # All jobs restart after as many rounds as the slot has *seconds* (Q5).
        restart = clock.rounds > 0 and clock.rounds % clock.slot == 0
        clock.rounds += 1
        free = serve(book, restart)
        running_first(book)
        foresee_ends(book, restart)
        foresee_jump(book)
        _write_log(book, log, number, free)
        merge_arrivals(book)
    return len(log)


@compiled
def _write_log(book: Book, log: NDArray[np.void], number: int, free: int) -> None:
    entry, clock = log[number], book.clock[0]
    running, speed = 0, 0.0
    for job in book.lists[BY_SIZE, : book.length[BY_SIZE]]:
        if book.jobs[job].phase == RUNNING:
            running += 1
            speed += book.jobs[job].speedup
    entry.time = clock.now
    entry.efficiency = speed / clock.total
    entry.busy = clock.total - free
    entry.running = running
    entry.waiting = book.length[BY_SIZE] - running
