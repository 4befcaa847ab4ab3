"""Judges that know no policy: they recount what a round planned, slot by slot."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, is_dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from tenuto.model.plan import ActionKind, Round
from tenuto.model.snapshot import IDLE, UNUSABLE, Snapshot


def assert_possible(snap: Snapshot, result: Round) -> None:
    """Recount a plan from its layout alone."""
    layout = result.plan.layout.tolist()
    assert len(layout) == snap.cluster.total
    assert [slot == UNUSABLE for slot in layout] == [slot == UNUSABLE for slot in snap.layout.tolist()]
    taken = Counter(job for job in layout if job not in (IDLE, UNUSABLE))
    assert taken.keys() <= set(snap.number.tolist())
    sizes = snap.sizes.tolist()
    for row, number in enumerate(snap.number.tolist()):
        if number in taken:
            assert taken[number] in sizes
            assert snap.rate[row, sizes.index(taken[number])] > 0.0


def assert_actions_lead_to_the_plan(snap: Snapshot, result: Round) -> None:
    """Carry the actions out slot by slot."""
    owned = {number: set(np.flatnonzero(snap.layout == number).tolist()) for number in snap.number.tolist()}
    planned = {
        number: set(np.flatnonzero(result.plan.layout == number).tolist()) for number in snap.number.tolist()
    }
    assert len({action.number for action in result.actions}) == len(result.actions)
    for action in result.actions:
        before, after = owned[action.number], set(action.slots)
        assert action.before == len(before)
        assert before != after
        assert action.kind is kind_of(len(before), len(after))
        owned[action.number] = after
        assert sum(map(len, owned.values())) <= snap.capacity
    assert owned == planned
    growth = [len(action.slots) - action.before for action in result.actions]
    assert all(earlier <= later for earlier, later in pairwise(growth))


def kind_of(before: int, after: int) -> ActionKind:
    if before == 0 or after == 0:
        return ActionKind.START if before == 0 else ActionKind.STOP
    return ActionKind.MOVE if before == after else ActionKind.RESIZE


def as_plain(value: Any) -> Any:
    """A value with columns in it, as something that can be compared."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if is_dataclass(value) and not isinstance(value, type):
        return type(value).__name__, [as_plain(getattr(value, field.name)) for field in fields(value)]
    if isinstance(value, dict):
        return {key: as_plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple):
        return [as_plain(inner) for inner in value]
    return value
