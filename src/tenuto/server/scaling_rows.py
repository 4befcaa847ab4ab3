"""Which events are changes of a job's workers, and what they tell. Pure."""

from __future__ import annotations

from enum import StrEnum

from tenuto.model.event import Event
from tenuto.model.phase import ENDED, PLACED, Phase
from tenuto.wire.quantities import rfc3339
from tenuto.wire.scaling import ScalingOut

SCALED, PINNED, PHASE = "scaled", "pinned", "phase"
KINDS = (SCALED, PINNED, PHASE)
"""Kinds of events among which they are found."""
_UNPINNED = "auto"
_POLICY = "policy:"
_CONTROLLER = "controller"
_FAILURES = frozenset({"workers_lost", "slots_gone", "worker_failed", "out_of_memory"})
_BY_USERS = frozenset({"node_draining", "node_removed", "paused", "shutting_down"})
"""What the controller does because somebody wished for it."""
_PLACED = frozenset(map(str, PLACED))
_WAITING = frozenset(str(phase) for phase in Phase if phase not in PLACED | ENDED)


class By(StrEnum):
    """Who is behind a change."""

    USER = "user"
    POLICY = "policy"
    FAILURE = "failure"
    PLATFORM = "platform"


def is_change(event: Event) -> bool:
    """Whether an event of these kinds is one: of phases only the loss of all workers, which the job's end is not."""
    return event.kind in (SCALED, PINNED) or (event.before in _PLACED and event.after in _WAITING)


def cause_of(event: Event) -> By:
    """Who is behind it."""
    why = event.data.get("why")
    if why in _FAILURES:
        return By.FAILURE
    if event.actor.startswith(_POLICY):
        return By.POLICY
    return By.PLATFORM if event.actor == _CONTROLLER and why not in _BY_USERS else By.USER


def row_of(event: Event, name: str, held: str) -> ScalingOut:
    """What is told of a change; `held` is where the job's workers were, if the event does not tell."""
    before, after = (held, "") if event.kind == PHASE else (event.before, event.after)
    wish = event.kind == PINNED
    return ScalingOut(
        id=event.id,
        at=rfc3339(event.at),
        job=event.job,
        name=name,
        change=_wish(after) if wish else _change(workers_in(before), workers_in(after)),
        by=str(cause_of(event)),
        who=event.actor,
        before=before,
        after=after,
        workers_before=None if wish else workers_in(before),
        workers_after=None if wish else workers_in(after),
        reason=event.reason,
    )


def has_text(row: ScalingOut, folded: str) -> bool:
    """Whether a text, in the form in which names are compared, is part of what is told."""
    told = (row.name, row.job, row.who, row.reason, row.before, row.after, row.change)
    return any(folded in part.casefold() for part in told)


def workers_in(allocation: str) -> int:
    """How many workers `node-0:1,node-1:2` are."""
    counts = (part.rpartition(":")[2] for part in allocation.split(",") if part)
    return sum(int(count) for count in counts if count.isdigit())


def _wish(after: str) -> str:
    return "unpin" if after == _UNPINNED else "pin"


def _change(before: int, after: int) -> str:
    if not before:
        return "start"
    if not after:
        return "stop"
    return "move" if before == after else "grow" if before < after else "shrink"
