"""Where jobs go once their sizes are known."""

from __future__ import annotations

import numpy as np

from tenuto.model.columns import Ints, frozen
from tenuto.model.plan import Decision
from tenuto.model.snapshot import Placement, Snapshot
from tenuto.rounds.buddy import buddy
from tenuto.rounds.splitting import PACK, RANDOM, SPREAD, splitting

SPLITTING = {Placement.PACK: PACK, Placement.SPREAD: SPREAD, Placement.RANDOM: RANDOM}


def place(snap: Snapshot, decision: Decision) -> Ints:
    """Turn sizes into a layout. A job without an admissible place gets its modest size, or nothing."""
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
