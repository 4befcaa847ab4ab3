"""The store's tables. A record is kept whole, as JSON; beside it stand the columns that queries ask about.

What is written here must be what `migrations/` builds; a test compares them.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    false,
    text,
    true,
)

metadata = MetaData()

Number = BigInteger().with_variant(Integer, "sqlite")  # only INTEGER is SQLite's own row number

counters = Table(
    "counters",
    metadata,
    # One row. Whoever writes locks it first, so that acts run alone and numbers have no gaps.
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("revision", Number, nullable=False),
    Column("jobs", Number, nullable=False),
    Column("nodes", Number, nullable=False),
    Column("events", Number, nullable=False),
)

jobs = Table(
    "jobs",
    metadata,
    Column("number", Number, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False, unique=True),
    Column("revision", Number, nullable=False),
    Column("phase", Text, nullable=False),
    Column("ended", Boolean, nullable=False),
    Column("ended_at", Float(53)),
    Column("owner", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("folded", Text, nullable=False),
    Column("after_job", Text, nullable=False),
    Column("labels", Text, nullable=False),
    Column("record", Text, nullable=False),
    Index("jobs_by_revision", "revision"),
    Index("jobs_by_phase", "phase", "number"),
    Index("jobs_by_end", "ended", "number"),
    Index("jobs_by_owner", "owner", "number"),
    Index("jobs_by_name", "name", "number"),
    Index("jobs_by_after", "after_job"),
    Index("jobs_by_text", "number", "folded", "id"),  # searched for text without a look at the records
)
Index(
    "jobs_by_moment_of_end",
    jobs.c.ended_at,
    jobs.c.number,
    sqlite_where=jobs.c.ended_at.is_not(None),
    postgresql_where=jobs.c.ended_at.is_not(None),
)

job_labels = Table(
    "job_labels",
    metadata,
    Column("number", Number, primary_key=True, autoincrement=False),
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
    Index("job_labels_by_value", "key", "value", "number"),
)

removed_jobs = Table(
    "removed_jobs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("revision", Number, nullable=False),
    Index("removed_jobs_by_revision", "revision"),
)

attempts = Table(
    "attempts",
    metadata,
    Column("job", Text, primary_key=True),
    Column("generation", Integer, primary_key=True, autoincrement=False),
    Column("role", Text, primary_key=True),
    Column("rank", Integer, primary_key=True, autoincrement=False),
    Column("record", Text, nullable=False),
)

nodes = Table(
    "nodes",
    metadata,
    Column("number", Number, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False, unique=True),
    Column("record", Text, nullable=False),
)

events = Table(
    "events",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=False),
    Column("job", Text, nullable=False),
    Column("node", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("record", Text, nullable=False),
    Index("events_by_job", "job", "id"),
    Index("events_by_node", "node", "id"),
    Index("events_by_kind", "kind", "id"),
)

meta = Table(
    "meta",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

tokens = Table(
    "tokens",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("user_name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("created_at", Float(53), nullable=False),
    Column("name", Text, nullable=False, server_default=text("''")),
    Column("node", Text, nullable=False, server_default=text("''")),
    Column("used_at", Float(53)),
    Column("revoked_at", Float(53)),
    Column("expires_at", Float(53)),
    Column("approved", Boolean, nullable=False, server_default=true()),
    Column("rotate", Boolean, nullable=False, server_default=false()),
    Column("replaces", Text, nullable=False, server_default=text("''")),
    Column("released", Boolean, nullable=False, server_default=false()),
)

page_sessions = Table(
    "page_sessions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("token", Text, nullable=False),
    Column("until", Float(53), nullable=False),
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("key", Text, primary_key=True),
    Column("fingerprint", Text, nullable=False),
    Column("result", Text, nullable=False),
    Column("at", Float(53), nullable=False),
)
