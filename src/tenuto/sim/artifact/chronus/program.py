"""The reference's lease plan as an integer program, solved anew at every lease."""

from __future__ import annotations

import numpy as np

from tenuto.policy.chronus.program import MOST_CHOICES, best_leases, choices
from tenuto.sim.artifact.chronus.leases import write_plans
from tenuto.sim.artifact.chronus.state import BEHIND, INDEX, PENDING, PROMISED, Book, Rows


def plan_best(rows: Rows, book: Book, total: int) -> None:
    """Plan all promised jobs. If the program is too large or has no answer, leave their plans as they are.

    The present lease is used as much as possible if everybody has a promise, and as little as possible if not.
    """
    pending = book.pending[: book.counts[PENDING]]
    jobs = pending[(rows["standing"][pending] == PROMISED) & (rows["need"][pending] > 0)]
    available = rows["last_lease"][jobs] - book.counts[INDEX]
    if choices(available) > MOST_CHOICES:
        return
    capacity = np.full(int(available.max()), total, dtype=np.int64)
    eager = not book.counts[BEHIND]
    chosen = best_leases(rows["gpus"][jobs], rows["need"][jobs], available, capacity, eager)
    if chosen is not None:
        write_plans(rows, book, jobs, chosen)
