"""The states of a job and the steps between them: one table, from which the diagram in the docs is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Phase(StrEnum):
    """Where a job is on its way. Whether its promise holds is a separate matter (`PromiseState`)."""

    SUBMITTED = "submitted"
    """Accepted and stored; no round has answered yet."""
    HELD = "held"
    """Waits for another job (`after`)."""
    QUEUED = "queued"
    """Answered, and waits for slots."""
    STARTING = "starting"
    """Has slots; not all of its workers run yet."""
    RUNNING = "running"
    RESCALING = "rescaling"
    """Its workers are being exchanged for those of the next generation."""
    PAUSED = "paused"
    DECLINED = "declined"
    """Its deadline cannot be promised."""
    UNSCHEDULABLE = "unschedulable"
    """No size it can run at fits the cluster as it is; asked again when the cluster grows."""
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"
    """Its workers vanished with their node, and it may not be started again."""


P = Phase
_ANY_END = frozenset({P.SUCCEEDED, P.FAILED, P.CANCELLED, P.LOST})

NEXT: Mapping[Phase, frozenset[Phase]] = {
    P.SUBMITTED: frozenset(
        {P.HELD, P.QUEUED, P.STARTING, P.PAUSED, P.DECLINED, P.UNSCHEDULABLE, P.FAILED, P.CANCELLED}
    ),
    P.HELD: frozenset({P.SUBMITTED, P.PAUSED, P.FAILED, P.CANCELLED}),
    P.QUEUED: frozenset({P.SUBMITTED, P.STARTING, P.PAUSED, P.DECLINED, P.UNSCHEDULABLE}) | _ANY_END,
    P.STARTING: frozenset({P.RUNNING, P.RESCALING, P.QUEUED, P.PAUSED, P.DECLINED}) | _ANY_END,
    P.RUNNING: frozenset({P.RESCALING, P.STARTING, P.QUEUED, P.PAUSED, P.DECLINED}) | _ANY_END,
    P.RESCALING: frozenset({P.STARTING, P.RUNNING, P.QUEUED, P.PAUSED, P.DECLINED}) | _ANY_END,
    P.PAUSED: frozenset({P.SUBMITTED, P.CANCELLED}),
    P.UNSCHEDULABLE: frozenset({P.SUBMITTED, P.PAUSED, P.CANCELLED}),
    P.DECLINED: frozenset(),
    P.SUCCEEDED: frozenset(),
    P.FAILED: frozenset(),
    P.CANCELLED: frozenset(),
    P.LOST: frozenset(),
}
"""Where a job may go from each phase."""

ENDED = frozenset(phase for phase, following in NEXT.items() if not following)
"""The phases that are left no more."""
PLACED = frozenset({P.STARTING, P.RUNNING, P.RESCALING})
"""The phases in which a job holds slots."""
PLANNED = frozenset({P.SUBMITTED, P.QUEUED}) | PLACED
"""The phases in which a round decides about a job."""

STANDING: Mapping[Phase, int] = {
    phase: rank
    for rank, phase in enumerate(
        (
            *(P.RUNNING, P.RESCALING, P.STARTING, P.QUEUED, P.SUBMITTED, P.HELD, P.PAUSED, P.UNSCHEDULABLE),
            *sorted(ENDED),
        )
    )
}
"""In which order lists that are sorted by state show jobs: what works first, what has ended last."""


class PromiseState(StrEnum):
    """What has become of a job's promise."""

    NONE = "none"
    """Nothing was promised."""
    HOLDS = "holds"
    AT_RISK = "at_risk"
    """As things stand the job will be late."""
    KEPT = "kept"
    BROKEN = "broken"
    WITHDRAWN = "withdrawn"
    """Its owner cancelled, paused or changed the job."""


OPEN_PROMISES = frozenset({PromiseState.HOLDS, PromiseState.AT_RISK})
"""Promises of which nobody knows yet what becomes of them."""
