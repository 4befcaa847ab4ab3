"""Where jobs go once their sizes are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tenuto.model.columns import Ints, frozen
from tenuto.model.plan import Decision
from tenuto.model.snapshot import IDLE, UNUSABLE, Placement, Snapshot
from tenuto.rounds.bound import claims
from tenuto.rounds.buddy import buddy
from tenuto.rounds.splitting import PACK, RANDOM, SPREAD, splitting

SPLITTING = {Placement.PACK: PACK, Placement.SPREAD: SPREAD, Placement.RANDOM: RANDOM}


def place(snap: Snapshot, decision: Decision) -> Ints:
    """Turn sizes into a layout. A job without an admissible place gets its modest size, or nothing."""
    if snap.bound:
        return _around_the_bound(snap, snap.bound, decision)
    return _everywhere(snap, decision)


def _everywhere(snap: Snapshot, decision: Decision) -> Ints:
    sizes = decision.sizes
    if np.array_equal(sizes, snap.held) and _nobody_left(snap):
        return snap.layout
    first_slot = snap.cluster.first_slot
    if snap.rules.placement is Placement.BUDDY:
        reluctance = (
            np.zeros(len(snap), dtype=np.int64) if decision.reluctance is None else decision.reluctance
        )
        modest = sizes if decision.modest is None else decision.modest
        return frozen(buddy(first_slot, snap.layout, snap.number, snap.held, sizes, reluctance, modest))
    kind = SPLITTING[snap.rules.placement]
    return frozen(splitting(first_slot, snap.layout, snap.number, snap.held, sizes, kind, snap.rules.seed))


def _nobody_left(snap: Snapshot) -> bool:
    """Whether every occupied slot belongs to a job of the snapshot."""
    return int(np.count_nonzero(snap.layout >= 0)) == int(snap.held.sum())


def _around_the_bound(snap: Snapshot, bound: Mapping[int, Ints], decision: Decision) -> Ints:
    """Place the bound jobs, then all others on the slots that they leave, as if there were no more."""
    claimed = claims(snap, bound, decision)
    free = np.setdiff1d(np.arange(len(snap)), list(bound))
    bound_now = np.isin(snap.layout, snap.number[list(bound)])
    layout = np.where(claimed != IDLE, UNUSABLE, np.where(bound_now, IDLE, snap.layout))
    number = snap.number[free]
    # Who loses a slot to a bound job holds fewer than it is to have, and so is placed anew.
    held = np.array([np.count_nonzero(layout == job) for job in number], dtype=np.int64)
    others = replace(snap, layout=frozen(layout), number=number, held=held, bound=None)
    placed = _everywhere(others, _only(decision, free))
    return frozen(np.where(claimed != IDLE, claimed, placed))


def _only(decision: Decision, rows: Ints) -> Decision:
    reluctance, modest = decision.reluctance, decision.modest
    return replace(
        decision,
        sizes=decision.sizes[rows],
        reluctance=None if reluctance is None else reluctance[rows],
        modest=None if modest is None else modest[rows],
    )
