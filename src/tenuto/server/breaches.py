"""Promises that a wish would break: refuse it, or note who forced it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tenuto.errors import Conflict
from tenuto.model.event import Event
from tenuto.model.phase import OPEN_PROMISES, PromiseState
from tenuto.server.scene import View
from tenuto.server.wishes import Asker
from tenuto.store.base import Tx
from tenuto.wire.quantities import rfc3339

if TYPE_CHECKING:
    from tenuto.forecast.changes import Breach

MOST_NAMED = 10


def foreseen(now: View, then: View) -> tuple[Breach, ...]:
    """The promises that hold as things are and would not hold then."""
    if not now.promised:
        return ()
    from tenuto.forecast.changes import breaches

    policy, other = now.rule.policy(), then.rule.policy()
    return breaches(now.scene(policy), then.scene(other), policy, other)


def refuse(broken: Sequence[Breach]) -> None:
    """Name the promises that would be broken, if there are any."""
    if not broken:
        return
    named = "; ".join(_told(breach) for breach in broken[:MOST_NAMED])
    more = f" and {len(broken) - MOST_NAMED} more" if len(broken) > MOST_NAMED else ""
    count = "a promise" if len(broken) == 1 else f"{len(broken)} promises"
    raise Conflict(
        f"this would break {count}: {named}{more}",
        code="would_break_promises",
        remedy="With --force (over the API: force) it is done all the same, and the breach is recorded with its cause",
        field="force",
    )


def _told(breach: Breach) -> str:
    instead = "no end in sight" if breach.expected is None else f"{rfc3339(breach.expected)} instead"
    return f"{breach.name} ({breach.job}) was promised {rfc3339(breach.promised)}, {instead}"


def note(tx: Tx, asker: Asker, broken: Sequence[Breach], cause: str) -> None:
    """Record on every promise that it is at risk, by whom and by what."""
    for breach in broken:
        job = tx.job(breach.job)
        if job is None or job.promise not in OPEN_PROMISES:
            continue
        reason = f"forced by {asker.user}: {cause}"
        tx.put_job(replace(job, promise=PromiseState.AT_RISK, breach=reason))
        tx.add_event(
            Event(
                kind="promise",
                at=asker.now,
                actor=asker.user,
                job=job.id,
                before=str(job.promise),
                after=str(PromiseState.AT_RISK),
                reason=reason,
                data={"promised": breach.promised, "expected": breach.expected},
            )
        )
