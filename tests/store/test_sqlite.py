"""The store in a SQLite file keeps the contract, and what only a file can show."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError
from tests.contracts.store_contract import StoreContract
from tests.store.records import a_job, a_job_with_everything, adding
from tests.store.two_stores import hear_of_another, write_in_turn

from tenuto.store.base import Store, StoreUnavailable
from tenuto.store.database import Database
from tenuto.store.open import open_store
from tenuto.store.sql import SqlStore


@pytest.fixture
def store(sqlite_path: Path) -> Iterator[Store]:
    store = open_store(f"sqlite:///{sqlite_path}")
    yield store
    store.close()


class TestSqliteStore(StoreContract):
    """Everything that every store promises."""


def test_what_was_stored_is_there_after_reopening(sqlite_path: Path) -> None:
    first = open_store(f"sqlite:///{sqlite_path}")
    stored = first.write(adding(a_job_with_everything()))
    first.close()
    again = open_store(f"sqlite:///{sqlite_path}")
    try:
        assert again.read(lambda tx: tx.live_jobs()) == [stored]
        assert again.write(adding(a_job())).number == 2
    finally:
        again.close()


def test_a_new_file_is_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "home" / "store.sqlite"
    open_store(f"sqlite:///{path}").close()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_commits_survive_a_loss_of_power(store: Store) -> None:
    """Nobody can pull the plug in a test; the settings that SQLite's documentation demands can be read."""
    assert isinstance(store, SqlStore)
    with store.database.writer.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL


def test_two_stores_on_one_file_write_in_turn(sqlite_path: Path) -> None:
    write_in_turn(f"sqlite:///{sqlite_path}")


def test_a_store_hears_of_what_another_wrote(sqlite_path: Path) -> None:
    hear_of_another(f"sqlite:///{sqlite_path}")


def test_a_store_that_another_process_locks_says_so(store: Store, sqlite_path: Path) -> None:
    store.write(adding(a_job("before")))
    assert isinstance(store, SqlStore)
    with store.database.writer.connect() as connection:
        connection.exec_driver_sql("PRAGMA busy_timeout = 50")  # instead of seconds
    with closing(sqlite3.connect(sqlite_path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="locked by another process") as caught:
            store.write(adding(a_job("during")))
        assert caught.value.remedy
        assert len(store.read(lambda tx: tx.live_jobs())) == 1
        other.execute("ROLLBACK")
    assert store.write(adding(a_job("after"))).number == 2


def test_a_record_of_the_wrong_kind_is_refused_when_it_is_written(store: Store) -> None:
    with pytest.raises(ValueError, match="slots"):
        store.write(adding(a_job(slots={"node-0": [0, 1]})))
    with pytest.raises(ValueError, match="surrogates"):
        store.write(adding(a_job(owner="half a \ud800 character")))
    assert store.read(lambda tx: tx.live_jobs()) == []
    assert store.write(adding(a_job())).number == 1


def test_the_writer_goes_on_though_a_connection_cannot_be_closed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Database) -> None:
        raise OSError("gniazdo")

    def refused(tx: Any) -> None:
        tx._run(text("SELECT nothing FROM nowhere"))

    with monkeypatch.context() as patched:
        patched.setattr(Database, "dispose", broken)
        with pytest.raises(OperationalError):
            store.write(refused)

    assert store.write(lambda tx: tx.add_job(a_job("nach dem Fehler"))).number == 1
