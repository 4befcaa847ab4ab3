"""Who proposes does not approve: every plan is checked by code that knows no policy."""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.errors import PlanRefused
from tenuto.model.columns import Floats, Ints
from tenuto.model.plan import Decision
from tenuto.model.snapshot import UNUSABLE, Snapshot
from tenuto.rounds.bound import check_bound

FINE = -1


def check_decision(snap: Snapshot, decision: object, policy: str) -> None:
    """Refuse what does not answer the snapshot, before anything is made of it."""
    if not isinstance(decision, Decision):
        raise PlanRefused(f"{policy} returned {decision!r} and not a Decision")
    sizes = decision.sizes
    if not isinstance(sizes, np.ndarray) or sizes.dtype != np.int64 or sizes.shape != snap.number.shape:
        raise PlanRefused(f"{policy}: sizes is not a column of {len(snap)} whole numbers (int64)")
    given = int(sizes.sum())
    if given > snap.capacity:
        raise PlanRefused(f"{policy} gave {given} of {snap.capacity} slots")
    if sizes.min(initial=0) < 0:
        raise PlanRefused(f"{policy} gave {sizes.min()} slots to row {sizes.argmin()}")
    if not decision.wake_at > snap.now:
        raise PlanRefused(f"{policy} wants to be asked again at {decision.wake_at}, and it is {snap.now}")
    newcomers = np.flatnonzero(snap.undecided).tolist()
    if sorted(decision.verdicts) != newcomers:
        raise PlanRefused(f"{policy} answered rows {list(decision.verdicts)}, but {newcomers} are new")
    for row, verdict in decision.verdicts.items():
        if verdict.refused and sizes[row]:
            raise PlanRefused(f"{policy} refused row {row} and gave it {sizes[row]} slots")


def check(snap: Snapshot, decision: Decision, layout: Ints) -> Ints:
    """Refuse a layout that the cluster cannot hold. Returns the slots each row really has in it."""
    sizes = decision.sizes
    if sizes.shape != snap.number.shape or layout.shape != snap.layout.shape:
        raise PlanRefused("the plan is not about the jobs and slots of the snapshot")
    granted, stranger, off_curve = _granted(snap.number, snap.rate, snap.sizes, snap.layout, layout)
    if stranger != FINE:
        raise PlanRefused(f"slot {stranger}: given to a job that is not there, or on a node that is not")
    if off_curve != FINE:
        number, slots = int(snap.number[off_curve]), int(granted[off_curve])
        raise PlanRefused(f"job {number}: {slots} slots is no size of its curve")
    if snap.bound:
        check_bound(snap, layout)
    fine = (granted == sizes) | (granted == 0)
    if decision.modest is not None:
        fine |= granted == decision.modest
    if not fine.all():
        wrong = np.flatnonzero(~fine)
        row = int(wrong[0])
        raise PlanRefused(
            f"job {int(snap.number[row])}: placed on {granted[row]} slots, decided {sizes[row]}"
        )
    return granted


@compiled
def _granted(number: Ints, rate: Floats, sizes: Ints, before: Ints, layout: Ints) -> tuple[Ints, int, int]:
    """Count each row's slots; name the first slot and the first row at which something is wrong."""
    granted = np.zeros(len(number), dtype=np.int64)
    stranger, off_curve = FINE, FINE
    for slot in range(len(layout)):
        if (layout[slot] == UNUSABLE) != (before[slot] == UNUSABLE):
            stranger = slot
        if layout[slot] >= 0:
            row = np.searchsorted(number, layout[slot])
            if row == len(number) or number[row] != layout[slot]:
                stranger = slot
            else:
                granted[row] += 1
    for row in range(len(number)):
        known = granted[row] == 0
        for level in range(len(sizes)):
            if sizes[level] == granted[row] and rate[row, level] > 0.0:
                known = True
        if not known:
            off_curve = row
    return granted, stranger, off_curve
