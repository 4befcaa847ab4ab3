"""The round: one frozen picture in, one value out. No clock, no input or output, no hidden state."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tenuto.model.columns import Ints
from tenuto.model.plan import Plan, Round
from tenuto.model.snapshot import Snapshot
from tenuto.policy.base import Policy
from tenuto.rounds.bound import without_place
from tenuto.rounds.check import check, check_decision
from tenuto.rounds.diff import diff
from tenuto.rounds.only import only
from tenuto.rounds.placement import place


def run_round(snap: Snapshot, policy: Policy) -> Round:
    """Decide, place, check, diff."""
    decision = policy.decide(snap)  # 1 who gets how many
    check_decision(snap, decision, policy.name)
    layout = place(snap, decision)  # 2 where
    granted = check(snap, decision, layout)  # 3 can the cluster hold it
    actions = diff(snap, granted, layout)  # 4 what must be done
    verdicts = {int(snap.number[row]): verdict for row, verdict in decision.verdicts.items()}
    decided = Round(verdicts, Plan(layout), actions, decision.wake_at, decision.memory)
    if snap.bound and len(waiting := without_place(snap, decision, granted)):
        return _passed_by_others(snap, policy, waiting, decided)
    return decided


def _passed_by_others(snap: Snapshot, policy: Policy, waiting: Ints, first: Round) -> Round:
    """Decide again about all but the bound jobs that found no place: what was meant for them others can use."""
    others = only(snap, np.delete(np.arange(len(snap)), waiting))
    decided = run_round(others, policy)
    layout = decided.plan.layout
    granted = np.bincount(np.searchsorted(snap.number, layout[layout >= 0]), minlength=len(snap))
    return replace(
        decided,
        verdicts={**first.verdicts, **decided.verdicts},
        actions=diff(snap, granted, layout),
    )
