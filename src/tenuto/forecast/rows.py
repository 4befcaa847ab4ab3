"""Snapshots with one row less or another value in them: the material of every "what if"."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tenuto.model.columns import Floats
from tenuto.model.snapshot import Snapshot
from tenuto.rounds.only import only


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
