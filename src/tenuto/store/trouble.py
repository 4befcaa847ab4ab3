"""What it means when a database refuses, in a sentence and with a remedy."""

from __future__ import annotations

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, NotSupportedError, ProgrammingError

from tenuto.store.base import StoreUnavailable

_SQLITE = {
    "SQLITE_FULL": ("{where} is full", "Free space on its disk, or raise its max_page_count; then try again"),
    "SQLITE_READONLY": (
        "{where} cannot be written",
        "Make the file and its directory writable; then try again",
    ),
    "SQLITE_CANTOPEN": (
        "{where} cannot be opened",
        "Make the file and its directory writable; then try again",
    ),
    "SQLITE_PERM": ("{where} cannot be opened", "Make the file and its directory writable; then try again"),
    "SQLITE_BUSY": ("{where} is locked by another process", "End that process, or try again later"),
    "SQLITE_LOCKED": ("{where} is locked by another process", "End that process, or try again later"),
    "SQLITE_IOERR": ("{where} cannot be written: the disk answers with an error", "Look after the disk"),
    "SQLITE_CORRUPT": ("{where} is damaged", "Restore it from a backup"),
    "SQLITE_NOTADB": ("{where} is no SQLite database", "Name another file, or restore it from a backup"),
}
_POSTGRESQL = {
    "53100": ("{where} is full", "Free space on the disk of the database server; then try again"),
    "53": ("{where} has no resources left", "Look after the database server; then try again"),
    "25006": ("{where} takes no writes", "Name the primary server, or end its read-only mode"),
    "28": ("{where} does not let us in", "Correct user and password in the store's address"),
    "3D000": ("{where} does not exist", "Create the database, or correct the store's address"),
    "55P03": ("{where} is locked by another process", "End that process, or try again later"),
    "57014": ("{where} is too slow", "Look after the database server; then try again"),
    "40": ("{where} was changed by others at the same time", "Try again"),
}
_WRONG = (DataError, IntegrityError, NotSupportedError, ProgrammingError)
_AWAY = ("{where} cannot be reached", "Start the database server, or correct the store's address")
_STRANGE = ("{where} refuses", "Look after the database; then try again")
_OF_THE_ACT = (
    "SQLITE_ERROR",
    "SQLITE_CONSTRAINT",
    "SQLITE_MISMATCH",
    "SQLITE_TOOBIG",
    "22",
    "23",
    "42",
    "54",
)
"""A statement or a value was wrong; another try would end the same way."""


def explain(error: DBAPIError, where: str) -> Exception:
    """What to raise for it: `StoreUnavailable`, or the error itself where the statement was wrong."""
    code = _code(error)
    if code.startswith(_OF_THE_ACT) or (not code and isinstance(error, _WRONG)):
        return error
    for prefix, (problem, remedy) in (_SQLITE | _POSTGRESQL).items():
        if code.startswith(prefix):
            return _unavailable(problem, remedy, where, error)
    return _unavailable(*(_STRANGE if code and not lost(error) else _AWAY), where, error)


def lost(error: DBAPIError) -> bool:
    """Whether the connection is gone, so that nobody heard what became of the statement."""
    return error.connection_invalidated or _code(error).startswith(("08", "57P"))


def may_pass(error: DBAPIError) -> bool:
    """Whether the same transaction may succeed in a moment."""
    return lost(error) or _code(error).startswith("40")


def _unavailable(problem: str, remedy: str, where: str, error: DBAPIError) -> StoreUnavailable:
    detail = str(error.orig).strip().splitlines()[:1]
    return StoreUnavailable(f"{problem.format(where=where)} ({''.join(detail)})", remedy=remedy)


def _code(error: DBAPIError) -> str:
    """SQLite's name of the error, or PostgreSQL's five characters; empty if there was no answer at all."""
    for attribute in ("sqlite_errorname", "sqlstate"):
        code = getattr(error.orig, attribute, None)
        if code is not None:
            return str(code)
    return ""
