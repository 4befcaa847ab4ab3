"""From a store's address to an open store with all its tables."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from urllib.parse import parse_qsl

from sqlalchemy import make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError

from tenuto.errors import InputInvalid
from tenuto.store.base import Store, StoreUnavailable
from tenuto.store.database import Database, postgresql_database, sqlite_database
from tenuto.store.memory import MemoryStore
from tenuto.store.migrate import is_current, migrate
from tenuto.store.sql import SqlStore
from tenuto.store.trouble import explain

_FORMS = "Write sqlite:///FILE, postgresql://USER:PASSWORD@HOST/DATABASE, or memory:"
_MIGRATION_LOCK = 0x7E7070


def open_store(url: str) -> Store:
    """Open the store at `url`, make or update its tables if need be. Raises InputInvalid or StoreUnavailable."""
    if url == "memory:":
        return MemoryStore()
    if url.startswith("sqlite:"):
        database = _sqlite(url)
    elif url.startswith(("postgresql:", "postgresql+psycopg:", "postgres:")):
        database = postgresql_at(url)
    else:
        raise InputInvalid("The store's address is of no kind we know", remedy=_FORMS, field="store")
    try:
        _prepare(database)
        return SqlStore(database)
    except DBAPIError as error:
        database.dispose()
        raise explain(error, database.where) from error
    except BaseException:
        database.dispose()
        raise


def _sqlite(url: str) -> Database:
    name, _, query = url.removeprefix("sqlite:///").partition("?")
    if not url.startswith("sqlite:///") or name in ("", ":memory:"):
        raise InputInvalid("The store's address names no file", remedy=_FORMS, field="store")
    options = dict(parse_qsl(query, keep_blank_values=True))
    pages = options.pop("max_page_count", None)
    if options or not (pages is None or pages.isdecimal()):
        raise InputInvalid(
            "The store's address has an option that SQLite does not",
            remedy="The only one is max_page_count, with a number",
            field="store",
        )
    path = Path(name)
    try:
        return sqlite_database(path, None if pages is None else int(pages))
    except OSError as error:
        raise StoreUnavailable(
            f"The store {path} cannot be made ({error.strerror})",
            remedy="Make its directory writable, or name another file",
        ) from error


def postgresql_at(url: str) -> Database:
    """The database at an address."""
    if find_spec("psycopg") is None:
        raise InputInvalid(
            "PostgreSQL needs psycopg, which is not installed",
            remedy="Run pip install 'tenuto[postgresql]'",
            field="store",
        )
    try:
        return postgresql_database(make_url(url.replace("postgres:", "postgresql:", 1)))
    except (ArgumentError, ImportError, ValueError) as error:
        raise InputInvalid(
            f"The store's address cannot be used: {error}", remedy=_FORMS, field="store"
        ) from error


def _prepare(database: Database) -> None:
    """See to the tables. A database that has them is only looked at."""
    sqlite = database.writer.dialect.name == "sqlite"
    with database.readers.connect() as connection:
        if is_current(connection):
            return
    if sqlite:
        with database.writer.connect() as connection:
            # Outside any transaction, and kept in the file: readers and the writer do not wait for each other.
            connection.connection.cursor().execute("PRAGMA journal_mode = WAL")
    with database.writer.begin() as connection:
        if not sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
        migrate(connection, database.where)
