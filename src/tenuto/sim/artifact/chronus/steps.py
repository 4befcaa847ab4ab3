"""One step after the other: work is counted, leases begin, jobs arrive, free GPUs are given away."""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.sim.artifact.chronus.admission import admit
from tenuto.sim.artifact.chronus.leases import begin_lease, drop_plan, plan_latest, shorten_plans
from tenuto.sim.artifact.chronus.spare import give_away
from tenuto.sim.artifact.chronus.state import (
    DONE,
    LEASE,
    NOW,
    OPEN,
    PENDING,
    RUNNING,
    UNPROMISED,
    Book,
    Rows,
)


@compiled
def play(rows: Rows, book: Book, total: int, interval: int, log: Rows) -> int:
    """Play as many steps as the log has room for, or until all jobs are done. Return how many."""
    for played in range(len(log)):
        if book.counts[DONE] == len(rows):
            return played
        play_until_open(rows, book)
        plan_latest(rows, book)
        finish_step(rows, book, total, interval, log[played : played + 1])
    return len(log)


@compiled
def play_until_open(rows: Rows, book: Book) -> None:
    """Play the beginning of a step; where a lease begins, up to the moment when somebody must plan it."""
    _work(rows, book)
    if book.counts[NOW] % LEASE == 0:
        counts = book.counts
        for job in book.running[: counts[RUNNING]]:
            book.pending[counts[PENDING]] = job
            counts[PENDING] += 1
        counts[RUNNING] = 0
        counts[OPEN] = 1
        shorten_plans(rows, book)


@compiled
def finish_step(rows: Rows, book: Book, total: int, interval: int, log: Rows) -> None:
    """Play the rest of a step and log it."""
    counts = book.counts
    if counts[OPEN] == 1:
        begin_lease(rows, book)
        admit(rows, book, total)
        give_away(rows, book, total)
        _note_changes(rows, book)
        counts[OPEN] = 0
    _write(rows, book, total, log)
    counts[NOW] += interval


@compiled
def _work(rows: Rows, book: Book) -> None:
    """Count what running jobs have done, and end those that are done with what their starts cost."""
    counts, now = book.counts, book.counts[NOW]
    running = 0
    for job in book.running[: counts[RUNNING]]:
        row = rows[job]
        elapsed, cost = now - row.last, row.resumed * row.resume_cost
        if elapsed + row.progress >= row.duration + cost:
            row.finished = row.last + row.duration - row.progress + cost
            drop_plan(rows, book, job)
            counts[DONE] += 1
            continue
        if elapsed + row.progress >= row.estimate and (now % LEASE == 0 or not row.leased):
            row.standing = UNPROMISED
            row.overdue = True
            drop_plan(rows, book, job)
        row.progress += elapsed
        row.last = now
        book.running[running] = job
        running += 1
    counts[RUNNING] = running


@compiled
def _note_changes(rows: Rows, book: Book) -> None:
    for job in book.running[: book.counts[RUNNING]]:
        row = rows[job]
        row.changes += 0 if row.held else 1
        row.held = True
        if np.isnan(row.started):
            row.started = book.counts[NOW]
    for job in book.pending[: book.counts[PENDING]]:
        row = rows[job]
        if row.held:
            row.changes += 1
            row.preempted += 1
        row.held = False


@compiled
def _write(rows: Rows, book: Book, total: int, log: Rows) -> None:
    busy, speed = 0, 0.0
    for job in book.running[: book.counts[RUNNING]]:
        busy += rows[job].gpus
        speed += rows[job].speed
    entry = log[0]
    entry.time = book.counts[NOW]
    entry.efficiency = speed / total
    entry.busy = busy
    entry.running = book.counts[RUNNING]
    entry.waiting = book.counts[PENDING]
