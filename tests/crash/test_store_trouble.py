"""A store that takes no writes: everybody is told, nothing is broken, and all goes on when it takes them again."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from tests.e2e.jobs import FOREVER, a_job
from tests.e2e.platform import Platform, eventually
from tests.postgres import PostgresServer, program

from tenuto.client.plain import PlainClient
from tenuto.store.base import StoreUnavailable

BULKY = {"FRACHT": "x" * 30_000}


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Platform]:
    made = Platform(tmp_path / "haus", "--slots", "2")
    yield made
    made.end()


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    if program("initdb") is None:
        pytest.skip("PostgreSQL's server programs are not installed (Debian: postgresql)")
    server = PostgresServer()
    yield server
    server.remove()


def submit_until_refused(client: PlainClient) -> list[str]:
    """The ids of the jobs that were taken before the store took no more."""
    taken: list[str] = []
    with pytest.raises(StoreUnavailable):
        while len(taken) < 1000:
            taken.append(client.submit(a_job(f"paczka-{len(taken)}", FOREVER, env=BULKY))["id"])
    return taken


def refusal(platform: Platform) -> httpx.Response:
    token = (platform.home / "token").read_text().strip()
    return httpx.post(
        f"{platform.told['url']}/api/v1/jobs",
        headers={"Authorization": f"Bearer {token}"},
        json=a_job("eins-zu-viel", ["true"], env=BULKY),
        trust_env=False,
        timeout=30,
    )


def check_goes_on(platform: Platform, accepted: list[str], running: str, pid: int) -> None:
    """Everything accepted is there, who ran runs, and new jobs are taken."""
    with platform.client(patience=20.0) as client:
        for job in accepted:
            assert client.act(job, "cancel")["id"] == job
        again = client.submit(a_job("znowu", ["true"]))["id"]
    platform.wait_for(again, "succeeded")
    assert platform.job(running)["state"] == "running"
    assert [process.pid for process in platform.workers().values()] == [pid]


def begin(platform: Platform) -> tuple[str, int]:
    """A job that runs all the time."""
    with platform.client(patience=5.0) as client:
        running = client.submit(a_job("läuft", FOREVER))["id"]
    platform.wait_for(running, "running")
    (process,) = platform.workers().values()
    return running, process.pid


def test_a_full_store_refuses_and_takes_up_work_when_there_is_room(platform: Platform) -> None:
    store = platform.home / "store.sqlite"
    platform.up("--store", f"sqlite:///{store}?max_page_count=120")
    running, pid = begin(platform)
    with platform.client() as client:
        accepted = submit_until_refused(client)

    answer = refusal(platform)
    assert (answer.status_code, answer.json()["code"]) == (503, "store_unavailable")
    assert answer.json()["remedy"]
    told = platform.cli("run", "--detach", "--env", f"FRACHT={BULKY['FRACHT']}", "--", "true", code=75)
    assert "full" in told or "room" in told

    platform.stop()
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    platform.up()
    check_goes_on(platform, accepted, running, pid)
    platform.down()
    platform.leaves_nothing()


def test_a_store_that_becomes_read_only_refuses_until_it_can_be_written_again(
    platform: Platform, postgres: PostgresServer
) -> None:
    platform.up("--store", postgres.url(postgres.new_database()))
    running, pid = begin(platform)

    postgres.sql("ALTER SYSTEM SET default_transaction_read_only = on")
    postgres.sql("SELECT pg_reload_conf()")
    try:
        answer = eventually(
            lambda: answer if (answer := refusal(platform)).status_code != 201 else None, "it is read-only"
        )
        assert (answer.status_code, answer.json()["code"]) == (503, "store_unavailable")
        platform.cli("cancel", running, code=75)
    finally:
        postgres.sql("ALTER SYSTEM RESET default_transaction_read_only")
        postgres.sql("SELECT pg_reload_conf()")

    check_goes_on(platform, [], running, pid)
    platform.down()
    platform.leaves_nothing()
