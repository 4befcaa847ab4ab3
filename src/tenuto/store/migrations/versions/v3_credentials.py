"""Version 3: a credential for each node, tokens that can be revoked, and sessions of the page."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "3"
down_revision = "2"


def upgrade() -> None:
    """Add the columns and the table. The one token that all nodes shared becomes the one with which nodes join."""
    for column in (
        sa.Column("name", sa.Text, nullable=False, server_default=sa.text("''")),
        sa.Column("node", sa.Text, nullable=False, server_default=sa.text("''")),
        sa.Column("used_at", sa.Float(53), nullable=True),
        sa.Column("revoked_at", sa.Float(53), nullable=True),
        sa.Column("expires_at", sa.Float(53), nullable=True),
        sa.Column("approved", sa.Boolean, nullable=False, server_default=sa.true()),
        sa.Column("rotate", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("replaces", sa.Text, nullable=False, server_default=sa.text("''")),
        sa.Column("released", sa.Boolean, nullable=False, server_default=sa.false()),
    ):
        op.add_column("tokens", column)
    op.execute("UPDATE tokens SET kind = 'join' WHERE kind = 'node'")
    op.create_table(
        "page_sessions",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("token", sa.Text, nullable=False),
        sa.Column("until", sa.Float(53), nullable=False),
    )
