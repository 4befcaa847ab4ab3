"""A replay under Tiresias."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tenuto.model.columns import Ints
from tenuto.sim.artifact.fixed_size import ENTRY
from tenuto.sim.artifact.fixed_size_layouts import Layouts, layouts_of
from tenuto.sim.artifact.fixed_size_report import events_of, outcome_of
from tenuto.sim.artifact.order import Order, Revision
from tenuto.sim.artifact.state import rules_for
from tenuto.sim.artifact.tiresias.state import BY_SIZE, ENDED, RUNNING, Book, book_of
from tenuto.sim.artifact.tiresias.step import play
from tenuto.sim.outcome import Outcome
from tenuto.sim.workload import Workload

_AT_A_TIME = 500
"""Steps between two reports of progress."""


def replay_tiresias(workload: Workload, order: Order) -> Outcome:
    """Replay a workload. Late in 2022 only jobs with one end ended together; now all within a slot do."""
    rules = rules_for(workload.cluster, order.slot, refresh=True)
    book = book_of(workload, rules, together=order.revision is Revision.HEAD)
    layouts = layouts_of(workload, rules) if order.layouts else None
    jobs, told = len(workload.trace), 0
    log: list[NDArray[np.void]] = []
    while book.clock["ended"][0] < jobs:
        part = np.zeros(1 if order.layouts else _AT_A_TIME, dtype=ENTRY)
        log.append(part[: play(book, part)])
        if layouts is not None:
            _place(book, layouts)
        told = order.tell(int(book.clock["ended"][0]), told, jobs)
    events = events_of(np.concatenate(log), None if layouts is None else layouts.columns)
    return outcome_of(workload, book.jobs, events)


def _place(book: Book, layouts: Layouts) -> None:
    """Pack the running jobs afresh. Those that have just ended leave their GPUs before all others."""
    phase = book.jobs["phase"]
    layouts.rows["event"][phase == ENDED] = 0.0
    by_size: Ints = book.lists[BY_SIZE, : book.length[BY_SIZE]]
    layouts.place(by_size[phase[by_size] == RUNNING])
