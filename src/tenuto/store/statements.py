"""The statements of the store, built once: building one anew costs more than running it.

Where SQLite and PostgreSQL need different words, there is one of each in `Wording`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    Select,
    Table,
    bindparam,
    case,
    collate,
    delete,
    func,
    insert,
    literal_column,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.elements import BindParameter, ClauseElement, ColumnElement

from tenuto.model.phase import STANDING
from tenuto.store import tables
from tenuto.store.base import EventQuery, JobOrder, JobQuery
from tenuto.store.matching import composed, folded

_jobs = tables.jobs.c
_labels = tables.job_labels.c
_attempts = tables.attempts.c
_nodes = tables.nodes.c
_events = tables.events.c
_UNINDEXED_NODE, _UNINDEXED_KIND = _events.node + "", _events.kind + ""
_records = select(_jobs.number, _jobs.id, _jobs.record)
"""Rows of records begin with what names them, in case that the record cannot be read."""
_wanted: BindParameter[Any] = bindparam("wanted")

JOB = _records.where(_jobs.id == _wanted)
JOB_KEYS = select(_jobs.number).where(_jobs.id == _wanted)
LIVE_JOBS = _records.where(_jobs.ended.is_(False)).order_by(_jobs.number)
JOBS_SINCE = _records.where(_jobs.revision > _wanted)
"""Not ordered: SQLite would rather walk the whole table in order than sort a few rows of the index."""
SUCCESSORS = _records.where(_jobs.after_job == _wanted).order_by(_jobs.number)
COUNT_JOBS = select(_jobs.phase, func.count()).group_by(_jobs.phase)
PUT_JOB = update(tables.jobs).where(_jobs.number == bindparam("wanted_number"), _jobs.id == _wanted)
SELDOM_CHANGED = ("owner", "name", "after_job", "labels")
PUT_JOB_SAME_NAMES = PUT_JOB.where(*(_jobs[name] == bindparam(f"wanted_{name}") for name in SELDOM_CHANGED))
"""Touches no row if any of these is another. The indexes that they are in need not be touched either."""
REMOVE_JOB = delete(tables.jobs).where(_jobs.number == _wanted)
ADD_LABELS = insert(tables.job_labels)
REMOVE_LABELS = delete(tables.job_labels).where(_labels.number == _wanted)
REMOVED_SINCE = select(tables.removed_jobs.c.id).where(tables.removed_jobs.c.revision > _wanted)

ATTEMPTS = select(
    _attempts.job, _attempts.generation, _attempts.role, _attempts.rank, _attempts.record
).where(_attempts.job == _wanted)
REMOVE_ATTEMPTS = delete(tables.attempts).where(_attempts.job == _wanted)

NODE = select(_nodes.number, _nodes.name, _nodes.record).where(_nodes.name == _wanted)
NODE_KEYS = select(_nodes.number).where(_nodes.name == _wanted)
NODES = select(_nodes.number, _nodes.name, _nodes.record).order_by(_nodes.number)
REMOVE_NODE = delete(tables.nodes).where(_nodes.name == _wanted)

ADD_EVENT = insert(tables.events)
OLDEST_EVENT = select(func.min(_events.id))
COUNT_EVENTS = select(_events.job, func.count()).group_by(_events.job)
_oldest = select(_events.id).where(_events.id < bindparam("before")).order_by(_events.id)
# SQLite's dialect adds an offset in any case, as a parameter of its own unless there is one.
OLD_EVENTS = _oldest.limit(bindparam("at_most")).offset(literal_column("0"))
OLD_EVENTS_OF_JOB = OLD_EVENTS.where(_events.job == _wanted)
REMOVE_EVENTS = delete(tables.events).where(_events.id.in_(OLD_EVENTS))
REMOVE_EVENTS_OF_JOB = delete(tables.events).where(_events.id.in_(OLD_EVENTS_OF_JOB))

META = select(tables.meta.c.value).where(tables.meta.c.key == _wanted)
REMOVE_META = delete(tables.meta).where(tables.meta.c.key == _wanted)
TOKENS = select(tables.tokens)
REMOVE_TOKEN = delete(tables.tokens).where(tables.tokens.c.digest == _wanted)
PAGE_SESSION = select(tables.page_sessions).where(tables.page_sessions.c.id == _wanted)
END_PAGE_SESSIONS = delete(tables.page_sessions).where(
    or_(
        tables.page_sessions.c.id == bindparam("id_"),
        tables.page_sessions.c.token == bindparam("token_"),
        tables.page_sessions.c.until <= bindparam("until_"),
    )
)
TOKEN = TOKENS.where(tables.tokens.c.digest == _wanted)
_keys = tables.idempotency_keys.c
KEYED = select(tables.idempotency_keys).where(_keys.key == _wanted)
_old_keys = select(_keys.key).where(_keys.at < bindparam("before"))
OLD_KEYS = _old_keys.limit(bindparam("at_most")).offset(literal_column("0"))
REMOVE_KEY = delete(tables.idempotency_keys).where(_keys.key == _wanted, _keys.at < bindparam("before"))

# The next act's savepoint hides the last one's, so none needs to be released before the commit.
SAVEPOINT = "SAVEPOINT act"
UNDO = "ROLLBACK TO SAVEPOINT act"


@dataclass(frozen=True, slots=True)
class Wording:
    """What must be said to one kind of database."""

    add_job: ClauseElement
    """Touches no row if the id is taken."""
    put: Mapping[Table, ClauseElement]
    """Adds a row, or replaces the one with the same primary key."""
    by_code_points: str
    """The collation that sorts as Python does, whatever the language of the database."""


_PUT = (
    tables.removed_jobs,
    tables.attempts,
    tables.nodes,
    tables.meta,
    tables.tokens,
    tables.page_sessions,
    tables.idempotency_keys,
)


def _wording(dialect: Any, by_code_points: str) -> Wording:
    """Both dialects have the same words for it, in modules of their own."""

    def put(table: Table) -> ClauseElement:
        statement = dialect.insert(table)
        key = list(table.primary_key.columns)
        others = {column.name: statement.excluded[column.name] for column in table.c if column not in key}
        put: ClauseElement = statement.on_conflict_do_update(index_elements=key, set_=others)
        return put

    add = dialect.insert(tables.jobs).on_conflict_do_nothing()
    return Wording(add, {table: put(table) for table in _PUT}, by_code_points)


WORDINGS: Mapping[str, Wording] = {
    "sqlite": _wording(sqlite, "BINARY"),
    "postgresql": _wording(postgresql, "C"),
}


def job_list(query: JobQuery, wording: Wording, without: Collection[int] = ()) -> Select[Any]:
    """The records of the jobs that the query means, in its order, but not of those with these numbers."""
    # Numbers first: they are found in order in indexes alone, however many jobs there are.
    meant, number = _meant(query, without)
    numbers = meant.order_by(*_order(query, wording, number)).limit(query.limit)
    if query.skip:
        numbers = numbers.offset(query.skip)
    return _records.where(_jobs.number.in_(numbers)).order_by(*_order(query, wording, _jobs.number))


def job_count(query: JobQuery, without: Collection[int] = ()) -> Select[int]:
    """How many jobs the query means."""
    return _meant(query, without)[0].with_only_columns(func.count(), maintain_column_froms=True)


def _but(column: ColumnElement[int], numbers: Collection[int]) -> list[Any]:
    """The condition that leaves rows out; their numbers are written into the statement, which may be many."""
    if not numbers:
        return []
    return [column.not_in(bindparam("without", sorted(numbers), expanding=True, literal_execute=True))]


def _meant(query: JobQuery, without: Collection[int]) -> tuple[Select[int], ColumnElement[int]]:
    """The numbers of the jobs that the query means, and the column in which they are found."""
    meant, number = (
        select(_jobs.number).where(*_job_conditions(query), *_but(_jobs.number, without)),
        _jobs.number,
    )
    for key, value in query.labels.items():
        has = tables.job_labels.alias()
        meant = meant.join(has, (has.c.number == _jobs.number) & (has.c.key == key) & (has.c.value == value))
        number = has.c.number
    return meant, number


def _order(query: JobQuery, wording: Wording, number: ColumnElement[int]) -> list[ColumnElement[Any]]:
    """What `matching.in_order` says, in SQL."""
    if query.order is JobOrder.SUBMITTED:
        return [number.desc() if query.descending else number.asc()]
    by = {
        JobOrder.NAME: collate(_jobs.folded, wording.by_code_points),
        JobOrder.OWNER: collate(_jobs.owner, wording.by_code_points),
        JobOrder.STATE: case({str(phase): rank for phase, rank in STANDING.items()}, value=_jobs.phase),
        JobOrder.ENDED: _jobs.ended_at,
    }[query.order]
    return [(by.desc() if query.descending else by.asc()).nulls_last(), number.desc()]


def ended_jobs(
    after: tuple[float, int], limit: int, *, last: bool = False, without: Collection[int] = ()
) -> Select[Any]:
    """The records of the jobs that ended after that moment and number, in the order of their ends; `last` backwards."""
    known = _jobs.ended_at.is_not(None)  # only then the index is used, which has no others
    found = _records.where(known, tuple_(_jobs.ended_at, _jobs.number) > after, *_but(_jobs.number, without))
    order = (_jobs.ended_at, _jobs.number)
    return found.order_by(*(column.desc() for column in order) if last else order).limit(limit)


def event_list(query: EventQuery, without: Collection[int] = ()) -> Select[Any]:
    """The records of the events that the query means; the newest first if it asks for the last ones."""
    wanted: dict[Any, str] = {_events.job: query.job, _events.node: query.node, _events.kind: query.kind}
    if (
        query.job
    ):  # a job has few events, a kind has many: no other index than that of jobs shall be thought of
        wanted = {_events.job: query.job, _UNINDEXED_NODE: query.node, _UNINDEXED_KIND: query.kind}
    conditions = [column == value for column, value in wanted.items() if value]
    if query.before is not None:
        conditions.append(_events.id < query.before)
    order = _events.id.desc() if query.last else _events.id
    conditions += _but(_events.id, without)
    columns = (_events.id, _events.job, _events.node, _events.record)
    found = select(*columns).where(_events.id > query.after, *conditions)
    return found.order_by(order).limit(query.limit)


def _job_conditions(query: JobQuery) -> list[Any]:
    """What `matching.means_job` says, in SQL; labels are joined."""
    conditions: list[Any] = []
    if query.phases:
        conditions.append(_jobs.phase.in_(sorted(phase.value for phase in query.phases)))
    if query.owner:
        conditions.append(_jobs.owner == query.owner)
    if query.name:
        conditions.append(_jobs.name == composed(query.name))
    if query.text:
        in_name = _jobs.folded.contains(folded(query.text), autoescape=True)
        in_id = func.lower(_jobs.id).startswith(query.text.lower(), autoescape=True)
        conditions.append(or_(in_name, in_id))
    if query.before is not None:
        conditions.append(_jobs.number < query.before)
    return conditions
