"""Replays under the reference's Themis."""

from __future__ import annotations

import numpy as np

from tenuto.model.columns import Ints, frozen
from tenuto.sim.artifact.fixed_size_layouts import Layouts, layouts_of
from tenuto.sim.artifact.order import Order
from tenuto.sim.artifact.state import rules_for
from tenuto.sim.artifact.themis.rounds import play
from tenuto.sim.artifact.themis.state import DONE, ENTRY, SIZE, Book, Rows, book_of, rows_of
from tenuto.sim.outcome import Events, Outcome
from tenuto.sim.workload import Workload

_ROUNDS = 1000
"""Rounds between two reports of progress."""


def replay(workload: Workload, order: Order) -> Outcome:
    """Play all rounds, those in which nothing happens too."""
    rules = rules_for(workload.cluster, order.slot, refresh=True)
    rows, book = rows_of(workload), book_of(workload)
    layouts = layouts_of(workload, rules) if order.layouts else None
    pieces: list[Rows] = []
    told, played, room = 0, 1, 1 if order.layouts else _ROUNDS
    while played > 0:
        log: Rows = np.zeros(room, dtype=ENTRY)
        played = play(rows, book, rules.total, rules.slot, log)
        pieces.append(log[:played])
        if layouts is not None and played > 0:
            layouts.place(_chosen(rows, book))
        told = order.tell(int(book.counts[DONE]), told, len(rows))
    return _outcome(workload, rows, _events(np.concatenate(pieces), layouts))


def _chosen(rows: Rows, book: Book) -> Ints:
    queue = book.queue[: book.counts[SIZE]]
    chosen: Ints = queue[rows["chosen"][queue]]
    return chosen


def _events(log: Rows, layouts: Layouts | None) -> Events:
    return Events(
        time=frozen(log["time"].copy()),
        efficiency=frozen(log["efficiency"].copy()),
        busy=frozen(log["busy"].copy()),
        running=frozen(log["running"].copy()),
        waiting=frozen(log["waiting"].copy()),
        layouts=None if layouts is None else tuple(layouts.columns),
    )


def _outcome(workload: Workload, rows: Rows, events: Events) -> Outcome:
    """Everybody is admitted, nobody is promised anything."""
    jobs = len(rows)
    met = (rows["finished"] <= rows["deadline"]) & ~workload.trace.best_effort
    return Outcome(
        admitted=frozen(np.ones(jobs, dtype=np.bool_)),
        started=frozen(rows["started"].copy()),
        finished=frozen(rows["finished"].copy()),
        met=frozen(met),
        promised=frozen(np.full(jobs, np.nan)),
        last_size=frozen(rows["gpus"].copy()),
        changes=frozen(rows["changes"].copy()),
        preempted=frozen(rows["preempted"].copy()),
        reason=("",) * jobs,
        events=events,
    )
