"""The round: one frozen picture in, one value out. No clock, no input or output, no hidden state."""

from __future__ import annotations

from tenuto.model.plan import Plan, Round
from tenuto.model.snapshot import Snapshot
from tenuto.policy.base import Policy
from tenuto.rounds.check import check, check_decision
from tenuto.rounds.diff import diff
from tenuto.rounds.placement import place


def run_round(snap: Snapshot, policy: Policy) -> Round:
    """Decide, place, check, diff."""
    decision = policy.decide(snap)  # 1 who gets how many
    check_decision(snap, decision, policy.name)
    layout = place(snap, decision)  # 2 where
    granted = check(snap, decision, layout)  # 3 can the cluster hold it
    actions = diff(snap, granted, layout)  # 4 what must be done
    verdicts = {int(snap.number[row]): verdict for row, verdict in decision.verdicts.items()}
    return Round(verdicts, Plan(layout), actions, decision.wake_at, decision.memory)
