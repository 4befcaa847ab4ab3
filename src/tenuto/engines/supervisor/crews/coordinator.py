"""Decides who trains together next, in a job that rescales in place. Pure: no clock, nothing outside.

It is asked again at every change and whenever it asked for it. Its answer depends on the situation alone, so whoever
leads after a crash decides the same. In words:

- a start waits until all wanted workers are ready; who died meanwhile is left out;
- a shrink waits for nobody, because the slots of newcomers may depend on it;
- a growth waits for the newcomers, and until the last generation has been formed;
- a move to other workers altogether is a growth and then a shrink; if the newcomers take too long, the old ones save
  a checkpoint and leave, and the newcomers start from it;
- a loss is answered at once, by those who are left;
- a job whose workers finish is left in peace; whoever is ready when the last of them has gone may look for itself
  that nothing is left to do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tenuto.engines.supervisor.crews.hung import hung
from tenuto.engines.supervisor.crews.seats import Situation
from tenuto.wire.membership import Member, Membership
from tenuto.wire.status import Stage

MOVE_PATIENCE = 30.0
"""Seconds for which those who are to leave go on training while all who shall follow them get ready."""
START_PATIENCE = 60.0
"""Seconds for which workers that are ready wait for the others before the first generation."""
GROW_PATIENCE = 10.0
"""Seconds for which newcomers that are ready wait for other newcomers, or for a generation that does not form."""
SETTLE = 0.3
"""Seconds after which a member that has lost its group is given a new one: if somebody died, that is known by then."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do now."""

    membership: Membership | None = None
    """To be made known; None if nothing changes."""
    evict: tuple[str, ...] = ()
    """Workers that hang and keep the others waiting: to be killed."""
    look_again_at: float = math.inf
    """When to ask again even if nothing happens."""


def coordinate(situation: Situation, now: float) -> Decision:
    """The next generation, if it is time for one."""
    last = situation.last
    if last is not None and _finishes(situation):
        return _finish(situation)
    if last is not None and not set(situation.missed()) <= set(last.lost):
        return _go_on_without(situation)
    if last is None or not situation.living(last.workers):
        return _start(situation, now)
    if not situation.wanted:
        return _publish(situation, (), "stop")
    decision = _change(situation, now)
    if decision.membership is not None:
        return decision
    suspects, look_again_at = hung(situation, now)
    return Decision(evict=suspects, look_again_at=min(look_again_at, decision.look_again_at))


def _start(situation: Situation, now: float) -> Decision:
    """Nobody trains: begin when all are ready, and when those before have saved what they know."""
    if situation.living(situation.members() - set(situation.wanted)):
        return Decision()
    arrived, look_again_at = _arrived(situation, _newcomers(situation), now, START_PATIENCE)
    if not arrived:
        return Decision(look_again_at=look_again_at)
    return _publish(situation, arrived, "start")


def _finishes(situation: Situation) -> bool:
    """Whether some have trained to the end, and others are about to."""
    members = situation.members()
    return any(map(situation.done, members)) and bool(situation.living(members))


def _finish(situation: Situation) -> Decision:
    """Some have trained to the end. If others lost their group in the last step, let them do it by themselves."""
    last = situation.last
    assert last is not None
    others = tuple(w for w in situation.living(last.workers) if not situation.done(w))
    lost = not set(situation.missed()) <= set(last.lost)
    return _publish(situation, others, "loss") if lost and others else Decision()


def _go_on_without(situation: Situation) -> Decision:
    """Somebody died: those go on who shall stay, or all that are left if none of these can."""
    last = situation.last
    assert last is not None
    left = situation.living(last.workers)
    if not situation.wanted or not left:
        return _publish(situation, (), "stop")
    staying = tuple(worker for worker in left if worker in situation.wanted)
    return _publish(situation, staying if _have_state(situation, staying) else left, "loss")


def _change(situation: Situation, now: float) -> Decision:
    """Bring the group nearer to what is wanted; everybody in it lives."""
    last = situation.last
    assert last is not None
    survivors = tuple(worker for worker in last.workers if worker in situation.wanted)
    if len(survivors) == len(last.workers):
        return _grow(situation, survivors, now)
    if _have_state(situation, survivors):
        return _publish(situation, survivors, "shrink")
    if survivors:
        return Decision()  # those who stay have just come: they need the state of those who leave
    return _move(situation, now)


def _grow(situation: Situation, survivors: tuple[str, ...], now: float) -> Decision:
    newcomers, waiting = _arrived(situation, _newcomers(situation), now, GROW_PATIENCE)
    formed, forming = _formed(situation, now)
    if newcomers and formed:
        return _publish(situation, (*survivors, *newcomers), "grow")
    again_at = _again_at(situation)
    if again_at <= now:
        assert situation.last is not None
        return _publish(situation, survivors, situation.last.why)
    return Decision(look_again_at=min(waiting, again_at, forming if newcomers else math.inf))


def _move(situation: Situation, now: float) -> Decision:
    """Nobody stays: take the newcomers in first, so that they get the state from memory."""
    last = situation.last
    assert last is not None
    free = tuple(
        w for w in _newcomers(situation) if w not in situation.seats or not situation.seats[w].blocked
    )
    newcomers, waiting = _arrived(situation, free, now, GROW_PATIENCE)
    formed, forming = _formed(situation, now)
    if newcomers and formed:
        return _publish(situation, (*last.workers, *newcomers), "grow")
    give_up = situation.ordered_at + MOVE_PATIENCE
    if give_up <= now and not newcomers:
        return _publish(situation, (), "stop")
    return Decision(look_again_at=forming if newcomers else min(waiting, give_up))


def _newcomers(situation: Situation) -> tuple[str, ...]:
    """Those who are wanted, may be there, and are not in the group."""
    last = situation.last
    group = () if last is None else situation.living(last.workers)
    return tuple(
        worker
        for worker in situation.living(situation.wanted)
        if worker not in group and not situation.done(worker)
    )


def _arrived(
    situation: Situation, newcomers: Sequence[str], now: float, patience: float
) -> tuple[tuple[str, ...], float]:
    """The newcomers, once all are ready or the first has waited long enough; and when that would be."""
    ready = tuple(w for w in newcomers if w in situation.seats and situation.seats[w].ready)
    if not ready:
        return (), math.inf
    waited_long_at = min(situation.seats[worker].since for worker in ready) + patience
    if len(ready) == len(newcomers) or waited_long_at <= now:
        return ready, math.inf
    return (), waited_long_at


def _have_state(situation: Situation, workers: Sequence[str]) -> bool:
    """Whether any of them has ever trained; of one that we know nothing of, we do not know otherwise."""
    return any(w not in situation.seats or situation.seats[w].generation > 0 for w in workers)


def _formed(situation: Situation, now: float) -> tuple[bool, float]:
    """Whether the newest generation trains, or takes so long that it is not waited for; and when it would."""
    published = situation.history[-1]
    last = published.membership
    seats = [situation.seats[w] for w in last.workers if w in situation.seats]
    if len(seats) == len(last.workers) and all(seat.generation >= last.generation for seat in seats):
        return True, math.inf
    enough_at = published.at + GROW_PATIENCE
    return enough_at <= now, enough_at


def _again_at(situation: Situation) -> float:
    """When a group that fell apart without a death is to meet anew: one of its members waits for a newer one."""
    published = situation.history[-1]
    waiting = [
        seat.since
        for worker in published.membership.workers
        if (seat := situation.seats.get(worker)) is not None
        and seat.stage is Stage.READY
        and seat.since > published.at
    ]
    return min(waiting, default=math.inf) + SETTLE


def _publish(situation: Situation, workers: Sequence[str], why: str) -> Decision:
    """A membership of these workers, newer than any that somebody has seen."""
    last = situation.last
    before = max([seat.generation for seat in situation.seats.values()], default=0)
    before = max(before, 0 if last is None else last.generation)
    membership = Membership(
        job=situation.order.job,
        generation=max(before + 1, situation.order.plan),
        members=tuple(_member(situation, worker) for worker in workers),
        why=why,
        lost=situation.missed(),
    )
    return Decision(membership)


def _member(situation: Situation, worker: str) -> Member:
    """Where a worker is reached: as its supervisor says, or as it was when it joined."""
    seat = situation.seats.get(worker)
    if seat is not None and seat.status is not None:
        return Member(worker=worker, node=seat.node, host=seat.host, port=seat.status.port)
    assert situation.last is not None
    return next(member for member in situation.last.members if member.worker == worker)
