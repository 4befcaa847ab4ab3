"""Statements straight to the database driver: SQLAlchemy words them once; to run one takes it ten times as long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from sqlalchemy import Connection
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.elements import ClauseElement

Row: TypeAlias = Mapping[str, Any]
_DIALECTS: Mapping[str, Dialect] = {
    "sqlite": sqlite.dialect(paramstyle="named"),
    "postgresql": postgresql.psycopg.dialect(),  # type: ignore[no-untyped-call]
}
"""As they are worded here: values have names in both."""
_words: dict[tuple[str, int, tuple[str, ...]], str] = {}


class Driver:
    """Runs statements on a connection that SQLAlchemy has opened. Belongs to one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._dialect = connection.dialect
        self._cursor = connection.connection.cursor()

    @property
    def connection(self) -> Connection:
        """On which statements are run that are built only once."""
        return self._connection

    @property
    def dialect(self) -> str:
        """The name of the kind of database."""
        return self._dialect.name

    def run(self, statement: ClauseElement, values: Row | Sequence[Row] | None = None) -> Any:
        """The driver's cursor after the statement; of several rows, after the last one."""
        if values is None:
            names: tuple[str, ...] = ()
        else:
            names = tuple(values if isinstance(values, Mapping) else values[0])
        return self.tell(_worded(self._dialect.name, statement, names), values)

    def tell(self, words: str, values: Row | Sequence[Row] | None = None) -> Any:
        """The same with the driver's own words."""
        try:
            if values is None:
                self._cursor.execute(words)
            elif isinstance(values, Mapping):
                self._cursor.execute(words, values)
            else:
                self._cursor.executemany(words, values)
        except self._dialect.loaded_dbapi.Error as error:
            raise self._explained(words, error) from error
        return self._cursor

    def _explained(self, words: str, error: Any) -> DBAPIError:
        """What SQLAlchemy would have raised; a connection that is gone is given up."""
        gone = self._dialect.is_disconnect(error, self._connection.connection.dbapi_connection, self._cursor)
        if gone:
            self._connection.invalidate(error)
        found = DBAPIError.instance(
            words,
            None,
            error,
            self._dialect.loaded_dbapi.Error,
            connection_invalidated=gone,
            dialect=self._dialect,
        )
        assert isinstance(found, DBAPIError)
        return found


def _worded(dialect: str, statement: ClauseElement, names: tuple[str, ...]) -> str:
    """A statement in the words of a dialect. Only for statements that live as long as the program."""
    key = (dialect, id(statement), names)
    words = _words.get(key)
    if words is None:
        keys = list(names) if statement.is_dml else None
        words = str(statement.compile(dialect=_DIALECTS[dialect], column_keys=keys))
        _words[key] = words
    return words
