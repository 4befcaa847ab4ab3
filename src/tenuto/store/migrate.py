"""Brings a database to the tables of this program when it is opened.

Alembic is loaded only if there is something to do: a start on an up-to-date store must not wait for it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import inspect, text

from tenuto.errors import InputInvalid

if TYPE_CHECKING:
    from sqlalchemy import Connection

HEAD = "3"
"""The newest version in `migrations/versions`."""


def is_current(connection: Connection) -> bool:
    """Whether the database has the tables of this program."""
    return _version(connection) == HEAD


def migrate(connection: Connection, where: str) -> None:
    """Run what the database lacks, inside the caller's transaction. `where` is how users name the database."""
    version = _version(connection)
    if version == HEAD:
        return
    from alembic.command import upgrade
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if version is not None and version not in known:
        raise InputInvalid(
            f"{where} was written by a newer tenuto (its tables are of version {version}, ours of {HEAD})",
            remedy="Upgrade tenuto, or name another store",
        )
    upgrade(config, "head")


def _version(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
