"""Stores to test: each test gets a fresh one, copied from one that was migrated once."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.postgres import PostgresServer, program

from tenuto.store.open import open_store
from tenuto.store.tables import metadata

pytest.register_assert_rewrite("tests.contracts.store_contract", "tests.contracts.quarantine_contract")


@pytest.fixture(scope="session")
def empty_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with all tables and nothing in them."""
    path = tmp_path_factory.mktemp("store") / "empty.sqlite"
    open_store(f"sqlite:///{path}").close()
    return path


@pytest.fixture
def sqlite_path(empty_sqlite: Path, tmp_path: Path) -> Path:
    """A fresh store's file, with a name that needs care."""
    path = tmp_path / "저장소 50%#" / "store.sqlite"
    path.parent.mkdir()
    shutil.copy(empty_sqlite, path)
    return path


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One server for all tests of this process."""
    if program("postgres") is None or program("initdb") is None or program("pg_ctl") is None:
        pytest.skip("PostgreSQL's server programs are not installed (Debian: postgresql)")
    server = PostgresServer()
    try:
        yield server
    finally:
        server.remove()


@pytest.fixture(scope="session")
def migrated_postgresql(postgres_server: PostgresServer) -> str:
    """The name of a database with all tables."""
    name = postgres_server.new_database()
    open_store(postgres_server.url(name)).close()
    return name


@pytest.fixture
def postgresql_url(postgres_server: PostgresServer, migrated_postgresql: str) -> str:
    """An empty store's address. Emptying a database is much faster than making one."""
    names = ", ".join(name for name in metadata.tables if name != "counters")
    postgres_server.sql(f"TRUNCATE {names}", migrated_postgresql)
    postgres_server.sql("UPDATE counters SET revision=0, jobs=0, nodes=0, events=0", migrated_postgresql)
    return postgres_server.url(migrated_postgresql)
