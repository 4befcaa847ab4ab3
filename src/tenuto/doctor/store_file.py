"""Whether the SQLite file of a home is whole, and of which version. It is opened for reading only."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from tenuto.doctor.directories import SHARED, file_system_of
from tenuto.doctor.finding import Finding, Status, size

_PATIENCE = 10.0
"""Seconds for looking through the file; of a large one a part must do."""
_STEPS = 10_000
"""Of SQLite's machine, between two looks at the clock."""


def find_store(topic: str, path: Path, version: str) -> Finding:
    """The store's state; `version` is the one that this program knows."""
    if not path.exists():
        return Finding(topic=topic, name="store", told="not made yet; tenuto up makes it")
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=2.0)) as store:
            return _look(store, topic, path, version)
    except sqlite3.Error as error:
        return _broken(topic, f"{path} cannot be read ({error})")


def _look(store: sqlite3.Connection, topic: str, path: Path, version: str) -> Finding:
    found = store.execute("SELECT version_num FROM alembic_version").fetchone()
    if found is None or found[0] > version:
        told = f"its tables are of version {found and found[0]}, ours of {version}"
        return _broken(topic, told, "Upgrade tenuto, or name another store")
    whole, complete = _whole(store)
    if not complete:
        return _broken(topic, f"{path} is damaged: {whole}")
    told = f"version {found[0]}, {size(path.stat().st_size)}, {whole}"
    if (kind := file_system_of(path)) in SHARED:
        return Finding(
            topic=topic,
            name="store",
            status=Status.WARNING,
            told=f"{told}, on {kind}: SQLite's locks are not safe there",
            remedy="Put the home on a disk of this machine, or use PostgreSQL",
        )
    return Finding(topic=topic, name="store", told=told)


def _whole(store: sqlite3.Connection) -> tuple[str, bool]:
    """What a quick check says, and whether that is good."""
    until = time.monotonic() + _PATIENCE
    store.set_progress_handler(lambda: int(time.monotonic() > until), _STEPS)
    try:
        said = str(store.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.OperationalError as error:
        if "interrupted" not in str(error):
            raise
        return f"too large to be looked through in {_PATIENCE:g} s", True
    return ("whole", True) if said == "ok" else (said, False)


def _broken(topic: str, told: str, remedy: str = "") -> Finding:
    return Finding(
        topic=topic,
        name="store",
        status=Status.PROBLEM,
        told=told,
        remedy=remedy or "End the server and restore a backup; sqlite3 FILE .recover may save what is left",
    )
