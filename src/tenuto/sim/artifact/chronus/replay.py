"""Replays under the reference's Chronus."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

import numpy as np

from tenuto.errors import InputInvalid
from tenuto.model.columns import frozen
from tenuto.sim.artifact.chronus.program import plan_best
from tenuto.sim.artifact.chronus.state import DONE, LEASE, OPEN, RUNNING, Rows, book_of, rows_of
from tenuto.sim.artifact.chronus.steps import play
from tenuto.sim.artifact.fixed_size import ENTRY
from tenuto.sim.artifact.fixed_size_layouts import layouts_of
from tenuto.sim.artifact.fixed_size_report import events_of, outcome_of
from tenuto.sim.artifact.order import Order
from tenuto.sim.artifact.state import rules_for
from tenuto.sim.outcome import Outcome
from tenuto.sim.workload import Workload

_AT_A_TIME = 1000
"""Steps between two reports of progress."""


def replay_chronus(workload: Workload, order: Order) -> Outcome:
    """Plan every lease anew as an integer program, greedily where it is too large or has no answer."""
    if find_spec("highspy") is None:
        raise InputInvalid(
            "chronus plans leases with highspy, not installed here",
            remedy="Install what is missing: pip install 'tenuto[lab]'; or choose chronus-greedy",
        )
    return _replay(workload, order, solving=True)


def replay_chronus_greedily(workload: Workload, order: Order) -> Outcome:
    """Plan each promised job once, as late as its deadline allows: the reference without its solver."""
    return _replay(workload, order, solving=False)


def _replay(workload: Workload, order: Order, *, solving: bool) -> Outcome:
    """Play all steps from second 0 on, those in which nothing happens too."""
    rules = rules_for(workload.cluster, order.slot, refresh=True)
    if LEASE % order.slot != 0:
        raise InputInvalid(
            f"a slot of {order.slot:g} s does not divide a lease of {LEASE} s",
            remedy="Choose a --slot such as 60 or 240, or replay without --compat",
        )
    rows = rows_of(workload)
    book = book_of(rows, rules.total)
    layouts = layouts_of(workload, rules) if order.layouts else None
    log: list[Rows] = []
    told = 0
    while book.counts[DONE] < len(rows):
        part: Rows = np.zeros(1 if order.layouts else _AT_A_TIME, dtype=ENTRY)
        part = part[: play(rows, book, (rules.total, int(rules.slot)), solving, part)]
        if book.counts[OPEN]:
            plan_best(rows, book, rules.total)
        elif layouts is not None:
            layouts.place(book.running[: book.counts[RUNNING]])
        log.append(part)
        told = order.tell(int(book.counts[DONE]), told, len(rows))
    events = events_of(np.concatenate(log), None if layouts is None else layouts.columns)
    return _outcome(workload, rows, outcome_of(workload, rows, events))


def _outcome(workload: Workload, rows: Rows, outcome: Outcome) -> Outcome:
    """Judge promised jobs by their promise, which is the deadline rounded down to a lease (Q18)."""
    met = (rows["finished"] <= rows["due"]) & ~workload.trace.best_effort
    return replace(outcome, met=frozen(met), promised=frozen(rows["promised"].copy()))
