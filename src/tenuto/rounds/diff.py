"""Wanted minus actual: the actions that turn the present layout into the planned one."""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Ints
from tenuto.model.plan import Action, ActionKind
from tenuto.model.snapshot import Snapshot


def diff(snap: Snapshot, granted: Ints, layout: Ints) -> tuple[Action, ...]:
    """List what changes, job by job; slots are freed before they are taken."""
    changed = _changed(snap.number, snap.layout, layout)
    if len(changed) == 0:
        return ()
    actions = [
        _action(int(snap.number[row]), int(snap.held[row]), int(granted[row]), layout)
        for row in changed.tolist()
    ]
    actions.sort(key=lambda action: len(action.slots) - action.before)
    return tuple(actions)


def _action(number: int, before: int, after: int, layout: Ints) -> Action:
    slots = tuple(np.flatnonzero(layout == number).tolist()) if after else ()
    if before == 0:
        kind = ActionKind.START
    elif after == 0:
        kind = ActionKind.STOP
    else:
        kind = ActionKind.MOVE if before == after else ActionKind.RESIZE
    return Action(kind, number, before, slots)


@compiled
def _changed(number: Ints, before: Ints, after: Ints) -> Ints:
    """The rows whose slots differ between two layouts."""
    touched = np.zeros(len(number), dtype=np.bool_)
    for slot in range(len(after)):
        if before[slot] == after[slot]:
            continue
        for job in (before[slot], after[slot]):
            if job >= 0:
                row = np.searchsorted(number, job)
                if row < len(number) and number[row] == job:
                    touched[row] = True
    return np.flatnonzero(touched)
