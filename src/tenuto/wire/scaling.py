"""The scaling log: who changed which job's workers, when, why, from how many to how many."""

from __future__ import annotations

from tenuto.wire.replies import Answer


class ScalingOut(Answer):
    """One change of a job's workers, or of what a user has fixed them to."""

    id: int
    """The number of its event."""
    at: str
    job: str
    name: str
    """Of the job; empty if it was deleted."""
    change: str
    """`start`, `grow`, `shrink`, `move`, `stop`, or `pin` and `unpin` for what a user wished."""
    by: str
    """`user`, `policy`, `failure`, or `platform` for what is done beside the policy."""
    who: str
    """As in events: a user, `policy:NAME` or `controller`."""
    before: str
    """Where its workers were (`node-0:2,node-1:1`), or the size that was wished before."""
    after: str
    workers_before: int | None
    """How many; null for a wish."""
    workers_after: int | None
    reason: str


class ScalingLogOut(Answer):
    """One page, newest first; `next` is the cursor of older ones, null at the end."""

    items: list[ScalingOut]
    next: str | None
