"""The tables of the history of numbers, and what is said to the database about them.

Chunks are ordered by their time first, in large pieces: what is written at a time lies together and so does what is
thrown away; and what is read of one subject still lies together within an hour or a day.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Select,
    Table,
    Text,
    bindparam,
    delete,
    func,
    literal_column,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.elements import BindParameter, ClauseElement

FORMAT = 1
"""A program that knows only smaller numbers does not touch these tables."""
STEP = 500
"""Chunks that are thrown away in one transaction, more or less."""

metadata = MetaData()
_Name = Text().with_variant(Text(collation="C"), "postgresql")  # in the order of Python's own text
_Number = BigInteger().with_variant(Integer, "sqlite")

about = Table(
    "series_about",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", Float(53), nullable=False),
)
subjects = Table(
    "series_subjects",
    metadata,
    Column("id", _Number, primary_key=True, autoincrement=True),
    Column("kind", _Name, nullable=False),
    Column("name", _Name, nullable=False),
    Column("part", _Name, nullable=False),
    Column("newest", _Number, nullable=False),  # the newest hour of which there is anything
    Index("series_subjects_by_name", "kind", "name", "part", unique=True),
    Index("series_subjects_by_age", "newest"),
    sqlite_autoincrement=True,  # the number of one that was removed is not given again
)
raw = Table(
    "series_raw",
    metadata,
    Column("hour", _Number, primary_key=True, autoincrement=False),
    Column("subject", _Number, primary_key=True, autoincrement=False),
    Column("minute", _Number, primary_key=True, autoincrement=False),
    Column("chunk", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)
means = Table(
    "series_means",
    metadata,
    Column("day", _Number, primary_key=True, autoincrement=False),
    Column("subject", _Number, primary_key=True, autoincrement=False),
    Column("hour", _Number, primary_key=True, autoincrement=False),
    Column("chunk", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)
gaps = Table(
    "series_gaps",
    metadata,
    Column("node", Text, primary_key=True),
    Column("since", Float(53), primary_key=True, autoincrement=False),
    Column("until", Float(53), primary_key=True, autoincrement=False),
    Column("why", Text, nullable=False),
    Index("series_gaps_by_end", "until"),
)


def _given(name: str) -> BindParameter[Any]:
    return bindparam(f"the_{name}")


def _first(found: Select[Any], count: int) -> Select[Any]:
    """Only the first rows; with the numbers spelt out, as whoever runs it does not know of them."""
    return found.limit(literal_column(str(count))).offset(literal_column("0"))


_s, _r, _m, _g = subjects.c, raw.c, means.c, gaps.c

ABOUT = select(about.c.value).where(about.c.key == _given("key"))
SUBJECT = select(_s.id, _s.newest).where(
    _s.kind == _given("kind"), _s.name == _given("name"), _s.part == _given("part")
)
OF_NAME = select(_s.id, _s.newest).where(_s.kind == _given("kind"), _s.name == _given("name"))
SEEN = (
    update(subjects)
    .where(_s.id == _given("id"), _s.newest < _given("newest"))
    .values(newest=_given("newest"))
)
SILENT = _first(select(_s.id).where(_s.newest < _given("newest")), STEP)
REMOVE_SUBJECT = delete(subjects).where(_s.id == _given("id"))

RAW_ONE = select(_r.chunk).where(
    _r.hour == _given("hour"), _r.subject == _given("subject"), _r.minute == _given("minute")
)
RAW_HOUR = (
    select(_r.minute, _r.chunk)
    .where(
        _r.hour == _given("hour"),
        _r.subject == _given("subject"),
        _r.minute >= _given("since"),
        _r.minute < _given("until"),
    )
    .order_by(_r.minute)
)
RAW_NEWEST = _first(
    select(_r.chunk)
    .where(_r.hour == _given("hour"), _r.subject == _given("subject"))
    .order_by(_r.minute.desc()),
    1,
)
RAW_LAST = select(func.max(_r.hour))
RAW_NEXT = select(func.min(_r.hour)).where(_r.hour >= _given("period"))
MEANS_ONE = select(_m.chunk).where(
    _m.day == _given("day"), _m.subject == _given("subject"), _m.hour == _given("hour")
)
MEANS_DAY = (
    select(_m.hour, _m.chunk)
    .where(
        _m.day == _given("day"),
        _m.subject == _given("subject"),
        _m.hour >= _given("since"),
        _m.hour < _given("until"),
    )
    .order_by(_m.hour)
)
MEANS_NEXT = select(func.min(_m.day)).where(_m.day >= _given("period"))
REMOVE_RAW_OF = delete(raw).where(_r.hour == _given("period"), _r.subject == _given("subject"))
REMOVE_MEANS_OF = delete(means).where(_m.day == _given("period"), _m.subject == _given("subject"))

GAPS = (
    select(_g.since, _g.until, _g.why)
    .where(_g.node == _given("node"), _g.until > _given("since"), _g.since < _given("until"))
    .order_by(_g.since, _g.until)
)
REMOVE_GAPS_OF = delete(gaps).where(_g.node == _given("node"))
REMOVE_OLD_GAPS = delete(gaps).where(_g.until < _given("until"))


@dataclass(frozen=True, slots=True)
class Thinning:
    """How the oldest chunks of a table are removed, some subjects at a time."""

    some: ClauseElement
    """The last of some subjects that have something of a period before a moment."""
    remove: ClauseElement
    """What these have of it."""


def _thinning(table: Table, period: Any, chunk: Any) -> Thinning:
    subject = table.c.subject
    meant = (period == _given("period"), subject > _given("after"), chunk < _given("until"))
    some = _first(select(subject).where(*meant).order_by(subject, chunk), STEP).subquery()
    return Thinning(
        select(func.max(some.c.subject)),
        delete(table).where(*meant, subject <= _given("last")),
    )


RAW_THINNING = _thinning(raw, _r.hour, _r.minute)
MEANS_THINNING = _thinning(means, _m.day, _m.hour)


@dataclass(frozen=True, slots=True)
class Wording:
    """What must be said to one kind of database."""

    put: Mapping[Table, ClauseElement]
    """Adds a row, or replaces the one with the same key."""
    add: Mapping[Table, ClauseElement]
    """Adds a row, unless there is one with that key."""


def _wording(dialect: Any) -> Wording:
    """Both dialects have the same words for it, in modules of their own."""

    def put(table: Table) -> ClauseElement:
        statement = dialect.insert(table)
        key = list(table.primary_key.columns)
        others = {column.name: statement.excluded[column.name] for column in table.c if column not in key}
        put: ClauseElement = statement.on_conflict_do_update(index_elements=key, set_=others)
        return put

    return Wording(
        {table: put(table) for table in (about, raw, means)},
        {table: dialect.insert(table).on_conflict_do_nothing() for table in (subjects, gaps)},
    )


WORDINGS: Mapping[str, Wording] = {"sqlite": _wording(sqlite), "postgresql": _wording(postgresql)}
