"""One transaction in SQL. Statements are in `statements`; here is what they are used for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, CursorResult, Table
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql import Executable

from tenuto.model.event import Event
from tenuto.model.job import Job
from tenuto.model.node import Node
from tenuto.model.phase import Phase
from tenuto.store import statements as sql
from tenuto.store import tables
from tenuto.store.base import Attempt, EventQuery, JobQuery, Keyed, Token
from tenuto.store.codec import ATTEMPT, EVENT, NODE, decode_job, job_row


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

    def _run(self, statement: Executable, values: Any = None) -> CursorResult[*tuple[Any, ...]]:
        try:
            return self._connection.execute(statement, values)
        except DBAPIError as error:
            self.trouble = error
            raise

    def _tell(self, words: str) -> None:
        try:
            self._connection.exec_driver_sql(words)
        except DBAPIError as error:
            self.trouble = error
            raise

    def _change(self, statement: Executable, values: Any = None) -> int:
        """Run a statement that changes something; returns how many rows it touched."""
        if not self._may_write:
            raise RuntimeError("a look may not change the store")
        if not self.changed:
            self._tell(sql.SAVEPOINT)
            self.changed = True
            self.counters.revision = self._revision
        return self._run(statement, values).rowcount

    def undo(self) -> None:
        """Take back everything that was changed here."""
        if self.changed:
            self._tell(sql.UNDO)

    def _text(self, statement: Executable, wanted: str) -> str | None:
        text: str | None = self._run(statement, {"wanted": wanted}).scalar()
        return text

    def _texts(self, statement: Executable, wanted: str | int | None = None) -> list[str]:
        return list(self._run(statement, None if wanted is None else {"wanted": wanted}).scalars())

    def _put(self, table: Table, row: Mapping[str, Any]) -> None:
        """Add a row, or replace the one with the same primary key."""
        self._change(self._wording.put[table], row)

    # jobs

    def job(self, id: str) -> Job | None:  # noqa: A002
        text = self._text(sql.JOB, id)
        return None if text is None else decode_job(text)

    def jobs(self, query: JobQuery) -> list[Job]:
        return [decode_job(text) for text in self._texts(sql.job_list(query))]

    def count_jobs(self) -> Mapping[Phase, int]:
        counts = {Phase(phase): number for phase, number in self._run(sql.COUNT_JOBS)}
        return {phase: counts.get(phase, 0) for phase in Phase}

    def live_jobs(self) -> list[Job]:
        return [decode_job(text) for text in self._texts(sql.LIVE_JOBS)]

    def jobs_since(self, revision: int) -> list[Job]:
        found = [decode_job(text) for text in self._texts(sql.JOBS_SINCE, revision)]
        return sorted(found, key=lambda job: job.number)

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
        news = {name: row[name] for name in ("revision", "phase", "ended", "record")}
        if self._change(sql.PUT_JOB_SAME_NAMES, {**wanted, **names, **news}):
            return stored
        known = self._run(sql.JOB_KEYS, {"wanted": job.id}).first()
        if known is None:
            raise KeyError(job.id)
        stored = replace(stored, number=known.number)
        self._change(sql.PUT_JOB, job_row(stored) | wanted | {"wanted_number": known.number})
        self._change(sql.REMOVE_LABELS, {"wanted": known.number})
        self._add_labels(stored)
        return stored

    def _add_labels(self, job: Job) -> None:
        rows = [{"number": job.number, "key": key, "value": value} for key, value in job.spec.labels.items()]
        if rows:
            self._change(sql.ADD_LABELS, rows)

    def remove_job(self, id: str) -> None:  # noqa: A002
        known = self._run(sql.JOB_KEYS, {"wanted": id}).first()
        if known is None:
            return
        self._change(sql.REMOVE_JOB, {"wanted": known.number})
        self._change(sql.REMOVE_LABELS, {"wanted": known.number})
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
        return None if text is None else NODE.decode(text)

    def nodes(self) -> list[Node]:
        return [NODE.decode(text) for text in self._texts(sql.NODES)]

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
        found = [EVENT.decode(text) for text in self._texts(sql.event_list(query))]
        return found[::-1] if query.last else found

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
        row = self._run(sql.TOKEN, {"wanted": digest}).first()
        return None if row is None else Token(digest=row[0], user=row[1], kind=row[2], created_at=row[3])

    def tokens(self) -> list[Token]:
        found = [
            Token(digest=row[0], user=row[1], kind=row[2], created_at=row[3]) for row in self._run(sql.TOKENS)
        ]
        return sorted(found, key=lambda token: (token.created_at, token.digest))

    def add_token(self, token: Token) -> None:
        row = {"user_name": token.user, "kind": token.kind, "created_at": token.created_at}
        self._put(tables.tokens, {"digest": token.digest} | row)

    def keyed(self, key: str) -> Keyed | None:
        row = self._run(sql.KEYED, {"wanted": key}).first()
        return None if row is None else Keyed(key=row[0], fingerprint=row[1], result=row[2], at=row[3])

    def remember_key(self, keyed: Keyed) -> None:
        row = {"fingerprint": keyed.fingerprint, "result": keyed.result, "at": keyed.at}
        self._put(tables.idempotency_keys, {"key": keyed.key} | row)
