"""A snapshot with fewer jobs in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tenuto.model.columns import Ints, frozen
from tenuto.model.snapshot import IDLE, Snapshot


def only(snap: Snapshot, rows: Ints) -> Snapshot:
    """The snapshot as if the other jobs were not there; their slots are idle."""
    number = snap.number[rows]
    gone = (snap.layout >= 0) & ~np.isin(snap.layout, number)
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
        bound=_bound(snap.bound, rows) if snap.bound else None,
    )


def _bound(bound: Mapping[int, Ints], rows: Ints) -> Mapping[int, Ints] | None:
    place = {int(row): index for index, row in enumerate(rows)}
    return {place[row]: most for row, most in bound.items() if row in place} or None
