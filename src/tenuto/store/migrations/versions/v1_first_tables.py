"""Version 1: jobs, nodes, events, attempts, tokens, and what the controller remembers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "1"
down_revision = None

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Build everything."""
    _counters()
    _jobs()
    _beside_jobs()
    _nodes_and_events()
    _everything_else()


def _number(name: str, *, key: bool = False) -> sa.Column[int]:
    return sa.Column(name, NUMBER, primary_key=key, autoincrement=False, nullable=False)


def _text(name: str, *, key: bool = False, unique: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, primary_key=key, unique=unique or None, nullable=False)


def _counters() -> None:
    table = op.create_table(
        "counters",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        *(_number(name) for name in ("revision", "jobs", "nodes", "events")),
    )
    op.bulk_insert(table, [{"id": 1, "revision": 0, "jobs": 0, "nodes": 0, "events": 0}])


def _jobs() -> None:
    op.create_table(
        "jobs",
        _number("number", key=True),
        _text("id", unique=True),
        _number("revision"),
        _text("phase"),
        sa.Column("ended", sa.Boolean, nullable=False),
        *(_text(name) for name in ("owner", "name", "folded", "after_job", "labels", "record")),
    )
    op.create_index("jobs_by_revision", "jobs", ["revision"])
    op.create_index("jobs_by_phase", "jobs", ["phase", "number"])
    op.create_index("jobs_by_end", "jobs", ["ended", "number"])
    op.create_index("jobs_by_owner", "jobs", ["owner", "number"])
    op.create_index("jobs_by_name", "jobs", ["name", "number"])
    op.create_index("jobs_by_after", "jobs", ["after_job"])
    op.create_index("jobs_by_text", "jobs", ["number", "folded", "id"])


def _beside_jobs() -> None:
    op.create_table("job_labels", _number("number", key=True), _text("key", key=True), _text("value"))
    op.create_index("job_labels_by_value", "job_labels", ["key", "value", "number"])
    op.create_table("removed_jobs", _text("id", key=True), _number("revision"))
    op.create_index("removed_jobs_by_revision", "removed_jobs", ["revision"])
    op.create_table(
        "attempts",
        _text("job", key=True),
        sa.Column("generation", sa.Integer, primary_key=True, autoincrement=False),
        _text("role", key=True),
        sa.Column("rank", sa.Integer, primary_key=True, autoincrement=False),
        _text("record"),
    )


def _nodes_and_events() -> None:
    op.create_table("nodes", _number("number", key=True), _text("name", unique=True), _text("record"))
    op.create_table(
        "events",
        _number("id", key=True),
        *(_text(name) for name in ("job", "node", "kind", "record")),
    )
    op.create_index("events_by_job", "events", ["job", "id"])
    op.create_index("events_by_node", "events", ["node", "id"])
    op.create_index("events_by_kind", "events", ["kind", "id"])


def _everything_else() -> None:
    op.create_table("meta", _text("key", key=True), _text("value"))
    op.create_table(
        "tokens",
        _text("digest", key=True),
        _text("user_name"),
        _text("kind"),
        sa.Column("created_at", sa.Float(53), nullable=False),
    )
    op.create_table(
        "idempotency_keys",
        _text("key", key=True),
        _text("fingerprint"),
        _text("result"),
        sa.Column("at", sa.Float(53), nullable=False),
    )
