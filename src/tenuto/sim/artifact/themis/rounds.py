"""One round after the other: jobs end and arrive, some are chosen, those work for one slot."""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.sim.artifact.themis.shares import keep_accounts, set_shares
from tenuto.sim.artifact.themis.state import ARRIVED, DONE, HANDLED, NOW, SIZE, Book, Rows


@compiled
def play(rows: Rows, book: Book, total: int, slot: float, log: Rows) -> int:
    """Play as many rounds as the log has room for, or until no job is left. Return how many."""
    for played in range(len(log)):
        if book.counts[DONE] == len(rows):
            return played
        _end_and_arrive(rows, book)
        keep_accounts(rows, book, total)
        _choose(rows, book, total)
        _write(rows, book, total, log, played)
        _work(rows, book, slot)
        book.clock[NOW] += slot
    return len(log)


@compiled
def _end_and_arrive(rows: Rows, book: Book) -> None:
    """Drop the jobs that have ended, and append those that were submitted since the previous round."""
    queue, counts, now = book.queue, book.counts, book.clock[NOW]
    size = 0
    for job in queue[: counts[SIZE]]:
        if not rows[job].ending:
            queue[size] = job
            size += 1
    ended = counts[SIZE] - size
    first = counts[ARRIVED]
    while counts[ARRIVED] < len(rows) and rows[counts[ARRIVED]].submitted <= now:
        queue[size] = counts[ARRIVED]
        size += 1
        counts[ARRIVED] += 1
    if ended > 0 or counts[ARRIVED] > first:
        book.clock[HANDLED] = now
    counts[SIZE] = size
    counts[DONE] += ended


@compiled
def _choose(rows: Rows, book: Book, total: int) -> None:
    """Choose everybody if there is room; else those with the largest shares, as long as they fit."""
    queue, wanted = book.queue[: book.counts[SIZE]], 0
    for job in queue:
        wanted += rows[job].gpus
    if wanted > total:
        set_shares(rows, book, total)
        _sort_by_share(rows, book)
    free = total
    for job in queue:
        rows[job].chosen = rows[job].gpus <= free
        if rows[job].chosen:
            free -= rows[job].gpus


@compiled
def _sort_by_share(rows: Rows, book: Book) -> None:
    """Sort the queue, the largest share first. From round to round little changes, so jobs move few places."""
    queue = book.queue
    for place in range(1, book.counts[SIZE]):
        job = queue[place]
        share = rows[job].share
        to = place
        while to > 0 and rows[queue[to - 1]].share < share:
            queue[to] = queue[to - 1]
            to -= 1
        queue[to] = job


@compiled
def _write(rows: Rows, book: Book, total: int, log: Rows, played: int) -> None:
    """Log the round, and note for whom it is a change. The reference re-places all jobs, but nobody pays."""
    busy, running, speed = 0, 0, 0.0
    now = book.clock[NOW]
    for job in book.queue[: book.counts[SIZE]]:
        row = rows[job]
        if row.chosen != row.held:
            row.changes += 1
            row.preempted += 0 if row.chosen else 1
        if row.chosen:
            busy += row.gpus
            running += 1
            speed += row.speed
            if np.isnan(row.started):
                row.started = now
        row.held = row.chosen
    entry = log[played]
    entry.time = now
    entry.efficiency = speed / total
    entry.busy = busy
    entry.running = running
    entry.waiting = book.counts[SIZE] - running


@compiled
def _work(rows: Rows, book: Book, slot: float) -> None:
    """Let the chosen work for one slot, free of any overhead. Who is done ends with the round (Q10)."""
    now = book.clock[NOW]
    for job in book.queue[: book.counts[SIZE]]:
        row = rows[job]
        if not row.chosen:
            continue
        end = now + row.seconds_left
        row.seconds_left = max(0.0, row.seconds_left - slot)
        row.left -= slot * row.rate
        if row.left <= 0.0:
            end = now + slot
        if end <= now + slot:
            row.finished = end
            row.ending = True
