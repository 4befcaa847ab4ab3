"""What supervisors of a job's nodes tell each other: all that one of them knows, so that a lost word does no harm.

POST /api/peer/v1/crews   Word -> 204      Tenuto-Job: the job's id, quoted; bearer: the secret of this job (`keys`)

Those who follow tell the lead of their workers, the lead tells all of memberships. Each says where it listens, so one
that comes back elsewhere is found without anybody's help; and one whose session is new is told everything again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tenuto.engines.supervisor.crews.seats import Seat
from tenuto.wire.membership import Membership

PATH = "/api/peer/v1/crews"
MOST_BYTES = 8 << 20
JOB_HEADER = "Tenuto-Job"
"""The secret is checked before the body is read, so the job stands before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """About one job, from one node."""

    job: str
    node: str
    """Who speaks."""
    session: str
    number: int
    """Ascending within a session."""
    address: str
    """Where the speaker listens: `host:port`."""
    seats: Mapping[str, Seat]
    """The speaker's own workers. A stage began `since` seconds ago: clocks of two machines cannot be compared."""
    memberships: tuple[Membership, ...] = ()
    """Ascending: the newest that the speaker knows, and those before that somebody may be in."""
    evict: tuple[str, ...] = ()
    """Workers of the node that is spoken to that hang: they are to be killed."""


def for_others(seats: Mapping[str, Seat], now: float) -> dict[str, Seat]:
    """Seats as they are told; reading them is the same again."""
    return {worker: _turned(seat, now) for worker, seat in seats.items()}


def as_heard(word: Word, now: float) -> dict[str, Seat]:
    """Seats as they were told, by our own clock."""
    return {worker: _turned(seat, now) for worker, seat in word.seats.items()}


def _turned(seat: Seat, now: float) -> Seat:
    if seat.status is None:
        return seat
    return replace(seat, status=replace(seat.status, since=now - seat.status.since))
