"""SQLite when the process is killed, the disk is full, or nothing may be written: nothing stored is lost."""

from __future__ import annotations

import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.contracts.store_contract import at_once, event_ids
from tests.store.records import a_job, adding

from tenuto.store.base import Store, StoreUnavailable, Tx
from tenuto.store.open import open_store

ROOT = Path(__file__).parents[2]


def check_integrity(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def stored_ids(store: Store) -> set[str]:
    return {job.id for job in store.read(lambda tx: tx.live_jobs())}


def fill(store: Store) -> tuple[set[str], StoreUnavailable]:
    """Submit until the store refuses: what it took, and what it said."""
    taken: set[str] = set()
    while len(taken) < 10_000:
        try:
            taken.add(store.write(adding(a_job(message="가득 " * 300))).id)
        except StoreUnavailable as error:
            return taken, error
    raise AssertionError("the store was never full")


def removing(job: str) -> Callable[[Tx], None]:
    return lambda tx: tx.remove_job(job)


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """As if the disk had no more room: this process cannot make a file longer."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("after", [1, 200])
def test_a_killed_process_loses_nothing_that_it_was_told_is_stored(sqlite_path: Path, after: int) -> None:
    command = [sys.executable, "-m", "tests.store.writers", f"sqlite:///{sqlite_path}", "4"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        told = [process.stdout.readline().strip() for _ in range(after)]
        process.send_signal(signal.SIGKILL)
        told += [line.strip() for line in process.stdout]
    assert len(told) >= after
    with closing(open_store(f"sqlite:///{sqlite_path}")) as store:
        stored = stored_ids(store)
        assert set(told) <= stored
        assert len(stored) <= len(told) + 4  # what the last commit of four threads held and nobody was told
        assert event_ids(store, limit=10**6) == list(range(1, len(stored) + 1))
        store.write(adding(a_job()))
    check_integrity(sqlite_path)


def test_a_full_store_says_so_and_keeps_what_it_has(sqlite_path: Path) -> None:
    with closing(open_store(f"sqlite:///{sqlite_path}?max_page_count=120")) as store:
        taken, error = fill(store)
        assert "is full" in str(error)
        assert error.remedy
        assert stored_ids(store) == taken
        assert event_ids(store, limit=10_000) == list(range(1, len(taken) + 1))
        for job in sorted(taken)[:5]:
            store.write(removing(job))
        stored = store.write(adding(a_job()))
        assert stored.number == len(taken) + 1
    check_integrity(sqlite_path)
    with closing(open_store(f"sqlite:///{sqlite_path}")) as store:
        for _ in range(50):
            store.write(adding(a_job(message="넓다 " * 300)))
        assert len(stored_ids(store)) == len(taken) - 5 + 1 + 50
    check_integrity(sqlite_path)


def test_acts_that_still_fit_are_stored_beside_one_that_does_not(sqlite_path: Path) -> None:
    with closing(open_store(f"sqlite:///{sqlite_path}?max_page_count=120")) as store:
        too_large = a_job(message="x" * 2_000_000)

        small = [adding(a_job()) for _ in range(3)]
        results = at_once(store, [small[0], adding(too_large), *small[1:]])
        assert [isinstance(result, StoreUnavailable) for result in results] == [False, True, False, False]
        assert len(stored_ids(store)) == 3
        assert event_ids(store) == [1, 2, 3]


def test_a_disk_that_takes_no_more_harms_nothing(sqlite_path: Path) -> None:
    with closing(open_store(f"sqlite:///{sqlite_path}")) as store:
        first = store.write(adding(a_job())).id
        with files_of_at_most(300_000):
            taken, error = fill(store)
            assert str(sqlite_path) in str(error)
            assert stored_ids(store) == taken | {first}
        after = store.write(adding(a_job()))
        assert after.number == len(taken) + 2
        assert stored_ids(store) == taken | {first, after.id}
    check_integrity(sqlite_path)


@contextmanager
def process_without_rights(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that may not write what root made; it says what a store tells it (`without_rights`)."""
    command = [sys.executable, "-m", "tests.store.without_rights", str(path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()
    assert process.returncode == 0


def ask(process: subprocess.Popen[str], question: str) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{question}\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


@pytest.fixture
def open_directory(empty_sqlite: Path) -> Iterator[Path]:
    """A directory that everybody reaches, unlike pytest's own, with an empty store in it."""
    with TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        shutil.copy(empty_sqlite, Path(name) / "store.sqlite")
        yield Path(name)


def test_a_store_that_may_not_be_written_says_so_until_it_may(open_directory: Path) -> None:
    path = open_directory / "store.sqlite"
    with process_without_rights(path) as process:
        assert ask(process, "fill") == "filled"
        path.chmod(0o444)
        assert ask(process, "drop rights") == "dropped"
        assert ask(process, "open") == "opened, 1 job"
        refusal = ask(process, "write")
        assert "cannot be written" in refusal
        assert "writable" in refusal
        for file in open_directory.iterdir():  # SQLite has made two beside it, with its rights
            file.chmod(0o666)
        assert ask(process, "write") == "written, 2 jobs"
    check_integrity(path)


def test_a_store_in_a_directory_that_may_not_be_written_says_so_at_once(open_directory: Path) -> None:
    path = open_directory / "store.sqlite"
    with process_without_rights(path) as process:
        assert ask(process, "fill") == "filled"
        path.chmod(0o444)
        open_directory.chmod(0o555)
        assert ask(process, "drop rights") == "dropped"
        refusal = ask(process, "open")
        assert str(path) in refusal
        assert "writable" in refusal
        open_directory.chmod(0o777)
        path.chmod(0o666)
        assert ask(process, "open") == "opened, 1 job"
        assert ask(process, "write") == "written, 2 jobs"
