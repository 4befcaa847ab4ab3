"""The tables: built by migrations, equal to what the program expects, and refused when they are newer."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine
from tests.contracts.store_contract import names
from tests.store.records import a_job, adding

import tenuto.store.migrations
from tenuto.errors import InputInvalid
from tenuto.model.phase import Phase
from tenuto.store.base import Token
from tenuto.store.migrate import HEAD
from tenuto.store.open import open_store
from tenuto.store.tables import metadata

MIGRATIONS = Path(tenuto.store.migrations.__file__).parent


def differences(url: str) -> list[object]:
    """Where the tables are not as the program expects."""
    engine = create_engine(url)
    try:
        with engine.connect() as connection:
            opts = {"compare_server_default": True, "include_name": _is_the_stores}
            context = MigrationContext.configure(connection, opts=opts)
            return list(compare_metadata(context, metadata))
    finally:
        engine.dispose()


def _is_the_stores(name: str | None, kind: str, _: object) -> bool:
    """The history of numbers has tables of its own in the same PostgreSQL, and looks after them itself."""
    return kind != "table" or name is None or not name.startswith("series_")


def test_the_migrations_build_the_tables_in_sqlite(empty_sqlite: Path) -> None:
    assert differences(f"sqlite:///{empty_sqlite}") == []


def test_the_migrations_build_the_tables_in_postgresql(postgresql_url: str) -> None:
    assert differences(postgresql_url.replace("postgresql:", "postgresql+psycopg:", 1)) == []


def test_the_program_knows_its_newest_version() -> None:
    assert ScriptDirectory(str(MIGRATIONS)).get_heads() == [HEAD]


def test_a_database_of_a_newer_program_is_refused_and_left_alone(sqlite_path: Path) -> None:
    with closing(sqlite3.connect(sqlite_path)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '99'")
    before = sqlite_path.read_bytes()
    with pytest.raises(InputInvalid, match="newer tenuto") as caught:
        open_store(f"sqlite:///{sqlite_path}")
    assert "Upgrade tenuto" in caught.value.remedy
    assert sqlite_path.read_bytes() == before


def test_a_database_with_other_tables_gets_ours_beside_them(tmp_path: Path) -> None:
    path = tmp_path / "shared.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE 메모 (text)")
        connection.execute("INSERT INTO 메모 VALUES ('keep')")
    with closing(open_store(f"sqlite:///{path}")) as store:
        store.write(adding(a_job("훈련")))
        assert names(store.read(lambda tx: tx.live_jobs())) == ["훈련"]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT text FROM 메모").fetchall() == [("keep",)]


def as_it_was_in_version_1(path: Path) -> None:
    """Take back what later versions added."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP INDEX jobs_by_moment_of_end")
        connection.execute("ALTER TABLE jobs DROP COLUMN ended_at")
        connection.execute("UPDATE alembic_version SET version_num = '1'")
        _without_credentials(connection)


def _without_credentials(connection: sqlite3.Connection) -> None:
    added = (
        *(
            "name",
            "node",
            "used_at",
            "revoked_at",
            "expires_at",
            "approved",
            "rotate",
            "replaces",
            "released",
        ),
    )
    for column in added:
        connection.execute(f"ALTER TABLE tokens DROP COLUMN {column}")
    connection.execute("DROP TABLE page_sessions")


def test_the_token_that_all_nodes_shared_becomes_the_one_with_which_nodes_join(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    shared, user = Token(digest="a" * 64, user="nodes", kind="node"), Token(digest="b" * 64, user="kim")
    with closing(open_store(f"sqlite:///{path}")) as store:
        store.write(lambda tx: tx.add_token(shared))
        store.write(lambda tx: tx.add_token(user))
    with closing(sqlite3.connect(path)) as connection, connection:
        _without_credentials(connection)
        connection.execute("UPDATE alembic_version SET version_num = '2'")

    with closing(open_store(f"sqlite:///{path}")) as store:
        assert store.read(lambda tx: tx.tokens()) == [replace(shared, kind="join"), user]
    assert differences(f"sqlite:///{path}") == []


def test_a_store_of_the_first_version_knows_its_past_in_order_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    with closing(open_store(f"sqlite:///{path}")) as store:
        for name, ended_at in (("둘째", 20.5), ("첫째", 10.5)):
            store.write(adding(a_job(name, phase=Phase.SUCCEEDED, ended_at=ended_at)))
        store.write(adding(a_job("아직")))
    as_it_was_in_version_1(path)

    with closing(open_store(f"sqlite:///{path}")) as store:
        assert names(store.read(lambda tx: tx.ended_jobs((0.0, 0), 10))) == ["첫째", "둘째"]
    assert differences(f"sqlite:///{path}") == []


def test_alembic_is_not_loaded_for_an_up_to_date_store(sqlite_path: Path) -> None:
    program = (
        "import sys; from tenuto.store.open import open_store; open_store(sys.argv[1]).close();"
        "print([name for name in sys.modules if name.startswith('alembic')])"
    )
    command = [sys.executable, "-c", program, f"sqlite:///{sqlite_path}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
