"""Where jobs go once their sizes are known."""

from __future__ import annotations

import numpy as np

from tenuto.model.columns import Flags, Ints, frozen
from tenuto.model.snapshot import Placement, Snapshot
from tenuto.rounds.buddy import buddy
from tenuto.rounds.splitting import PACK, RANDOM, SPREAD, splitting

SPLITTING = {Placement.PACK: PACK, Placement.SPREAD: SPREAD, Placement.RANDOM: RANDOM}


def place(snap: Snapshot, sizes: Ints, pinned: Flags | None) -> Ints:
    """Turn sizes into a layout. A job for which no admissible place exists gets none this time."""
    if np.array_equal(sizes, snap.held) and _nobody_left(snap):
        return snap.layout
    first_slot = snap.cluster.first_slot
    if snap.rules.placement is Placement.BUDDY:
        stay = np.zeros(len(snap), dtype=np.bool_) if pinned is None else pinned
        return frozen(buddy(first_slot, snap.layout, snap.number, snap.held, sizes, stay))
    kind = SPLITTING[snap.rules.placement]
    return frozen(
        splitting(first_slot, snap.layout, snap.number, snap.held, sizes, kind, snap.rules.seed)
    )


def _nobody_left(snap: Snapshot) -> bool:
    """Whether every occupied slot belongs to a job of the snapshot."""
    return int(np.count_nonzero(snap.layout >= 0)) == int(snap.held.sum())
