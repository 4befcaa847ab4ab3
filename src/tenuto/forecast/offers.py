"""What would make a refusal a yes: a later deadline, less work, or one promised job less.

Every offer is asked before it is made: the same round, with that one thing changed, would promise it now.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, inf

import numpy as np

from tenuto.forecast.ahead import FARTHEST, expected
from tenuto.forecast.memory import promised_numbers
from tenuto.forecast.picture import UNKNOWN_LEFT, Picture
from tenuto.forecast.rows import with_deadline, with_left, without
from tenuto.model.job import Offers
from tenuto.model.plan import Answer, Verdict, Why
from tenuto.model.snapshot import Snapshot
from tenuto.policy.base import Policy
from tenuto.rounds.round import run_round

CANDIDATES = 10
"""Jobs in the way that are tried, the largest first."""
TRIES = 13
"""Rounds that are spent on one offer."""
REFUSALS = frozenset({Why.DEADLINE_INFEASIBLE, Why.NO_ROOM_FOR_PROMISE})
"""To whom something can be offered."""
FAR = 3600.0
"""Seconds from which on a deadline is offered, and written, in whole minutes."""


@dataclass(frozen=True)
class Refusal:
    """A newcomer that gets no promise, and the round in which that was decided."""

    picture: Picture
    policy: Policy
    row: int
    verdict: Verdict

    @property
    def snapshot(self) -> Snapshot:
        """The picture of the round."""
        return self.picture.snapshot


def offers(refusal: Refusal) -> Offers:
    """All that can be offered; nothing to a job that this cluster cannot run or that asked for no promise."""
    if refusal.verdict.why not in REFUSALS:
        return Offers()
    return Offers(earliest=earliest(refusal), steps=fitting_work(refusal), in_the_way=in_the_way(refusal))


def earliest(refusal: Refusal) -> float | None:
    """The earliest deadline that can be promised now, in Unix seconds, rounded up to how it is written."""
    snap, row, epoch = refusal.snapshot, refusal.row, refusal.picture.epoch
    begin = refusal.verdict.earliest
    if begin is None:
        unhurried = with_deadline(snap, row, inf)
        begin = expected(unhurried, refusal.policy, [row]).get(row)
    if begin is None or begin - snap.now > FARTHEST:
        return None
    slack = 1e-2  # a promise ends a little before its deadline
    for _ in range(TRIES + 10):
        deadline = written_later(epoch + begin + slack, epoch + snap.now)
        if _admits(with_deadline(snap, row, deadline - epoch), refusal):
            return deadline
        slack = max(2.0 * slack, 1.0)
    return None


def fitting_work(refusal: Refusal) -> float | None:
    """The most steps that could be promised by the deadline that was asked for; None if there are none."""
    snap, row = refusal.snapshot, refusal.row
    whole = float(snap.left[row])
    if whole >= UNKNOWN_LEFT:
        return None
    best, low, high = None, 0.0, 1.0
    for _ in range(TRIES):
        part = (low + high) / 2.0
        steps = _rounded_down(whole * part)
        if steps > 0.0 and _admits(with_left(snap, row, steps), refusal):
            best, low = steps, part
        else:
            high = part
    return best


def in_the_way(refusal: Refusal) -> tuple[str, ...]:
    """Ids of promised jobs, each of which alone would make enough room by leaving; the largest first."""
    snap = refusal.snapshot
    promised = promised_numbers(snap.memory)
    rows = [row for row in range(len(snap)) if int(snap.number[row]) in promised and row != refusal.row]
    rows.sort(key=lambda row: (-_slot_seconds(snap, row), row))
    found = []
    for row in rows[:CANDIDATES]:
        moved = refusal.row - (row < refusal.row)
        if _admits(without(snap, row), refusal, moved):
            found.append(refusal.picture.jobs[row].id)
    return tuple(found)


def written_later(time: float, now: float) -> float:
    """The first moment from then on that is a whole minute, or a whole second if it is near."""
    unit = 60.0 if time - now >= FAR else 1.0
    return ceil(time / unit) * unit


def _admits(snap: Snapshot, refusal: Refusal, row: int | None = None) -> bool:
    row = refusal.row if row is None else row
    verdicts = run_round(snap, refusal.policy).verdicts
    return verdicts[int(snap.number[row])].answer is Answer.ADMITTED


def _slot_seconds(snap: Snapshot, row: int) -> float:
    """The least that a job still has to occupy."""
    able = snap.rate[row] > 0.0
    return float(np.min(snap.sizes[able] * snap.left[row] / snap.rate[row][able], initial=inf))


def _rounded_down(steps: float) -> float:
    """As a user would write it: whole steps, or hundredths of a few."""
    return float(floor(steps)) if steps >= 10.0 else floor(steps * 100.0) / 100.0
