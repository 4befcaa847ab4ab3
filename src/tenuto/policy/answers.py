"""What a policy hands back: sizes, answers to newcomers, and what it wants to remember."""

from __future__ import annotations

import numpy as np

from tenuto.model.columns import Flags, Floats, Ints, frozen
from tenuto.model.plan import Answer, Decision, Verdict, Why
from tenuto.model.reservations import Reservations, no_reservations
from tenuto.model.snapshot import Snapshot
from tenuto.policy.book import Book
from tenuto.policy.spare import Shares

NO_PROMISE_ASKED = Verdict(Answer.QUEUED, Why.NO_PROMISE_ASKED)
POLICY_GIVES_NONE = Verdict(Answer.QUEUED, Why.POLICY_GIVES_NONE)
TOO_LARGE = Verdict(Answer.UNSCHEDULABLE, Why.TOO_LARGE)


def hopeless_newcomers(snap: Snapshot) -> Flags:
    """Undecided rows whose smallest usable size exceeds the cluster."""
    if not snap.undecided.any():
        return snap.undecided
    within = snap.rate[:, snap.sizes <= snap.capacity]
    hopeless: Flags = (within.max(axis=1, initial=0.0) == 0.0) & snap.undecided
    return hopeless


def queue_all(snap: Snapshot) -> dict[int, Verdict]:
    """Answers of a policy that promises nothing: everybody may wait, except who can never run."""
    verdicts: dict[int, Verdict] = {}
    newcomers: Ints = np.flatnonzero(snap.undecided)
    if len(newcomers):
        hopeless = hopeless_newcomers(snap)
        for row in newcomers.tolist():
            if hopeless[row]:
                verdicts[row] = TOO_LARGE
            else:
                verdicts[row] = POLICY_GIVES_NONE if snap.deadline[row] < np.inf else NO_PROMISE_ASKED
    return verdicts


def askers(snap: Snapshot, hopeless: Flags) -> Ints:
    """The newcomers that want a promise and could ever run."""
    return np.flatnonzero(snap.undecided & np.isfinite(snap.deadline) & ~hopeless)


def remembered(snap: Snapshot) -> Reservations:
    """The reservations of the last round; none if another policy ruled until now."""
    return snap.memory if isinstance(snap.memory, Reservations) else no_reservations()


def decided(
    snap: Snapshot, shares: Shares, verdicts: dict[int, Verdict], memory: Reservations | None
) -> Decision:
    """Put a decision into slots."""
    slots = np.append(snap.sizes, 0)  # the level of nothing is -1
    return Decision(
        sizes=slots[shares.level],
        verdicts=verdicts,
        wake_at=shares.wake_at,
        memory=memory,
        reluctance=shares.reluctance,
        modest=slots[shares.modest],
    )


def book_of(memory: Reservations) -> Book:
    """Open the reservations for a round's work."""
    return Book(memory.offset, memory.parts, memory.end, memory.at, memory.size, len(memory.at))


def memory_of(snap: Snapshot, book: Book) -> Reservations:
    """Close the book: what is to be remembered of it."""
    rows = np.flatnonzero(book.parts)
    return Reservations(
        number=frozen(snap.number[rows]),
        offset=frozen(book.offset[rows]),
        parts=frozen(book.parts[rows]),
        end=frozen(book.end[rows]),
        at=frozen(book.at[: book.used]),
        size=frozen(book.size[: book.used]),
    )


def verdicts_of(
    snap: Snapshot, newcomers: Ints, earliest: Floats, hopeless: Flags, book: Book
) -> dict[int, Verdict]:
    """Answer every newcomer; `earliest` is `-inf` for those that were admitted."""
    verdicts: dict[int, Verdict] = {}
    for row in np.flatnonzero(snap.undecided).tolist():
        verdicts[row] = TOO_LARGE if hopeless[row] else NO_PROMISE_ASKED
    for row, soonest in zip(newcomers.tolist(), earliest.tolist(), strict=True):
        if soonest == -np.inf:
            verdicts[row] = Verdict(
                Answer.ADMITTED,
                Why.FITS,
                promised=float(snap.deadline[row]),
                expected=float(book.end[row]),
                share=int(book.size[book.offset[row] : book.offset[row] + book.parts[row]].max()),
            )
        else:
            verdicts[row] = Verdict(Answer.DECLINED, Why.DEADLINE_INFEASIBLE, earliest=soonest)
    return verdicts
