"""One transaction in SQL. Statements are in `statements`; here is what they are used for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
from tenuto.store.base import Attempt, EventQuery, JobQuery, Keyed, Token
from tenuto.store.codec import ATTEMPT, EVENT, JOB, NODE, decode_job, decode_node, job_row
from tenuto.store.driver import Driver

T = TypeVar("T")


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

    def __init__(self, connection: Connection, counters: Counters, *, may_write: bool) -> None:
        self._connection = connection
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
        row = self._run(statement, {"wanted": wanted}).fetchone()
        return None if row is None else row[0]

    def _texts(self, statement: ClauseElement, wanted: str | int | None = None) -> list[str]:
        rows = self._run(statement, None if wanted is None else {"wanted": wanted}).fetchall()
        return [text for (text,) in rows]

    def _found(self, query: Select[T]) -> list[T]:
        """What a query finds that was built for this one question."""
        try:
            return list(self._connection.execute(query).scalars())
        except DBAPIError as error:
            self.trouble = error
            raise

    def _put(self, table: Table, row: Mapping[str, Any]) -> None:
        """Add a row, or replace the one with the same primary key."""
        self._change(self._wording.put[table], row)

    # jobs

    def job(self, id: str) -> Job | None:  # noqa: A002
        text = self._text(sql.JOB, id)
        return None if text is None else decode_job(text)

    def jobs(self, query: JobQuery) -> list[Job]:
        return [decode_job(text) for text in self._found(sql.job_list(query, self._wording))]

    def count_meant(self, query: JobQuery) -> int:
        return self._found(sql.job_count(query))[0]

    def count_jobs(self) -> Mapping[Phase, int]:
        counts = {Phase(phase): number for phase, number in self._run(sql.COUNT_JOBS).fetchall()}
        return {phase: counts.get(phase, 0) for phase in Phase}

    def live_jobs(self) -> list[Job]:
        return [decode_job(text) for text in self._texts(sql.LIVE_JOBS)]

    def jobs_since(self, revision: int) -> list[Job]:
        found = [decode_job(text) for text in self._texts(sql.JOBS_SINCE, revision)]
        return sorted(found, key=lambda job: job.number)

    def ended_jobs(self, after: tuple[float, int], limit: int, *, last: bool = False) -> list[Job]:
        # Not `decode_job`: whoever reads the whole past shall not drive the live jobs out of its memory.
        found = [JOB.decode(text) for text in self._found(sql.ended_jobs(after, limit, last=last))]
        return found[::-1] if last else found

    def successors(self, id: str) -> list[Job]:  # noqa: A002
        return [decode_job(text) for text in self._texts(sql.SUCCESSORS, id)]

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
        self._change(sql.REMOVE_JOB, {"wanted": number})
        self._change(sql.REMOVE_LABELS, {"wanted": number})
        self._change(sql.REMOVE_ATTEMPTS, {"wanted": id})
        self._put(tables.removed_jobs, {"id": id, "revision": self._revision})

    def removed_since(self, revision: int) -> list[str]:
        return self._texts(sql.REMOVED_SINCE, revision)

    # attempts

    def attempts(self, job: str) -> list[Attempt]:
        found = [ATTEMPT.decode(text) for text in self._texts(sql.ATTEMPTS, job)]
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
        text = self._text(sql.NODE, name)
        return None if text is None else decode_node(text)

    def nodes(self) -> list[Node]:
        return [decode_node(text) for text in self._texts(sql.NODES)]

    def put_node(self, node: Node) -> Node:
        known = self.node(node.name)
        number = self.counters.nodes + 1 if known is None else known.number
        stored = replace(node, number=number, revision=self._revision)
        self._put(tables.nodes, {"number": number, "name": node.name, "record": NODE.encode(stored)})
        self.counters.nodes += known is None
        return stored

    def remove_node(self, name: str) -> None:
        if self.node(name) is not None:
            self._change(sql.REMOVE_NODE, {"wanted": name})

    # events

    def add_event(self, event: Event) -> Event:
        stored = replace(event, id=self.counters.events + 1)
        row = {"id": stored.id, "job": stored.job, "node": stored.node, "kind": stored.kind}
        self._change(sql.ADD_EVENT, row | {"record": EVENT.encode(stored)})
        self.counters.events += 1
        return stored

    def events(self, query: EventQuery) -> list[Event]:
        found = [EVENT.decode(text) for text in self._found(sql.event_list(query))]
        return found[::-1] if query.last else found

    def oldest_event(self) -> int:
        (oldest,) = self._run(sql.OLDEST_EVENT).fetchone()
        return self.counters.events + 1 if oldest is None else int(oldest)

    def count_events(self) -> Mapping[str, int]:
        return dict(self._run(sql.COUNT_EVENTS).fetchall())

    def remove_events(self, before: int, limit: int, *, job: str | None = None) -> int:
        below = min(before, self.counters.events)
        if not self.events(EventQuery(job=job or "", before=below, limit=1)):
            return 0  # what changes nothing takes no revision
        wanted = {"before": below, "at_most": limit}
        if job is None:
            return self._change(sql.REMOVE_EVENTS, wanted)
        return self._change(sql.REMOVE_EVENTS_OF_JOB, {**wanted, "wanted": job})

    # everything else

    def meta(self, key: str) -> Any:
        text = self._text(sql.META, key)
        return None if text is None else json.loads(text)

    def set_meta(self, key: str, value: Any) -> None:
        text = None if value is None else json.dumps(value)
        if text == self._text(sql.META, key):
            return
        if text is None:
            self._change(sql.REMOVE_META, {"wanted": key})
        else:
            self._put(tables.meta, {"key": key, "value": text})

    def token(self, digest: str) -> Token | None:
        row = self._run(sql.TOKEN, {"wanted": digest}).fetchone()
        return None if row is None else Token(digest=row[0], user=row[1], kind=row[2], created_at=row[3])

    def tokens(self) -> list[Token]:
        found = [
            Token(digest=row[0], user=row[1], kind=row[2], created_at=row[3])
            for row in self._run(sql.TOKENS).fetchall()
        ]
        return sorted(found, key=lambda token: (token.created_at, token.digest))

    def add_token(self, token: Token) -> None:
        row = {"user_name": token.user, "kind": token.kind, "created_at": token.created_at}
        self._put(tables.tokens, {"digest": token.digest} | row)

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
