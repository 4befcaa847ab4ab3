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
    PROMISED,
    RUNNING,
    UNPROMISED,
    Book,
    Rows,
)


@compiled
def play(rows: Rows, book: Book, rules: tuple[int, int], pausing: bool, log: Rows) -> int:
    """Play as many steps as the log has room for, or until all jobs are done. Return how many.

    If `pausing`, stop in the middle of a step where promised jobs wait for a lease, so that somebody else can
    plan; who gets no plan meanwhile is planned greedily after the pause. The rules are all GPUs of the cluster
    and the seconds between two steps.
    """
    counts, (total, interval) = book.counts, rules
    for played in range(len(log)):
        if counts[DONE] == len(rows):
            return played
        if counts[OPEN] == 0:
            _begin_step(rows, book)
            if pausing and counts[OPEN] == 1 and _count_promised(rows, book) > 0:
                return played
        if counts[OPEN] == 1:
            plan_latest(rows, book)
            begin_lease(rows, book)
            admit(rows, book, total)
            give_away(rows, book, total)
            _note_changes(rows, book)
            counts[OPEN] = 0
        _write(rows, book, total, log, played)
        counts[NOW] += interval
    return len(log)


@compiled
def _begin_step(rows: Rows, book: Book) -> None:
    """Let jobs work and end. Where a lease begins, all of them wait until it is planned."""
    counts = book.counts
    _work(rows, book)
    if counts[NOW] % LEASE == 0:
        for job in book.running[: counts[RUNNING]]:
            book.pending[counts[PENDING]] = job
            counts[PENDING] += 1
        counts[RUNNING] = 0
        counts[OPEN] = 1
        shorten_plans(rows, book)


@compiled
def _count_promised(rows: Rows, book: Book) -> int:
    promised = 0
    for job in book.pending[: book.counts[PENDING]]:
        promised += 1 if rows[job].standing == PROMISED and rows[job].need > 0 else 0
    return promised


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
def _write(rows: Rows, book: Book, total: int, log: Rows, played: int) -> None:
    busy, speed = 0, 0.0
    for job in book.running[: book.counts[RUNNING]]:
        busy += rows[job].gpus
        speed += rows[job].speed
    entry = log[played]
    entry.time = book.counts[NOW]
    entry.efficiency = speed / total
    entry.busy = busy
    entry.running = book.counts[RUNNING]
    entry.waiting = book.counts[PENDING]
