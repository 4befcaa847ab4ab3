"""A snapshot with fewer jobs in it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tenuto.model.columns import Ints, frozen
from tenuto.model.snapshot import IDLE, Snapshot


def only(snap: Snapshot, rows: Ints) -> Snapshot:
    """The snapshot as if the other jobs were not there; their slots are idle."""
    number = snap.number[rows]
    gone = (snap.layout >= 0) & ~np.isin(snap.layout, number)
    place = {int(row): index for index, row in enumerate(rows)}
    bound = {place[row]: most for row, most in (snap.bound or {}).items() if row in place}
    return replace(
        snap,
        layout=frozen(np.where(gone, IDLE, snap.layout)) if gone.any() else snap.layout,
        number=number,
        undecided=snap.undecided[rows],
        urgent=snap.urgent[rows],
        arrived=snap.arrived[rows],
        deadline=snap.deadline[rows],
        left=snap.left[rows],
        rate=snap.rate[rows],
        useful=snap.useful[rows],
        requested=snap.requested[rows],
        held=snap.held[rows],
        ready_at=snap.ready_at[rows],
        changed_at=snap.changed_at[rows],
        bound=bound or None,
    )
