"""Who keeps the others waiting. Pure.

In a step everybody waits for the slowest, so a worker that hangs shows itself: it alone computes (or does not even
look for its membership) while all others wait for it, or it waits on for somebody of whom it was told that he is lost.
How long that may last depends on what is usual for the job, and on what the process does: one that uses a core may
evaluate or save something, and is given more time.
"""

from __future__ import annotations

import math

from tenuto.engines.supervisor.crews.seats import Activity, Seat, Situation
from tenuto.wire.status import Stage

LEAST = 5.0
"""Seconds that a worker may always take."""
STEPS = 10.0
"""It may take so many times as long as a step usually does."""
FIRST = 30.0
"""Seconds that it may take if nobody knows what is usual."""
WORKING = 12.0
"""So many times as long may take a worker that visibly works at something."""
_WAITING = (Stage.MEETING, Stage.FORMING)


def hung(situation: Situation, now: float) -> tuple[tuple[str, ...], float]:
    """Those members that hang; and when others would be found to, if nothing happens."""
    published = situation.history[-1]
    crowd = _crowd(situation)
    if len(crowd) < 2 or not all(worker in crowd for worker in published.membership.workers):
        return (), math.inf
    deaf = {worker for worker, seat in crowd.items() if _is_deaf(situation, worker, seat)}
    late = {worker: seat for worker, seat in crowd.items() if worker in deaf or not _waits(seat)}
    if len(late) == len(crowd) != len(deaf):
        return (), math.inf  # nobody waits for them
    others_since = max((seat.since for worker, seat in crowd.items() if worker not in late), default=0.0)
    usual = [seat.step_seconds for seat in crowd.values() if seat.step_seconds is not None]
    patience = max(LEAST, STEPS * max(usual)) if usual else FIRST
    due = {
        worker: max(seat.since, published.at, others_since) + _patience(seat, patience)
        for worker, seat in late.items()
    }
    suspects = tuple(worker for worker, at in due.items() if at <= now)
    return suspects, min((at for at in due.values() if at > now), default=math.inf)


def _crowd(situation: Situation) -> dict[str, Seat]:
    """All who may wait for each other: the members, and whoever is still in a group with one of them."""
    members = situation.history[-1].membership.workers
    all_of = {
        worker for member in members for group in situation.possible(member) for worker in group.workers
    }
    return {
        worker: situation.seats[worker]
        for worker in situation.living(sorted(all_of))
        if worker in situation.seats and situation.seats[worker].stage is not Stage.LEAVING
    }


def _waits(seat: Seat) -> bool:
    """Whether it waits for others; one that somebody halted does not, whatever it did last."""
    return seat.stage in _WAITING and seat.activity is not Activity.HALTED


def _is_deaf(situation: Situation, worker: str, seat: Seat) -> bool:
    """Whether it waits in a group for somebody that it was told is lost."""
    newest = situation.history[-1].membership
    if (
        seat.stage is not Stage.MEETING
        or seat.generation >= newest.generation
        or worker not in newest.workers
    ):
        return False
    groups = [past.membership for past in situation.history if past.membership.generation == seat.generation]
    return any(set(group.workers) & set(newest.lost) for group in groups)


def _patience(seat: Seat, usual: float) -> float:
    if seat.activity is Activity.HALTED:
        return LEAST
    return usual * WORKING if seat.activity is Activity.BUSY else usual
