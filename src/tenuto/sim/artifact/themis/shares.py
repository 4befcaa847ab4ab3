"""Finish-time fairness: shares of the time that make the worst job's ratio as small as it can be.

A job's ratio is its time until the end, at a share x of the time, to the time that it would have had alone. The
reference mixes units there (seconds to iterations) and takes a fraction for a speed (Q10), and hands the program
to an interior-point solver. Where the worst ratio leaves the other shares open, such a solver tends to the
middle of what is optimal, and so does this file, in closed form.
"""

from __future__ import annotations

from math import ceil, sqrt

from tenuto.compiled import compiled
from tenuto.sim.artifact.themis.state import HANDLED, SIZE, Book, Rows

_STEPS = 100
"""Bisections; doubles have no more digits."""


@compiled
def keep_accounts(rows: Rows, book: Book, total: int) -> None:
    """Note what each job has done since the previous round, and what an equal share would be in this one."""
    equal = ceil(total / max(book.counts[SIZE], 1))
    for job in book.queue[: book.counts[SIZE]]:
        row = rows[job]
        if row.fraction > 0.0:
            row.alone += (row.left_before - row.left) / row.fraction
        row.fraction = min(1.0, equal / row.gpus)
        row.left_before = row.left


@compiled
def set_shares(rows: Rows, book: Book, total: int) -> None:
    """Give every job of the queue its share."""
    worst = 0.0
    for job in book.queue[: book.counts[SIZE]]:
        waited, needed, alone = _terms(rows, book, job)
        worst = max(worst, (waited + needed) / alone)
    if _set_demands(rows, book, worst) > total:
        _equalise(rows, book, worst, total)
    else:
        _centre(rows, book, total)


@compiled
def _terms(rows: Rows, book: Book, job: int) -> tuple[float, float, float]:
    """Seconds since submission, seconds of work left, and the time alone. The first are stale between events."""
    row = rows[job]
    waited = book.clock[HANDLED] - row.submitted
    return waited, row.left / row.rate, row.alone + row.left / row.fraction


@compiled
def _set_demands(rows: Rows, book: Book, ratio: float) -> float:
    """Set the share that each job needs for a ratio. Return the GPUs that they need together."""
    gpus = 0.0
    for job in book.queue[: book.counts[SIZE]]:
        row = rows[job]
        waited, needed, alone = _terms(rows, book, job)
        row.demand = min(1.0, needed / (ratio * alone - waited))
        gpus += row.gpus * row.demand
    return gpus


@compiled
def _equalise(rows: Rows, book: Book, worst: float, total: int) -> None:
    """If not even the worst ratio can be held, let all jobs have the same one, as small as it can be."""
    low, high = worst, 2.0 * worst
    while _set_demands(rows, book, high) > total:
        low, high = high, 2.0 * high
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        if _set_demands(rows, book, middle) > total:
            low = middle
        else:
            high = middle
    _set_demands(rows, book, high)
    for job in book.queue[: book.counts[SIZE]]:
        rows[job].share = rows[job].demand


@compiled
def _centre(rows: Rows, book: Book, total: int) -> None:
    """Let the product of all distances from the limits be greatest: the analytic centre.

    For each price of a GPU there is one best share; the price is right if it is one over the GPUs left free.
    """
    low, high = 0.0, 1.0
    while high * (total - _price(rows, book, high)) < 1.0:
        low, high = high, 2.0 * high
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        if middle * (total - _price(rows, book, middle)) < 1.0:
            low = middle
        else:
            high = middle
    _price(rows, book, high)


@compiled
def _price(rows: Rows, book: Book, price: float) -> float:
    """Set the shares that are best at a price. Return the GPUs that they take."""
    gpus = 0.0
    for job in book.queue[: book.counts[SIZE]]:
        row = rows[job]
        cost, demand = price * row.gpus, row.demand
        linear = cost * (1.0 + demand) + 3.0
        constant = 2.0 + demand + cost * demand
        row.share = 2.0 * constant / (linear + sqrt(max(linear * linear - 4.0 * cost * constant, 0.0)))
        gpus += row.gpus * row.share
    return gpus
