"""Replays under the reference's Themis."""

from __future__ import annotations

import numpy as np

from tenuto.model.columns import Ints
from tenuto.sim.artifact.fixed_size import ENTRY
from tenuto.sim.artifact.fixed_size_layouts import layouts_of
from tenuto.sim.artifact.fixed_size_report import events_of, outcome_of
from tenuto.sim.artifact.order import Order
from tenuto.sim.artifact.state import rules_for
from tenuto.sim.artifact.themis.rounds import play
from tenuto.sim.artifact.themis.state import DONE, SIZE, Book, Rows, book_of, rows_of
from tenuto.sim.outcome import Outcome
from tenuto.sim.workload import Workload

_AT_A_TIME = 1000
"""Rounds between two reports of progress."""


def replay_themis(workload: Workload, order: Order) -> Outcome:
    """Play all rounds, those in which nothing happens too."""
    rules = rules_for(workload.cluster, order.slot, refresh=True)
    rows, book = rows_of(workload), book_of(workload)
    layouts = layouts_of(workload, rules) if order.layouts else None
    log: list[Rows] = []
    told = 0
    while book.counts[DONE] < len(rows):
        part: Rows = np.zeros(1 if order.layouts else _AT_A_TIME, dtype=ENTRY)
        log.append(part[: play(rows, book, rules.total, rules.slot, part)])
        if layouts is not None:
            layouts.place(_chosen(rows, book))
        told = order.tell(int(book.counts[DONE]), told, len(rows))
    events = events_of(np.concatenate(log), None if layouts is None else layouts.columns)
    return outcome_of(workload, rows, events)


def _chosen(rows: Rows, book: Book) -> Ints:
    queue = book.queue[: book.counts[SIZE]]
    chosen: Ints = queue[rows["chosen"][queue]]
    return chosen
