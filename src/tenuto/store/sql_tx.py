"""One transaction in SQL. Statements are in `statements`; here is what they are used for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

from sqlalchemy import Connection, Select, Table
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.elements import ClauseElement

from tenuto.model.event import Event
from tenuto.model.job import Job
from tenuto.model.node import Node
from tenuto.model.phase import Phase
from tenuto.store import statements as sql
from tenuto.store import tables
from tenuto.store.base import Attempt, EventQuery, JobQuery, Keyed, PageSession, Token
from tenuto.store.codec import (
    ATTEMPT,
    EVENT,
    JOB,
    NODE,
    decode_job,
    decode_meta,
    decode_node,
    encode_meta,
    job_row,
)
from tenuto.store.driver import Driver
from tenuto.store.quarantine import Quarantine, UnreadableRecord, forget, problem_in

T = TypeVar("T")
Row = Sequence[Any]
"""What names a record, and the record's text at the end."""
_UNREADABLE = (ValueError, TypeError, ArithmeticError, RecursionError)
_MOST_ATTEMPTS = 20
"""Queries for one page while rows turn out to be unreadable; then the page is shorter than it could be."""


@dataclass(slots=True)
class Counters:
    """The last number that was given of each kind."""

    revision: int
    jobs: int
    nodes: int
    events: int

    def take(self, other: Counters) -> None:
        """Become equal to the other."""
        self.revision, self.jobs, self.nodes, self.events = (
            other.revision,
            other.jobs,
            other.nodes,
            other.events,
        )


class SqlTx:
    """One transaction on a connection that is inside one already."""

    def __init__(
        self, connection: Connection, counters: Counters, quarantine: Quarantine, *, may_write: bool
    ) -> None:
        self._connection = connection
        self._quarantine = quarantine
        self._driver = Driver(connection)
        self._wording = sql.WORDINGS[connection.dialect.name]
        self._may_write = may_write
        self._revision = counters.revision + may_write
        self.counters = replace(counters)
        self.changed = False
        self.trouble: DBAPIError | None = None
        """What the database refused: whatever the act made of it, its transaction is void."""

    @property
    def revision(self) -> int:
        return self._revision

    def _run(self, statement: ClauseElement, values: Any = None) -> Any:
        """Run a statement that lives as long as the program; returns the driver's cursor."""
        try:
            return self._driver.run(statement, values)
        except DBAPIError as error:
            self.trouble = error
            raise

    def _tell(self, words: str) -> None:
        try:
            self._driver.tell(words)
        except DBAPIError as error:
            self.trouble = error
            raise

    def _change(self, statement: ClauseElement, values: Any = None) -> int:
        """Run a statement that changes something; returns how many rows it touched."""
        if not self._may_write:
            raise RuntimeError("a look may not change the store")
        if not self.changed:
            self._tell(sql.SAVEPOINT)
            self.changed = True
            self.counters.revision = self._revision
        touched: int = self._run(statement, values).rowcount
        return touched

    def undo(self) -> None:
        """Take back everything that was changed here."""
        if self.changed:
            self._tell(sql.UNDO)

    def _text(self, statement: ClauseElement, wanted: str) -> str | None:
        row = self._row(statement, wanted)
        return None if row is None else row[0]

    def _row(self, statement: ClauseElement, wanted: str) -> Any:
        return self._run(statement, {"wanted": wanted}).fetchone()

    def _rows(self, statement: ClauseElement, wanted: str | int | None = None) -> list[Any]:
        found: list[Any] = self._run(statement, None if wanted is None else {"wanted": wanted}).fetchall()
        return found

    def _found(self, query: Select[T]) -> list[Any]:
        """What a query finds that was built for this one question."""
        try:
            return list(self._connection.execute(query))
        except DBAPIError as error:
            self.trouble = error
            raise

    # records that may be unreadable

    def _decoded(self, table: Table, rows: Sequence[Row], decode: Callable[[str], T]) -> list[T]:
        """The records of these rows; those that cannot be read are put into quarantine and left out."""
        try:
            return [decode(row[-1]) for row in rows]
        except _UNREADABLE:
            found = [self._decoded_one(table, row, decode) for row in rows]
            return [record for record in found if record is not None]

    def _decoded_one(self, table: Table, row: Row | None, decode: Callable[[str], T]) -> T | None:
        if row is None:
            return None
        try:
            return decode(row[-1])
        except _UNREADABLE as error:
            self._quarantine.add(_unreadable(table, row, problem_in(error)))
            return None

    def _page(
        self,
        table: Table,
        query: Callable[[frozenset[int]], Select[Any]],
        decode: Callable[[str], T],
    ) -> list[T]:
        """A page of records. Rows that turn out to be unreadable are left out of the query, so that it stays full."""
        found: list[T] = []
        for _ in range(_MOST_ATTEMPTS):
            rows = self._found(query(self._quarantine.excluded(table.name)))
            found = self._decoded(table, rows, decode)
            if len(found) == len(rows):
                break
        return found

    @staticmethod
    def _problem(row: Row | None, decode: Callable[[str], object]) -> str | None:
        if row is None:
            return None
        try:
            decode(row[-1])
        except _UNREADABLE as error:
            return problem_in(error)
        return None

    def _readable_again(self, table: Table, key: str) -> None:
        """A row was removed or written anew."""
        if self._quarantine.has(table.name, key):
            self._quarantine.discard(table.name, key)
            forget(self, table.name, key)

    def _put(self, table: Table, row: Mapping[str, Any]) -> None:
        """Add a row, or replace the one with the same primary key."""
        self._change(self._wording.put[table], row)

    # jobs

    def job(self, id: str) -> Job | None:  # noqa: A002
        return self._decoded_one(tables.jobs, self._row(sql.JOB, id), decode_job)

    def unreadable_job(self, id: str) -> str | None:  # noqa: A002
        return self._problem(self._row(sql.JOB, id), decode_job)

    def jobs(self, query: JobQuery) -> list[Job]:
        return self._page(
            tables.jobs, lambda without: sql.job_list(query, self._wording, without), decode_job
        )

    def count_meant(self, query: JobQuery) -> int:
        ((count,),) = self._found(sql.job_count(query, self._quarantine.excluded(tables.jobs.name)))
        return int(count)

    def count_jobs(self) -> Mapping[Phase, int]:
        counts = dict(self._run(sql.COUNT_JOBS).fetchall())
        return {phase: counts.get(phase.value, 0) for phase in Phase}

    def live_jobs(self) -> list[Job]:
        return self._decoded(tables.jobs, self._rows(sql.LIVE_JOBS), decode_job)

    def jobs_since(self, revision: int) -> list[Job]:
        found = self._decoded(tables.jobs, self._rows(sql.JOBS_SINCE, revision), decode_job)
        return sorted(found, key=lambda job: job.number)

    def ended_jobs(self, after: tuple[float, int], limit: int, *, last: bool = False) -> list[Job]:
        # Not `decode_job`: whoever reads the whole past shall not drive the live jobs out of its memory.
        found = self._page(
            tables.jobs,
            lambda without: sql.ended_jobs(after, limit, last=last, without=without),
            JOB.decode,
        )
        return found[::-1] if last else found

    def successors(self, id: str) -> list[Job]:  # noqa: A002
        return self._decoded(tables.jobs, self._rows(sql.SUCCESSORS, id), decode_job)

    def add_job(self, job: Job) -> Job:
        stored = replace(job, number=self.counters.jobs + 1, revision=self._revision)
        if not self._change(self._wording.add_job, job_row(stored)):
            raise ValueError(f"there is a job {job.id} already")
        self._add_labels(stored)
        self.counters.jobs += 1
        return stored

    def put_job(self, job: Job) -> Job:
        stored = replace(job, revision=self._revision)
        row = job_row(stored)
        wanted = {"wanted": job.id, "wanted_number": job.number}
        names = {f"wanted_{name}": row[name] for name in sql.SELDOM_CHANGED}
        news = {name: row[name] for name in ("revision", "phase", "ended", "ended_at", "record")}
        self._readable_again(tables.jobs, job.id)
        if self._change(sql.PUT_JOB_SAME_NAMES, {**wanted, **names, **news}):
            return stored
        known = self._run(sql.JOB_KEYS, {"wanted": job.id}).fetchone()
        if known is None:
            raise KeyError(job.id)
        (number,) = known
        stored = replace(stored, number=number)
        self._change(sql.PUT_JOB, job_row(stored) | wanted | {"wanted_number": number})
        self._change(sql.REMOVE_LABELS, {"wanted": number})
        self._add_labels(stored)
        return stored

    def _add_labels(self, job: Job) -> None:
        rows = [{"number": job.number, "key": key, "value": value} for key, value in job.spec.labels.items()]
        if rows:
            self._change(sql.ADD_LABELS, rows)

    def remove_job(self, id: str) -> None:  # noqa: A002
        known = self._run(sql.JOB_KEYS, {"wanted": id}).fetchone()
        if known is None:
            return
        (number,) = known
        self._readable_again(tables.jobs, id)
        self._change(sql.REMOVE_JOB, {"wanted": number})
        self._change(sql.REMOVE_LABELS, {"wanted": number})
        self._change(sql.REMOVE_ATTEMPTS, {"wanted": id})
        self._put(tables.removed_jobs, {"id": id, "revision": self._revision})

    def removed_since(self, revision: int) -> list[str]:
        return [id for (id,) in self._rows(sql.REMOVED_SINCE, revision)]  # noqa: A001

    # attempts

    def attempts(self, job: str) -> list[Attempt]:
        found = self._decoded(tables.attempts, self._rows(sql.ATTEMPTS, job), ATTEMPT.decode)
        return sorted(found, key=lambda attempt: (attempt.generation, attempt.role, attempt.rank))

    def put_attempt(self, attempt: Attempt) -> None:
        key = {
            "job": attempt.job,
            "generation": attempt.generation,
            "role": attempt.role,
            "rank": attempt.rank,
        }
        self._put(tables.attempts, key | {"record": ATTEMPT.encode(attempt)})

    # nodes

    def node(self, name: str) -> Node | None:
        return self._decoded_one(tables.nodes, self._row(sql.NODE, name), decode_node)

    def unreadable_node(self, name: str) -> str | None:
        return self._problem(self._row(sql.NODE, name), decode_node)

    def nodes(self) -> list[Node]:
        return self._decoded(tables.nodes, self._rows(sql.NODES), decode_node)

    def put_node(self, node: Node) -> Node:
        known = self._row(sql.NODE_KEYS, node.name)
        number = self.counters.nodes + 1 if known is None else known[0]
        stored = replace(node, number=number, revision=self._revision)
        self._put(tables.nodes, {"number": number, "name": node.name, "record": NODE.encode(stored)})
        self._readable_again(tables.nodes, node.name)
        self.counters.nodes += known is None
        return stored

    def remove_node(self, name: str) -> None:
        if self._row(sql.NODE_KEYS, name) is not None:
            self._change(sql.REMOVE_NODE, {"wanted": name})
            self._readable_again(tables.nodes, name)

    # events

    def add_event(self, event: Event) -> Event:
        stored = replace(event, id=self.counters.events + 1)
        row = {"id": stored.id, "job": stored.job, "node": stored.node, "kind": stored.kind}
        self._change(sql.ADD_EVENT, row | {"record": EVENT.encode(stored)})
        self.counters.events += 1
        return stored

    def events(self, query: EventQuery) -> list[Event]:
        found = self._page(tables.events, lambda without: sql.event_list(query, without), EVENT.decode)
        return found[::-1] if query.last else found

    def oldest_event(self) -> int:
        (oldest,) = self._run(sql.OLDEST_EVENT).fetchone()
        return self.counters.events + 1 if oldest is None else int(oldest)

    def count_events(self) -> Mapping[str, int]:
        return dict(self._run(sql.COUNT_EVENTS).fetchall())

    def remove_events(self, before: int, limit: int, *, job: str | None = None) -> int:
        wanted: dict[str, Any] = {"before": min(before, self.counters.events), "at_most": limit}
        look, remove = sql.OLD_EVENTS, sql.REMOVE_EVENTS
        if job is not None:
            wanted["wanted"] = job
            look, remove = sql.OLD_EVENTS_OF_JOB, sql.REMOVE_EVENTS_OF_JOB
        if self._run(look, {**wanted, "at_most": 1}).fetchone() is None:
            return 0  # what changes nothing takes no revision
        count = self._change(remove, wanted)
        oldest = self.oldest_event()
        for number in self._quarantine.excluded(tables.events.name):
            if number < oldest:
                self._readable_again(tables.events, str(number))
        return count

    # everything else

    def meta(self, key: str) -> Any:
        text = self._text(sql.META, key)
        return None if text is None else self._decoded_one(tables.meta, (key, text), decode_meta)

    def set_meta(self, key: str, value: Any) -> None:
        text = None if value is None else encode_meta(value)
        if text == self._text(sql.META, key):
            return
        if text is None:
            self._change(sql.REMOVE_META, {"wanted": key})
        else:
            self._put(tables.meta, {"key": key, "value": text})
        self._readable_again(tables.meta, key)

    def token(self, digest: str) -> Token | None:
        row = self._run(sql.TOKEN, {"wanted": digest}).fetchone()
        return None if row is None else _token(row)

    def tokens(self) -> list[Token]:
        found = [_token(row) for row in self._run(sql.TOKENS).fetchall()]
        return sorted(found, key=lambda token: (token.created_at, token.digest))

    def add_token(self, token: Token) -> None:
        row = asdict(token)
        self._put(tables.tokens, {"user_name": row.pop("user")} | row)

    def remove_token(self, digest: str) -> None:
        if self.token(digest) is not None:
            self._change(sql.REMOVE_TOKEN, {"wanted": digest})
            self.end_page_sessions(token=digest)

    def page_session(self, id: str) -> PageSession | None:  # noqa: A002
        row = self._run(sql.PAGE_SESSION, {"wanted": id}).fetchone()
        return None if row is None else PageSession(id=row[0], token=row[1], until=row[2])

    def add_page_session(self, session: PageSession) -> None:
        self._put(tables.page_sessions, asdict(session))

    def end_page_sessions(self, *, id: str = "", token: str = "", until: float = 0.0) -> None:  # noqa: A002
        self._change(sql.END_PAGE_SESSIONS, {"id_": id, "token_": token, "until_": until})

    def keyed(self, key: str) -> Keyed | None:
        row = self._run(sql.KEYED, {"wanted": key}).fetchone()
        return None if row is None else Keyed(key=row[0], fingerprint=row[1], result=row[2], at=row[3])

    def remember_key(self, keyed: Keyed) -> None:
        row = {"fingerprint": keyed.fingerprint, "result": keyed.result, "at": keyed.at}
        self._put(tables.idempotency_keys, {"key": keyed.key} | row)

    def old_keys(self, before: float, limit: int) -> list[str]:
        rows = self._run(sql.OLD_KEYS, {"before": before, "at_most": limit}).fetchall()
        return [key for (key,) in rows]

    def remove_keys(self, keys: Sequence[str], before: float) -> int:
        known = [keyed for key in keys if (keyed := self.keyed(key)) is not None and keyed.at < before]
        return sum(self._change(sql.REMOVE_KEY, {"wanted": keyed.key, "before": before}) for keyed in known)


def _token(row: Sequence[Any]) -> Token:
    (
        digest,
        user,
        kind,
        created_at,
        name,
        node,
        used,
        revoked,
        expires,
        approved,
        rotate,
        replaces,
        released,
    ) = row
    return Token(
        digest=digest,
        user=user,
        kind=kind,
        created_at=created_at,
        name=name,
        node=node,
        used_at=used,
        revoked_at=revoked,
        expires_at=expires,
        approved=bool(approved),
        rotate=bool(rotate),
        replaces=replaces,
        released=bool(released),
    )


def _unreadable(table: Table, row: Row, problem: str) -> UnreadableRecord:
    """What names a row, by the columns that its statement reads beside the record."""
    match table.name, tuple(row[:-1]):
        case "jobs", (number, id_):
            return UnreadableRecord("jobs", str(id_), problem, number=number, job=str(id_))
        case "nodes", (number, name):
            return UnreadableRecord("nodes", str(name), problem, number=number, node=str(name))
        case "events", (number, job, node):
            return UnreadableRecord("events", str(number), problem, number=number, job=job, node=node)
        case "attempts", (job, *others):
            key = ".".join(str(part) for part in (job, *others))
            return UnreadableRecord("attempts", key, problem, job=str(job))
        case name, key:
            return UnreadableRecord(name, "/".join(map(str, key)), problem)
