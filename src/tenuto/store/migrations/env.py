"""Alembic's way in: it runs the versions on the connection that `store.migrate` hands over."""

from __future__ import annotations

from alembic import context

from tenuto.store.tables import metadata

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    render_as_batch=connection.dialect.name == "sqlite",  # SQLite changes a table by building it anew
)
with context.begin_transaction():
    context.run_migrations()
