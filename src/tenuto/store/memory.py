"""A store that forgets everything with its process: for tests, and as the plainest reading of the port.

One lock makes acts and looks run alone. Each change leaves a note of how to undo it; an act that raises is
undone from its notes.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from tenuto.model.event import Event
from tenuto.model.job import Job
from tenuto.model.node import Node
from tenuto.model.phase import ENDED, Phase
from tenuto.store.base import Attempt, EventQuery, JobQuery, Keyed, PageSession, StoreUnavailable, Token, Tx
from tenuto.store.bell import Bell
from tenuto.store.codec import EVENT, JOB, decode_meta, encode_meta
from tenuto.store.matching import in_order, means_event, means_job

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
AttemptKey = tuple[str, int, str, int]


@dataclass(slots=True)
class _State:
    """Everything that is remembered."""

    revision: int = 0
    jobs_made: int = 0
    nodes_made: int = 0
    events_made: int = 0
    jobs: dict[str, Job] = field(default_factory=dict)
    removed: dict[str, int] = field(default_factory=dict)
    attempts: dict[AttemptKey, Attempt] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    meta: dict[str, str] = field(default_factory=dict)
    """As JSON text, so that nobody changes a value behind the store's back."""
    tokens: dict[str, Token] = field(default_factory=dict)
    keys: dict[str, Keyed] = field(default_factory=dict)
    page_sessions: dict[str, PageSession] = field(default_factory=dict)


class MemoryTx:
    """One transaction on a state that nobody else touches meanwhile."""

    def __init__(self, state: _State, *, may_write: bool) -> None:
        self._state = state
        self._may_write = may_write
        self._counters = (state.revision, state.jobs_made, state.nodes_made, state.events_made)
        self._undo: list[Callable[[], None]] = []

    @property
    def revision(self) -> int:
        return self._counters[0] + self._may_write

    def undo(self) -> None:
        """Take back everything that was changed here."""
        for step in reversed(self._undo):
            step()
        state = self._state
        state.revision, state.jobs_made, state.nodes_made, state.events_made = self._counters

    def _changed(self, undo: Callable[[], None]) -> None:
        if not self._may_write:
            raise RuntimeError("a look may not change the store")
        self._undo.append(undo)
        self._state.revision = self.revision

    def _put(self, table: dict[K, V], key: K, value: V) -> None:
        if key in table:
            before = table[key]
            self._changed(lambda: table.__setitem__(key, before))
        else:
            self._changed(lambda: table.__delitem__(key))
        table[key] = value

    def _drop(self, table: dict[K, V], key: K) -> None:
        before = table[key]
        self._changed(lambda: table.__setitem__(key, before))
        del table[key]

    # jobs

    def job(self, id: str) -> Job | None:  # noqa: A002
        return self._state.jobs.get(id)

    def unreadable_job(self, id: str) -> str | None:  # noqa: A002, ARG002 - values are kept, not their text
        return None

    def jobs(self, query: JobQuery) -> list[Job]:
        meant = [job for job in self._state.jobs.values() if means_job(query, job)]
        return in_order(query, meant)[query.skip : query.skip + query.limit]

    def count_meant(self, query: JobQuery) -> int:
        return sum(means_job(query, job) for job in self._state.jobs.values())

    def count_jobs(self) -> Mapping[Phase, int]:
        counts = dict.fromkeys(Phase, 0)
        for job in self._state.jobs.values():
            counts[job.phase] += 1
        return counts

    def live_jobs(self) -> list[Job]:
        return _by_number(job for job in self._state.jobs.values() if job.phase not in ENDED)

    def jobs_since(self, revision: int) -> list[Job]:
        return _by_number(job for job in self._state.jobs.values() if job.revision > revision)

    def ended_jobs(self, after: tuple[float, int], limit: int, *, last: bool = False) -> list[Job]:
        ended = (job for job in self._state.jobs.values() if job.phase in ENDED)
        found = {(job.ended_at, job.number): job for job in ended if job.ended_at is not None}
        meant = sorted(key for key in found if key > after)
        first = max(0, len(meant) - limit) if last else 0
        return [found[key] for key in meant[first : first + limit]]

    def successors(self, id: str) -> list[Job]:  # noqa: A002
        return _by_number(
            job
            for job in self._state.jobs.values()
            if job.spec.after is not None and job.spec.after.job == id
        )

    def add_job(self, job: Job) -> Job:
        if job.id in self._state.jobs:
            raise ValueError(f"there is a job {job.id} already")
        JOB.check(job)
        stored = replace(job, number=self._state.jobs_made + 1, revision=self.revision)
        self._put(self._state.jobs, job.id, stored)
        self._state.jobs_made += 1
        return stored

    def put_job(self, job: Job) -> Job:
        JOB.check(job)
        stored = replace(job, number=self._state.jobs[job.id].number, revision=self.revision)
        self._put(self._state.jobs, job.id, stored)
        return stored

    def remove_job(self, id: str) -> None:  # noqa: A002
        if id not in self._state.jobs:
            return
        self._drop(self._state.jobs, id)
        for attempt in self.attempts(id):
            self._drop(self._state.attempts, _attempt_key(attempt))
        self._put(self._state.removed, id, self.revision)

    def removed_since(self, revision: int) -> list[str]:
        return [id for id, removed_at in self._state.removed.items() if removed_at > revision]  # noqa: A001

    # attempts

    def attempts(self, job: str) -> list[Attempt]:
        return sorted((a for a in self._state.attempts.values() if a.job == job), key=_attempt_key)

    def put_attempt(self, attempt: Attempt) -> None:
        self._put(self._state.attempts, _attempt_key(attempt), attempt)

    # nodes

    def node(self, name: str) -> Node | None:
        return self._state.nodes.get(name)

    def unreadable_node(self, name: str) -> str | None:  # noqa: ARG002
        return None

    def nodes(self) -> list[Node]:
        return sorted(self._state.nodes.values(), key=lambda node: node.number)

    def put_node(self, node: Node) -> Node:
        known = self._state.nodes.get(node.name)
        number = self._state.nodes_made + 1 if known is None else known.number
        stored = replace(node, number=number, revision=self.revision)
        self._put(self._state.nodes, node.name, stored)
        self._state.nodes_made += known is None
        return stored

    def remove_node(self, name: str) -> None:
        if name in self._state.nodes:
            self._drop(self._state.nodes, name)

    # events

    def add_event(self, event: Event) -> Event:
        EVENT.check(event)
        stored = replace(event, id=self._state.events_made + 1)
        self._changed(lambda: self._state.events.__delitem__(-1))
        self._state.events.append(stored)
        self._state.events_made += 1
        return stored

    def events(self, query: EventQuery) -> list[Event]:
        meant = [event for event in self._state.events if means_event(query, event)]
        first = max(0, len(meant) - query.limit) if query.last else 0
        return meant[first : first + query.limit]

    def oldest_event(self) -> int:
        events = self._state.events
        return events[0].id if events else self._state.events_made + 1

    def count_events(self) -> Mapping[str, int]:
        return Counter(event.job for event in self._state.events)

    def remove_events(self, before: int, limit: int, *, job: str | None = None) -> int:
        events = self._state.events
        below = min(before, self._state.events_made)
        old = [event.id for event in events if event.id < below and job in (None, event.job)][:limit]
        if old:
            gone = frozenset(old)
            self._changed(lambda: setattr(self._state, "events", events))
            self._state.events = [event for event in events if event.id not in gone]
        return len(old)

    # everything else

    def meta(self, key: str) -> Any:
        text = self._state.meta.get(key)
        return None if text is None else decode_meta(text)

    def set_meta(self, key: str, value: Any) -> None:
        text = None if value is None else encode_meta(value)
        if text == self._state.meta.get(key):
            return
        if text is None:
            self._drop(self._state.meta, key)
        else:
            self._put(self._state.meta, key, text)

    def token(self, digest: str) -> Token | None:
        return self._state.tokens.get(digest)

    def tokens(self) -> list[Token]:
        return sorted(self._state.tokens.values(), key=lambda token: (token.created_at, token.digest))

    def add_token(self, token: Token) -> None:
        self._put(self._state.tokens, token.digest, token)

    def remove_token(self, digest: str) -> None:
        if digest in self._state.tokens:
            self._drop(self._state.tokens, digest)
            self.end_page_sessions(token=digest)

    def page_session(self, id: str) -> PageSession | None:  # noqa: A002
        return self._state.page_sessions.get(id)

    def add_page_session(self, session: PageSession) -> None:
        self._put(self._state.page_sessions, session.id, session)

    def end_page_sessions(self, *, id: str = "", token: str = "", until: float = 0.0) -> None:  # noqa: A002
        for session in list(self._state.page_sessions.values()):
            if session.id == id or session.token == token or session.until <= until:
                self._drop(self._state.page_sessions, session.id)

    def keyed(self, key: str) -> Keyed | None:
        return self._state.keys.get(key)

    def remember_key(self, keyed: Keyed) -> None:
        self._put(self._state.keys, keyed.key, keyed)

    def old_keys(self, before: float, limit: int) -> list[str]:
        return [keyed.key for keyed in self._state.keys.values() if keyed.at < before][:limit]

    def remove_keys(self, keys: Sequence[str], before: float) -> int:
        known = self._state.keys
        old = [key for key in keys if key in known and known[key].at < before]
        for key in old:
            self._drop(known, key)
        return len(old)


class MemoryStore:
    """Everything in dictionaries, behind one lock."""

    def __init__(self) -> None:
        self._state = _State()
        self._lock = threading.Lock()
        self._holder: int | None = None
        self._bell = Bell()
        self._closed = False

    def read(self, look: Callable[[Tx], T]) -> T:
        """Show one consistent state to `look`."""
        with self._alone():
            return look(MemoryTx(self._state, may_write=False))

    def write(self, act: Callable[[Tx], T]) -> T:
        """Run `act` alone; all or nothing."""
        with self._alone():
            before = self._state.revision
            tx = MemoryTx(self._state, may_write=True)
            try:
                result = act(tx)
            except BaseException:
                tx.undo()
                raise
            after = self._state.revision
        if after > before:
            self._bell.ring(after)
        return result

    def begin(self, act: Callable[[Tx], T]) -> Future[T]:
        """Run `act` alone; it is done already when this returns."""
        done: Future[T] = Future()
        try:
            done.set_result(self.write(act))
        except Exception as error:  # noqa: BLE001  the one who waits gets it
            done.set_exception(error)
        return done

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if self._holder == threading.get_ident():
            raise RuntimeError("an act may not begin another one")
        with self._lock:
            if self._closed:
                raise StoreUnavailable("The store is closed")
            self._holder = threading.get_ident()
            try:
                yield
            finally:
                self._holder = None

    def revision(self) -> int:
        """The revision of the last change."""
        return self.read(lambda tx: tx.revision)

    def listen(self, ring: Callable[[int], None]) -> Callable[[], None]:
        """Call `ring(revision)` after each commit; returns what ends it."""
        return self._bell.hang(ring)

    def close(self) -> None:
        """Refuse everything from now on."""
        with self._lock:
            self._closed = True


def _by_number(jobs: Iterable[Job]) -> list[Job]:
    return sorted(jobs, key=lambda job: job.number)


def _attempt_key(attempt: Attempt) -> AttemptKey:
    return attempt.job, attempt.generation, attempt.role, attempt.rank
