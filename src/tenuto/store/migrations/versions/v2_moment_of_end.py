"""Version 2: when a job ended, so that the past can be read in its order."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "2"
down_revision = "1"

AT_ONCE = 500
"""Records that are read together: a store may hold more than fit into memory."""


def upgrade() -> None:
    """Add the column, fill it from the records, and order it."""
    op.add_column("jobs", sa.Column("ended_at", sa.Float(53), nullable=True))
    _fill()
    known = sa.text("ended_at IS NOT NULL")
    op.create_index(
        "jobs_by_moment_of_end", "jobs", ["ended_at", "number"], sqlite_where=known, postgresql_where=known
    )


def _fill() -> None:
    connection, number = op.get_bind(), 0
    page = sa.text(
        "SELECT number, record FROM jobs WHERE ended AND number > :after ORDER BY number LIMIT :most"
    )
    put = sa.text("UPDATE jobs SET ended_at = :at WHERE number = :number")
    while rows := connection.execute(page, {"after": number, "most": AT_ONCE}).all():
        number = rows[-1].number
        [*records] = (json.loads(row.record)[0] for row in rows)
        known = [
            {"number": row.number, "at": record["ended_at"]}
            for row, record in zip(rows, records, strict=True)
        ]
        connection.execute(put, known)
