"""The tables of the history are made, or looked at: those of a newer program are not touched."""

from __future__ import annotations

from sqlalchemy import Connection, inspect, text

from tenuto.errors import InputInvalid
from tenuto.store.database import Database
from tenuto.store.driver import Driver
from tenuto.store.series import tables

_LOCK = 0x7E7072


def prepare(database: Database) -> None:
    """See to the tables. Raises InputInvalid if they are of a newer format."""
    with database.readers.connect() as connection:
        if _is_made(connection):
            return _check(connection, database.where)
    sqlite = database.writer.dialect.name == "sqlite"
    if sqlite:
        with database.writer.connect() as connection:
            # Outside any transaction, and kept in the file. Pages that become free can be given back piece by piece.
            for pragma in ("auto_vacuum = INCREMENTAL", "journal_mode = WAL"):
                connection.connection.cursor().execute(f"PRAGMA {pragma}")
    with database.writer.begin() as connection:
        if not sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        if not _is_made(connection):
            tables.metadata.create_all(connection)
            row = {"key": "format", "value": float(tables.FORMAT)}
            Driver(connection).run(tables.WORDINGS[connection.dialect.name].put[tables.about], row)
        _check(connection, database.where)
    return None


def _is_made(connection: Connection) -> bool:
    return inspect(connection).has_table(tables.about.name)


def _check(connection: Connection, where: str) -> None:
    row = Driver(connection).run(tables.ABOUT, {"the_key": "format"}).fetchone()
    if row is None or row[0] > tables.FORMAT:
        told = "of none" if row is None else f"{row[0]:g}"
        raise InputInvalid(
            f"{where} has numbers that a newer tenuto has written (its format is {told}, ours {tables.FORMAT})",
            remedy="Upgrade tenuto, or move the history away",
        )
