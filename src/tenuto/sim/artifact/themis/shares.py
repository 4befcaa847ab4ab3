"""Finish-time fairness: shares of the time that make the worst job's ratio as small as it can be.

A job's ratio is its time until the end, at a share of the time, to the time that it would have had alone. The
reference mixes units there, seconds to iterations, and takes a fraction for a speed (Q10). So the worst ratio is
mostly that of one job, the other shares are open, and what decides is where the solver's path ends: see `interior`.
"""

from __future__ import annotations

from math import ceil

import numpy as np

from tenuto.compiled import compiled
from tenuto.sim.artifact.themis.desk import desk_for
from tenuto.sim.artifact.themis.interior import write_shares
from tenuto.sim.artifact.themis.program import equilibrate, write_program
from tenuto.sim.artifact.themis.state import HANDLED, SIZE, Book, Rows


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
    count = book.counts[SIZE]
    gpus, work, waited, rate = np.zeros(count), np.zeros(count), np.zeros(count), np.zeros(count)
    for place in range(count):
        row = rows[book.queue[place]]
        alone = row.alone + row.left / row.fraction
        gpus[place] = row.gpus
        work[place] = row.left / alone
        waited[place] = (book.clock[HANDLED] - row.submitted) / alone
        rate[place] = row.rate
    desk = desk_for(count)
    write_program(desk, gpus, work, waited, rate)
    equilibrate(desk, float(total))
    write_shares(desk, rate)
    for place in range(count):
        rows[book.queue[place]].share = rate[place]
