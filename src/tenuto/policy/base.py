"""What a policy is, and what all policies share in reading a snapshot and answering newcomers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tenuto.model.columns import Flags, Ints
from tenuto.model.plan import Answer, Decision, Verdict, Why
from tenuto.model.snapshot import Snapshot
from tenuto.policy.book import Jobs
from tenuto.policy.share import Terms


@dataclass(frozen=True, slots=True)
class Policy:
    """A pure function from a snapshot to a decision, with the words people know it by."""

    name: str
    summary: str
    decide: Callable[[Snapshot], Decision]
    promises: bool
    """Whether it answers deadlines with a promise or a refusal."""
    aliases: tuple[str, ...] = ()


NO_PROMISE_ASKED = Verdict(Answer.QUEUED, Why.NO_PROMISE_ASKED)
POLICY_GIVES_NONE = Verdict(Answer.QUEUED, Why.POLICY_GIVES_NONE)
TOO_LARGE = Verdict(Answer.UNSCHEDULABLE, Why.TOO_LARGE)


def terms_of(snap: Snapshot) -> Terms:
    """The sizes and what reaching them costs."""
    return Terms(snap.sizes, snap.cost.start, snap.cost.rescale, snap.cost.move)


def jobs_of(snap: Snapshot) -> Jobs:
    """The columns that planning needs, with the margin added to the work of jobs with a deadline."""
    held = np.searchsorted(snap.sizes, snap.held)
    held[snap.held == 0] = -1
    todo = snap.left if snap.rules.margin == 0.0 else _with_margin(snap)
    return Jobs(
        snap.number, snap.deadline, todo, held, snap.ready_at, snap.changed_at, snap.rate, snap.useful
    )


def _with_margin(snap: Snapshot) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.where(np.isfinite(snap.deadline), snap.left * (1.0 + snap.rules.margin), snap.left)


def too_large(snap: Snapshot) -> Flags:
    """Rows whose smallest usable size exceeds the cluster."""
    fits: Flags = (snap.rate[:, snap.sizes <= snap.capacity] > 0.0).any(axis=1)
    return ~fits


def queue_all(snap: Snapshot) -> dict[int, Verdict]:
    """Answers of a policy that promises nothing: everybody may wait, except who can never run."""
    verdicts: dict[int, Verdict] = {}
    newcomers: Ints = np.flatnonzero(snap.undecided)
    if len(newcomers):
        hopeless = too_large(snap)
        for row in newcomers.tolist():
            if hopeless[row]:
                verdicts[row] = TOO_LARGE
            else:
                verdicts[row] = POLICY_GIVES_NONE if snap.deadline[row] < np.inf else NO_PROMISE_ASKED
    return verdicts
