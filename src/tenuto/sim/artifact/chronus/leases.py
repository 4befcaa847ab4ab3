"""Plans of leases: taking the latest that have room, giving back, and who may run in the present lease."""

from __future__ import annotations

from math import ceil

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Flags, Ints
from tenuto.sim.artifact.chronus.state import (
    BEHIND,
    HORIZON,
    INDEX,
    LEASE,
    PENDING,
    PROMISED,
    RUNNING,
    UNPROMISED,
    Book,
    Row,
    Rows,
)


@compiled
def take_latest(row: Row, room: Ints, first: int) -> int:
    """Take a job's leases, the latest that have room. Return how many are missing.

    `room` begins with the lease that is called `first`.
    """
    missing = row.need
    for lease in range(row.last_lease - 1 - first, -1, -1):
        if missing == 0:
            break
        if room[lease] >= row.gpus:
            room[lease] -= row.gpus
            missing -= 1
    return int(missing)


@compiled
def drop_plan(rows: Rows, book: Book, job: int) -> None:
    """Give a job's leases back."""
    row = rows[job]
    if row.planned:
        _give_back(row, book, row.plan_end - row.plan)
        row.planned = False


@compiled
def _give_back(row: Row, book: Book, count: int) -> None:
    """Give the next leases of a plan back."""
    for place in range(row.plan, row.plan + count):
        book.room[book.leases[place]] += row.gpus
    row.plan += count


@compiled
def shorten_plans(rows: Rows, book: Book) -> None:
    """Let promised jobs that got on faster than planned need fewer leases; they give the next ones back."""
    for job in book.pending[: book.counts[PENDING]]:
        row = rows[job]
        if row.standing != PROMISED:
            continue
        need = ceil((row.estimate - row.progress) / LEASE)
        if need < row.need:
            if row.planned:
                _give_back(row, book, row.need - need)
            row.need = need


@compiled
def goes_before(rows: Rows, job: int, other: int) -> bool:
    """Large jobs are packed first, among them those with the fewest leases to spare, among them the late ones."""
    one, two = rows[job], rows[other]
    if one.gpus != two.gpus:
        return bool(one.gpus > two.gpus)
    spare, spare_of_other = one.last_lease - one.need, two.last_lease - two.need
    if spare != spare_of_other:
        return bool(spare < spare_of_other)
    return bool(one.last_lease > two.last_lease)


@compiled
def plan_latest(rows: Rows, book: Book) -> None:
    """Plan the promised jobs that have no plan yet, each as late as its deadline allows."""
    count = 0
    for job in book.pending[: book.counts[PENDING]]:
        if rows[job].standing == PROMISED and not rows[job].planned and rows[job].need > 0:
            place = count
            while place > 0 and goes_before(rows, job, book.spare[place - 1]):
                book.spare[place] = book.spare[place - 1]
                place -= 1
            book.spare[place] = job
            count += 1
    for job in book.spare[:count]:
        _plan_latest(rows[job], book)


@compiled
def _plan_latest(row: Row, book: Book) -> None:
    """Write one job's plan; leave everything as it was if there is too little room."""
    place, missing = row.plan_end, row.need
    for lease in range(row.last_lease - 1, book.counts[INDEX] - 1, -1):
        if missing == 0:
            break
        if book.room[lease] >= row.gpus:
            place -= 1
            missing -= 1
            book.leases[place] = lease
    if missing == 0:
        _keep_plan(row, book, place)


@compiled
def _keep_plan(row: Row, book: Book, place: int) -> None:
    """Book the leases that were written from a place to the end of a job's stretch."""
    row.plan = place
    row.planned = True
    for entry in range(place, row.plan_end):
        book.room[book.leases[entry]] -= row.gpus
    book.counts[HORIZON] = max(book.counts[HORIZON], book.leases[row.plan_end - 1] + 1)


@compiled
def write_plans(rows: Rows, book: Book, jobs: Ints, chosen: Flags) -> None:
    """Let jobs have new plans; the first column of the choice is the present lease."""
    for job in jobs:
        drop_plan(rows, book, job)
    for number, job in enumerate(jobs):
        row = rows[job]
        place = row.plan_end - row.need
        for lease in range(chosen.shape[1]):
            if chosen[number, lease]:
                book.leases[place] = book.counts[INDEX] + lease
                place += 1
        _keep_plan(row, book, row.plan_end - row.need)


@compiled
def begin_lease(rows: Rows, book: Book) -> None:
    """Run the promised jobs whose plan names the present lease; one without a plan loses its promise.

    Jobs that waited keep the time since when: it will count as work (Q17).
    """
    counts, index = book.counts, book.counts[INDEX]
    waiting = 0
    for job in book.pending[: counts[PENDING]]:
        row = rows[job]
        if row.standing == PROMISED and not row.planned:
            row.standing = UNPROMISED
        if row.standing == PROMISED and row.plan < row.plan_end and book.leases[row.plan] == index:
            row.plan += 1
            row.need -= 1
            row.leased = True
            row.resumed += 0 if row.held else 1
            book.running[counts[RUNNING]] = job
            counts[RUNNING] += 1
        else:
            book.pending[waiting] = job
            waiting += 1
    counts[PENDING] = waiting
    counts[INDEX] += 1
    counts[BEHIND] = 0
    for job in book.pending[:waiting]:
        if rows[job].standing == UNPROMISED and rows[job].deadline < np.inf:
            counts[BEHIND] = 1
