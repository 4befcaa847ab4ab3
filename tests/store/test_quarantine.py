"""Stores in databases keep the contract about records that cannot be read, and what only SQLite can show."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.contracts.quarantine_contract import QuarantineContract, Spoil, reported
from tests.contracts.store_contract import add, listed
from tests.postgres import PostgresServer
from tests.store.records import a_job

from tenuto.store.base import Store
from tenuto.store.open import open_store


def statement(table: str, condition: str, text: str) -> str:
    column = "value" if table == "meta" else "record"
    return f"UPDATE {table} SET {column} = '{text}' WHERE {condition}"


class TestSqliteQuarantine(QuarantineContract):
    @pytest.fixture
    def reopened(self, sqlite_path: Path) -> Callable[[], Store]:
        return lambda: open_store(f"sqlite:///{sqlite_path}")

    @pytest.fixture
    def store(self, reopened: Callable[[], Store]) -> Iterator[Store]:
        with closing(reopened()) as store:
            yield store

    @pytest.fixture
    def spoil(self, sqlite_path: Path) -> Spoil:
        def spoil(table: str, condition: str, text: str) -> None:
            with closing(sqlite3.connect(sqlite_path)) as connection, connection:
                connection.execute(statement(table, condition, text))

        return spoil

    @pytest.mark.parametrize("damage", [b"\xff\xfe", b"[\x80", b"\0\0\0\0"])
    def test_bytes_that_are_no_text_are_passed_over(
        self, store: Store, sqlite_path: Path, damage: bytes
    ) -> None:
        jobs = add(store, a_job("a"), a_job("b"))
        for cast in ("TEXT", "BLOB"):
            with closing(sqlite3.connect(sqlite_path)) as connection, connection:
                connection.execute(
                    f"UPDATE jobs SET record = CAST(? AS {cast}) WHERE id = ?",
                    (damage, jobs[0].id),
                )

            assert listed(store) == ["b"]
            assert store.read(lambda tx: tx.live_jobs()) == [jobs[1]]
        assert [event.job for event in reported(store)] == [jobs[0].id]


class TestPostgresqlQuarantine(QuarantineContract):
    @pytest.fixture
    def reopened(self, postgresql_url: str) -> Callable[[], Store]:
        return lambda: open_store(postgresql_url)

    @pytest.fixture
    def store(self, reopened: Callable[[], Store]) -> Iterator[Store]:
        with closing(reopened()) as store:
            yield store

    @pytest.fixture
    def spoil(self, postgres_server: PostgresServer, migrated_postgresql: str) -> Spoil:
        def spoil(table: str, condition: str, text: str) -> None:
            postgres_server.sql(statement(table, condition, text), migrated_postgresql)

        return spoil
