"""The connections of a store: one that writes, many that read, as each kind of database wants them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, QueuePool, create_engine, event, func, literal
from sqlalchemy.sql.elements import ColumnElement

BUSY_SECONDS = 5.0
"""How long another process may keep SQLite's lock before a write is given up."""
_READERS = {"pool_size": 8, "max_overflow": -1}
_POSTGRESQL = {
    "application_name": "tenuto",
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """How one database is reached."""

    where: str
    """As users know it, without passwords."""
    writer: Engine
    readers: Engine
    transaction_mark: ColumnElement[int]
    """What a transaction can be recognised by after its connection was lost; 0 where none is ever lost."""
    stamp: Callable[[], object] | None = None
    """Cheap to ask for, and another one after almost every commit, whoever made it; None if nothing is."""

    def dispose(self) -> None:
        """Close all connections."""
        self.writer.dispose()
        self.readers.dispose()


def sqlite_database(path: Path, max_page_count: int | None = None, synchronous: str = "FULL") -> Database:
    """A file. It is made, readable for its owner only, if there is none.

    In WAL mode only `synchronous` FULL makes a commit survive a loss of power, not just of the process.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    # Never made by a connection: a file that was taken away must not come back empty.
    address = f"file:{quote(str(path))}?mode=rw"

    def connect_writer() -> sqlite3.Connection:
        connection = _connect_sqlite(address, synchronous)
        if max_page_count is not None:
            connection.execute(f"PRAGMA max_page_count = {max_page_count:d}")
        return connection

    def connect_reader() -> sqlite3.Connection:
        connection = _connect_sqlite(address, synchronous)
        connection.execute("PRAGMA query_only = ON")
        return connection

    pool: dict[str, Any] = {"poolclass": QueuePool}
    writer = create_engine("sqlite://", creator=connect_writer, pool_size=1, max_overflow=0, **pool)
    readers = create_engine("sqlite://", creator=connect_reader, **pool, **_READERS)
    event.listen(writer, "begin", _begin_immediate)
    event.listen(readers, "begin", _begin)
    return Database(
        where=f"The store {path}",
        writer=writer,
        readers=readers,
        transaction_mark=literal(0),
        stamp=lambda: (_file_stamp(path), _file_stamp(path.with_name(f"{path.name}-wal"))),
    )


def _file_stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _connect_sqlite(address: str, synchronous: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        address, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    # Statement journals and sorts stay in memory: SQLite makes a temporary file visible before it unlinks it,
    # so a process that is killed in between would leave the file.
    connection.execute("PRAGMA temp_store = MEMORY")
    # Damaged text must not fail the query of a whole table: its reader refuses the one record instead.
    connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
    return connection


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _begin(connection: Connection) -> None:
    # Only promises to read: it can fail no more than the first statement, and reading is worth a shorter way.
    connection.connection.cursor().execute("BEGIN")


def postgresql_database(url: URL) -> Database:
    """A database on a PostgreSQL server, through psycopg 3."""
    url = url.set(drivername="postgresql+psycopg")
    options = " ".join(
        f"-c {name}={value}"
        for name, value in {
            "synchronous_commit": "on",
            "lock_timeout": 10_000,
            # A process that is frozen while it writes must not stop the others for ever.
            "idle_in_transaction_session_timeout": 30_000,
        }.items()
    )
    ours = {name: value for name, value in _POSTGRESQL.items() if name not in url.query}
    arguments = {**ours, "options": f"{options} {url.query.get('options', '')}".strip()}
    url = url.difference_update_query(["options"])
    writer = create_engine(
        url, connect_args=arguments, pool_size=1, max_overflow=0, isolation_level="READ COMMITTED"
    )
    readers = create_engine(
        url,
        connect_args=arguments,
        isolation_level="REPEATABLE READ",
        execution_options={"postgresql_readonly": True},
        **_READERS,
    )
    return Database(
        where=f"The store {url.set(drivername='postgresql').render_as_string(hide_password=True)}",
        writer=writer,
        readers=readers,
        transaction_mark=func.txid_current(),
    )
