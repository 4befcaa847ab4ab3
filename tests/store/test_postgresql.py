"""The store in PostgreSQL keeps the contract, and what only a server that others use can show."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from random import Random
from typing import Any

import pytest
from sqlalchemy import Connection, event
from sqlalchemy.exc import DBAPIError
from tests.contracts.store_contract import HANG, StoreContract, event_ids
from tests.postgres import PostgresServer
from tests.store.records import a_job, adding
from tests.store.two_stores import hear_of_another, write_in_turn

from tenuto.model.job import Job
from tenuto.store.base import Store, StoreUnavailable, Tx
from tenuto.store.open import open_store
from tenuto.store.sql import SqlStore


@pytest.fixture
def store(postgresql_url: str) -> Iterator[Store]:
    store = open_store(postgresql_url)
    yield store
    store.close()


class TestPostgresqlStore(StoreContract):
    """Everything that every store promises."""


def test_two_processes_write_in_turn(postgresql_url: str) -> None:
    write_in_turn(postgresql_url)


def test_a_process_hears_of_what_another_wrote(postgresql_url: str) -> None:
    hear_of_another(postgresql_url)


def test_two_processes_may_open_a_new_database_at_once(postgres_server: PostgresServer) -> None:
    url = postgres_server.url(postgres_server.new_database())
    with ThreadPoolExecutor(2) as threads:
        one, other = threads.map(open_store, [url, url], timeout=HANG)
    with closing(one), closing(other):
        one.write(adding(a_job()))
        assert other.write(adding(a_job())).number == 2


def end_connections(server: PostgresServer) -> None:
    server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tenuto'")


def test_a_lost_connection_is_made_again(store: Store, postgres_server: PostgresServer) -> None:
    store.write(adding(a_job()))
    store.read(lambda tx: tx.live_jobs())
    end_connections(postgres_server)
    assert len(store.read(lambda tx: tx.live_jobs())) == 1
    end_connections(postgres_server)
    assert store.write(adding(a_job())).number == 2


def test_an_act_whose_connection_is_lost_is_done_once(store: Store, postgres_server: PostgresServer) -> None:
    """The connection ends after the act's statements and before its commit: nothing is stored, so it is run again."""
    runs: list[int] = []

    def act(tx: Tx) -> Job:
        job = tx.add_job(a_job())
        runs.append(job.number)
        if len(runs) == 1:
            end_connections(postgres_server)
        return job

    stored = store.write(act)
    assert runs == [1, 1]
    assert store.read(lambda tx: tx.live_jobs()) == [stored]


def test_a_commit_whose_answer_was_lost_is_not_repeated(store: Store) -> None:
    """The server commits, then the connection ends before anybody hears of it."""
    assert isinstance(store, SqlStore)
    lost: list[Any] = []

    def commit_and_lose(connection: Connection) -> None:
        if not lost:
            driver: Any = connection.connection.dbapi_connection
            driver.commit()
            driver.close()
            lost.append(driver)

    event.listen(store.database.writer, "commit", commit_and_lose)
    stored = store.write(adding(a_job()))
    assert lost
    assert store.read(lambda tx: tx.live_jobs()) == [stored]
    assert event_ids(store) == [1]
    assert store.write(adding(a_job())).revision == 2


@pytest.mark.usefixtures("postgres_server")  # skipped where there can be none
def test_a_server_that_is_down_is_told_and_found_again() -> None:
    """On a server of its own, so that the others go on."""
    server = PostgresServer()
    try:
        with closing(open_store(server.url(server.new_database()))) as store:
            stored = store.write(adding(a_job("훈련")))
            server.stop()
            for doomed in (
                lambda: store.write(adding(a_job())),
                lambda: store.read(lambda tx: tx.live_jobs()),
            ):
                with pytest.raises(StoreUnavailable, match="cannot be reached") as caught:
                    doomed()
                assert caught.value.remedy
            server.start()
            assert store.read(lambda tx: tx.live_jobs()) == [stored]
            assert store.write(adding(a_job())).number == 2
    finally:
        server.remove()


def test_a_server_that_takes_no_writes_is_told(store: Store, postgres_server: PostgresServer) -> None:
    store.write(adding(a_job()))
    postgres_server.sql("ALTER SYSTEM SET default_transaction_read_only = on")
    postgres_server.sql("SELECT pg_reload_conf()")
    try:
        with pytest.raises(StoreUnavailable, match="takes no writes"):
            for _ in range(1000):  # the server reads its settings in its own time
                store.write(adding(a_job()))
    finally:
        postgres_server.sql("ALTER SYSTEM RESET default_transaction_read_only")
        postgres_server.sql("SELECT pg_reload_conf()")


def test_text_that_postgresql_cannot_hold_harms_only_its_own_act(store: Store) -> None:
    with pytest.raises(Exception, match="NUL"):
        store.write(adding(a_job(owner="a\0b")))
    assert store.write(adding(a_job())).number == 1


def test_a_name_that_no_index_holds_harms_only_its_own_act(store: Store) -> None:
    letters = Random(1)
    endless = "".join(chr(letters.randrange(0xAC00, 0xD7A0)) for _ in range(9000))
    with pytest.raises(DBAPIError, match="index row"):
        store.write(adding(a_job(endless)))
    assert store.write(adding(a_job())).number == 1


def test_a_database_that_does_not_exist_is_told(postgres_server: PostgresServer) -> None:
    with pytest.raises(StoreUnavailable, match="nowhere"):
        open_store(postgres_server.url("nowhere"))
