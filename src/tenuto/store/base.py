"""The port to the store: transactions as functions.

`store.write(act)` runs `act(tx)` alone, all or nothing, and returns when the result is durable; acts that wait at
the same time share one commit (group commit), and one that raises undoes only itself. `store.read(look)` shows
one consistent state. An act may be run again after a conflict, so it has no effect but through `tx`.

Every write transaction has a revision, one higher than the last that changed anything; each record that it
writes carries it. So "what is new since revision r" is a cheap question, and "has this job changed since I saw
it" is a comparison of two numbers.

What the platform does with transactions (add a job, commit a round, claim leadership) is written once, over
this port, in the modules beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from tenuto.errors import Told
from tenuto.model.event import Event
from tenuto.model.job import Job
from tenuto.model.node import Node
from tenuto.model.phase import Phase

T = TypeVar("T")


class StoreUnavailable(Told):
    """The store cannot take writes now (disk full, read-only, database away). Nothing was changed; try again."""

    code = "store_unavailable"
    exit_code = 75
    http_status = 503


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One start of a worker, kept for ever: where it ran, how it ended."""

    job: str
    generation: int
    role: str
    rank: int
    node: str
    slot: int | None = None
    pid: int | None = None
    started_at: float | None = None
    ended_at: float | None = None
    exit_code: int | None = None
    reason: str = ""
    message: str = ""
    joined: int = 0
    """The generation that it has joined last, if its job rescales in place."""
    stage: str = ""
    """Where it stood when somebody last looked, if its job rescales in place: `starting`, `ready`, `training` …"""


class JobOrder(StrEnum):
    """By what jobs are sorted. Jobs that are equal in it stand newest first, those without a value last."""

    SUBMITTED = "submitted"
    NAME = "name"
    """Whatever its case; by code points."""
    OWNER = "owner"
    STATE = "state"
    """As `model.phase.STANDING` has it."""
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobQuery:
    """Which jobs to list, newest first if nothing is said. Names are compared whatever their Unicode form."""

    phases: frozenset[Phase] = frozenset()
    """Any, if empty."""
    owner: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    """Exactly this name."""
    text: str = ""
    """Part of the name or the beginning of the id, whatever the case."""
    before: int | None = None
    """Only numbers below this: the cursor."""
    order: JobOrder = JobOrder.SUBMITTED
    descending: bool = True
    skip: int = 0
    """Leave out so many of the first."""
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class EventQuery:
    """Which events to list, oldest first."""

    job: str = ""
    node: str = ""
    kind: str = ""
    after: int = 0
    """Only ids above this: the cursor."""
    before: int | None = None
    """Only ids below this: the cursor of whoever reads from the newest on."""
    limit: int = 100
    last: bool = False
    """The newest `limit` events instead of the oldest; still oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A secret that authenticates a user or a node. Only a digest of the secret is kept."""

    digest: str
    """SHA-256 of the secret, in hex: secrets are 256 random bits, so a slow hash would add nothing."""
    user: str
    kind: str = "user"
    """`user`; `join` for the secret with which nodes join; `node` for the credential of one node."""
    created_at: float = 0.0
    name: str = ""
    """A label that its owner chose."""
    node: str = ""
    """The only node that a credential speaks for."""
    used_at: float | None = None
    """About when it was last used; written at most once an hour."""
    revoked_at: float | None = None
    expires_at: float | None = None
    approved: bool = True
    """False for the credential of a node that waits for an operator's approval."""
    rotate: bool = False
    """Whether the node is to replace this credential as soon as it can."""
    replaces: str = ""
    """The digest of the credential that ends when this one is first used; empty afterwards."""
    released: bool = False
    """Whether its node was removed: it then only tells the supervisor to leave, and the name is free."""

    @property
    def id(self) -> str:
        """A short public name, for lists and for revoking."""
        return self.digest[:12]

    def is_live(self, now: float) -> bool:
        """Whether it was neither revoked nor has expired at this moment (Unix seconds)."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSession:
    """A browser that is logged in. Removing it logs the browser out, whatever cookie was copied from it."""

    id: str
    token: str
    """The digest of the token with which it was opened."""
    until: float
    """Unix seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyed:
    """What a request with an idempotency key led to, so that its repetition gets the same answer."""

    key: str
    """The owner's name and the key."""
    fingerprint: str
    """Of the request: the same key with another request is an error."""
    result: str
    """The id of the job that was made."""
    at: float


class Tx(Protocol):
    """One transaction. Reads see its own writes."""

    @property
    def revision(self) -> int:
        """What the records written here carry; in a read, the revision of the state shown."""
        ...

    # jobs
    def job(self, id: str) -> Job | None:  # noqa: A002
        """The job with this id; None if there is none."""
        ...

    def unreadable_job(self, id: str) -> str | None:  # noqa: A002
        """Why the record of the job with this id cannot be read; None if it can, or if there is no such job.

        Every other method passes over records that cannot be read, as if they were not there (see `quarantine`);
        `remove_job` removes them.
        """
        ...

    def jobs(self, query: JobQuery) -> list[Job]:
        """The jobs that the query means, in its order, at most `query.limit`."""
        ...

    def count_meant(self, query: JobQuery) -> int:
        """How many jobs the query means, were there neither `skip` nor `limit`."""
        ...

    def count_jobs(self) -> Mapping[Phase, int]:
        """How many jobs are in each phase, those included that cannot be read; every phase is there."""
        ...

    def live_jobs(self) -> list[Job]:
        """All jobs that have not ended, by number."""
        ...

    def jobs_since(self, revision: int) -> list[Job]:
        """The jobs written after that revision, ended ones too, by number."""
        ...

    def ended_jobs(self, after: tuple[float, int], limit: int, *, last: bool = False) -> list[Job]:
        """The jobs that ended later than that moment, or then with a higher number; in this order, at most so many.

        These are the first of them, or with `last` the last ones.
        """
        ...

    def successors(self, id: str) -> list[Job]:  # noqa: A002
        """The jobs whose `spec.after` names this one."""
        ...

    def add_job(self, job: Job) -> Job:
        """Store a new job; its `number` and `revision` are given here.

        Raises ValueError if the id is taken, InputInvalid if `params` could not be read back.
        """
        ...

    def put_job(self, job: Job) -> Job:
        """Replace the record; its `revision` is given here. Raises KeyError if there is none."""
        ...

    def remove_job(self, id: str) -> None:  # noqa: A002
        """Forget a job and its attempts; its events stay. No harm if there is none."""
        ...

    def removed_since(self, revision: int) -> list[str]:
        """The ids of jobs removed after that revision."""
        ...

    # attempts
    def attempts(self, job: str) -> list[Attempt]:
        """All attempts of a job, by generation, role and rank."""
        ...

    def put_attempt(self, attempt: Attempt) -> None:
        """Add it, or replace the one of the same job, generation, role and rank."""
        ...

    # nodes
    def node(self, name: str) -> Node | None:
        """The node of this name; None if there is none."""
        ...

    def unreadable_node(self, name: str) -> str | None:
        """Why the record of the node of this name cannot be read; None if it can, or if there is no such node."""
        ...

    def nodes(self) -> list[Node]:
        """All nodes, by number."""
        ...

    def put_node(self, node: Node) -> Node:
        """Add or replace; a new one gets the next number. `revision` is given here."""
        ...

    def remove_node(self, name: str) -> None:
        """Forget a node; its number is not given again. No harm if there is none."""
        ...

    # events
    def add_event(self, event: Event) -> Event:
        """Append; `id` is given here, ascending without gaps. Raises InputInvalid if `data` could not be read back."""
        ...

    def events(self, query: EventQuery) -> list[Event]:
        """The events that the query means, oldest first, at most `query.limit`."""
        ...

    def oldest_event(self) -> int:
        """The id of the oldest event that is kept; if there is none, the id that the next one gets."""
        ...

    def count_events(self) -> Mapping[str, int]:
        """How many events are kept of each job; those without a job are counted under the empty name."""
        ...

    def remove_events(self, before: int, limit: int, *, job: str | None = None) -> int:
        """Remove the oldest events with an id below `before`, at most `limit`; returns how many were removed.

        With `job` only events of that job. The newest event of the store always stays, so that cursors keep their
        meaning. Ids are never given again.
        """
        ...

    # everything else
    def meta(self, key: str) -> Any:
        """A JSON value by name; None if there is none, or if it cannot be read."""
        ...

    def set_meta(self, key: str, value: Any) -> None:
        """Keep a JSON value under a name; the value that is there already changes nothing, None forgets it."""
        ...

    def token(self, digest: str) -> Token | None:
        """Whose secret has this digest; None if it is not known here."""
        ...

    def tokens(self) -> list[Token]:
        """All tokens, oldest first."""
        ...

    def add_token(self, token: Token) -> None:
        """Add a token; replaces the one of the same digest."""
        ...

    def remove_token(self, digest: str) -> None:
        """Remove a token and its page sessions. No harm if there is none."""
        ...

    def page_session(self, id: str) -> PageSession | None:  # noqa: A002
        """The session with this id; None if it has ended or never was."""
        ...

    def add_page_session(self, session: PageSession) -> None:
        """Add a session; replaces the one of the same id."""
        ...

    def end_page_sessions(self, *, id: str = "", token: str = "", until: float = 0.0) -> None:  # noqa: A002
        """End the session of this id, those opened with this token, and those whose time ended by `until`."""
        ...

    def keyed(self, key: str) -> Keyed | None:
        """What the request with this idempotency key led to; None if it is new."""
        ...

    def remember_key(self, keyed: Keyed) -> None:
        """Remember what a request led to; replaces what was known of the same key."""
        ...

    def old_keys(self, before: float, limit: int) -> list[str]:
        """Idempotency keys that were remembered before that moment, at most so many, in no order.

        Looks through all keys, so it belongs into a read, which keeps no writer waiting.
        """
        ...

    def remove_keys(self, keys: Sequence[str], before: float) -> int:
        """Forget those of these keys that were remembered before that moment; returns how many."""
        ...


class Store(Protocol):
    """Where everything is remembered. Safe to call from any thread."""

    def read(self, look: Callable[[Tx], T]) -> T:
        """Show one consistent state to `look`."""
        ...

    def write(self, act: Callable[[Tx], T]) -> T:
        """Run `act` alone; return its result when it is durable. Raises StoreUnavailable, or what `act` raises."""
        ...

    def begin(self, act: Callable[[Tx], T]) -> Future[T]:
        """Hand `act` over without waiting: the future has its result, or what it raised, when it is durable."""
        ...

    def revision(self) -> int:
        """The revision of the last change."""
        ...

    def listen(self, ring: Callable[[int], None]) -> Callable[[], None]:
        """Call `ring(revision)` after each commit, from whatever thread; returns what ends it.

        A store that other processes write to finds out about their commits within 200 ms.
        """
        ...

    def close(self) -> None:
        """Finish the acts that wait, then let go of everything. Later calls raise StoreUnavailable."""
        ...
