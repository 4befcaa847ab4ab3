"""Snapshots with fewer rows or other values in them: the material of every "what if"."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tenuto.model.columns import Floats, Ints, frozen
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


def without(snap: Snapshot, row: int) -> Snapshot:
    """The snapshot as if one job were not there."""
    return only(snap, np.delete(np.arange(len(snap)), row))


def with_deadline(snap: Snapshot, row: int, deadline: float) -> Snapshot:
    """The snapshot with another deadline for one job."""
    return replace(snap, deadline=_changed(snap.deadline, row, deadline))


def with_left(snap: Snapshot, row: int, left: float) -> Snapshot:
    """The snapshot with another amount of work for one job."""
    return replace(snap, left=_changed(snap.left, row, left))


def _changed(column: Floats, row: int, value: float) -> Floats:
    column = column.copy()
    column[row] = value
    return column
