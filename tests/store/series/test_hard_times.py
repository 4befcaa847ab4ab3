"""A history when its process is killed, its disk is full, its database is away, or it is of another version."""

from __future__ import annotations

import logging
import math
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.contracts.series_contract import DAY, GPU, NOON, everything, points, seconds
from tests.postgres import PostgresServer
from tests.store.series.conftest import BY_HAND

from tenuto.errors import InputInvalid
from tenuto.model.series import NODE, Subject
from tenuto.store import database
from tenuto.store.base import StoreUnavailable
from tenuto.store.database import sqlite_database
from tenuto.store.series.base import SeriesStore
from tenuto.store.series.memory import MemorySeries
from tenuto.store.series.open import open_series
from tenuto.store.series.pruning import Retention
from tenuto.store.series.sql import Manner, SqlSeries
from tenuto.wire.sample import Gap

ROOT = Path(__file__).parents[3]
HANG = 60.0


def check_integrity(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def wait_until(true: Callable[[], bool]) -> None:
    """Look often; give up if it takes too long."""
    pause = threading.Event()
    for _ in range(int(HANG / 0.01)):
        if true():
            return
        pause.wait(0.01)
    raise AssertionError("it did not come true")


def test_a_killed_process_loses_nothing_that_it_was_told_is_kept(history_file: Path) -> None:
    for lines in (1, 4):
        command = [sys.executable, "-m", "tests.store.series.writer", str(history_file)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
            assert process.stdout is not None
            told = [process.stdout.readline() for _ in range(lines)]
            process.send_signal(signal.SIGKILL)
            told += [line for line in process.stdout if line.endswith("\n")]
        kept = float(told[-1])
        check_integrity(history_file)
        with closing(open_series("", history_file, BY_HAND)) as series:
            until = math.nextafter(kept, math.inf)
            for part in ("", "gpu:0", "gpu:1"):
                subject = Subject(NODE, GPU.name, part)
                assert list(everything(series, subject, until=until).at) == [
                    NOON + i for i in range(math.floor(kept - NOON) + 1)
                ]
                minutes = everything(series, subject, until=until, step=60.0).at
                assert list(minutes) == [NOON + i for i in range(0, math.floor(kept - NOON) + 1, 60)]
            series.forget(NODE, GPU.name)


def test_nothing_that_is_closed_in_peace_is_lost(history_file: Path) -> None:
    series = open_series("", history_file, Manner())
    series.add([seconds(30)])
    series.close()
    with closing(open_series("", history_file, BY_HAND)) as series:
        assert len(everything(series).at) == 30
        assert series.kept(NODE, GPU.name) == NOON + 29


def test_a_full_disk_stops_nobody_and_everything_goes_on_when_there_is_room(
    history_file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    open_series("", history_file, BY_HAND).close()
    full = SqlSeries(sqlite_database(history_file, max_page_count=16, synchronous="NORMAL"), BY_HAND)
    subjects = [Subject(NODE, "n", f"gpu:{i}") for i in range(300)]
    full.add(
        [points([NOON + i / 7 for i in range(60)], one, power=[i / 7 for i in range(60)]) for one in subjects]
    )
    with pytest.raises(StoreUnavailable, match="is full"):
        full.flush()
    assert len(everything(full, subjects[-1]).at) == 60
    assert full.kept(NODE, "n") < NOON
    with full.database.writer.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 100000")
    full.flush()
    assert full.kept(NODE, "n") == NOON + 59 / 7
    assert full.health.dropped == full.health.waiting == 0
    full.close()
    check_integrity(history_file)


def test_a_thread_that_could_not_write_says_so_and_goes_on_by_itself(
    history_file: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    with closing(open_series("", history_file, Manner(every=0.01))) as series:
        assert isinstance(series, SqlSeries)
        with closing(sqlite3.connect(history_file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            series.add([seconds(100)])
            series.add_gaps("n", [Gap(since=NOON, until=NOON + 1, why="")])
            wait_until(lambda: "is locked" in series.health.trouble)
            assert len(everything(series).at) == 100
        wait_until(lambda: not series.health.trouble)
    assert "is not written" in caplog.text
    assert "is written again" in caplog.text


def test_a_name_is_forgotten_later_if_nothing_can_be_written_now(
    history_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    with closing(open_series("", history_file, BY_HAND)) as series:
        series.add([seconds(100)])
        series.flush()
        with closing(sqlite3.connect(history_file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            series.forget(NODE, GPU.name)
        series.add([seconds(3, NOON + 200)])
        series.flush()
        assert list(everything(series).at) == [NOON + 200, NOON + 201, NOON + 202]


def test_a_database_that_is_away_at_first_is_used_when_it_comes(
    postgres_server: PostgresServer, emptied_postgresql: str, tmp_path: Path
) -> None:
    postgres_server.stop()
    try:
        series = open_series(emptied_postgresql, tmp_path / "unused", Manner(every=0.05))
        assert isinstance(series, SqlSeries)
        series.add([seconds(61)])
        assert series.kept(NODE, GPU.name) == -math.inf
        wait_until(lambda: "cannot be reached" in series.health.trouble)
        with pytest.raises(StoreUnavailable):
            everything(series)
    finally:
        postgres_server.start()
    wait_until(lambda: not series.health.trouble)
    series.flush()
    assert len(everything(series).at) == 61
    series.close()


def test_numbers_that_nobody_can_write_do_not_hold_up_the_others(
    emptied_postgresql: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(open_series(emptied_postgresql, tmp_path / "unused", BY_HAND)) as series:
        assert isinstance(series, SqlSeries)
        subjects = [Subject(NODE, name) for name in ("a", "with\0nothing", "b", "c")]
        series.add([seconds(3, subject=one) for one in subjects])
        gap = Gap(since=NOON, until=NOON + 1, why="")
        series.add_gaps("a", [gap, Gap(since=NOON, until=NOON + 2, why="\0")])
        series.flush()
        assert series.subjects(NODE) == [Subject(NODE, name) for name in "abc"]
        assert series.health.dropped == 3
        assert series.gaps("a", NOON, NOON + 9) == [gap]
    assert "with" in caplog.text and "a gap of a cannot be kept" in caplog.text


def test_a_history_of_a_newer_program_is_not_touched(history_file: Path) -> None:
    with closing(open_series("", history_file, BY_HAND)) as series:
        series.add([seconds(3)])
    with closing(sqlite3.connect(history_file)) as connection, connection:
        connection.execute("UPDATE series_about SET value = 9 WHERE key = 'format'")
    before = history_file.read_bytes()
    with pytest.raises(InputInvalid, match="a newer tenuto") as refused:
        open_series("", history_file, BY_HAND)
    assert "Upgrade" in refused.value.remedy
    assert history_file.read_bytes() == before


def test_a_store_in_memory_keeps_its_numbers_there(tmp_path: Path) -> None:
    assert isinstance(open_series("memory:", tmp_path / "unused", BY_HAND), MemorySeries)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_if_nothing_shall_be_kept(history_file: Path) -> None:
    manner = Manner(every=0.0, retention=Retention(raw=0.0, minutes=0.0))
    with closing(open_series("", history_file, manner)) as series:
        series.add([seconds(600)])
        series.flush()
        assert len(everything(series).at) == 600
        series.prune(NOON + 600)
        assert everything(series).at == []
        assert everything(series, step=60.0).at == []


def test_a_clock_that_was_a_year_ahead_takes_what_there_was_and_nothing_more(history_file: Path) -> None:
    with closing(open_series("", history_file, BY_HAND)) as series:
        series.add([seconds(120)])
        series.flush()
        series.prune(NOON + 365 * DAY)
        assert everything(series).at == []

        series.prune(NOON + 300)
        series.add([seconds(120, NOON + 360)])
        series.flush()
        assert list(everything(series).at) == [NOON + 360 + i for i in range(120)]
        assert list(everything(series, step=60.0).at) == [NOON + 360, NOON + 420]


def test_room_is_given_back_when_less_shall_be_kept(history_file: Path) -> None:
    long = Manner(every=0.0)
    with closing(open_series("", history_file, long)) as series:
        fill(series, minutes=20)
    before = history_file.stat().st_size
    short = Manner(every=0.0, retention=Retention(raw=60.0, minutes=60.0))
    with closing(open_series("", history_file, short)) as series:
        assert series.prune(NOON + DAY) > 20 * 100
    assert history_file.stat().st_size < 0.75 * before
    check_integrity(history_file)


def fill(series: SeriesStore, minutes: int) -> None:
    """Much that cannot be pressed together."""
    for minute in range(minutes):
        at = [NOON + 60 * minute + i + (i * 997 % 100) / 1000 for i in range(60)]
        rough = [math.sin(i * minute) for i in range(60)]
        series.add(
            [points(at, Subject(NODE, "n", f"gpu:{gpu}"), power=rough, fan=rough[::-1]) for gpu in range(100)]
        )
    series.flush()


def test_points_come_in_while_old_ones_are_thrown_away(history_file: Path) -> None:
    with closing(open_series("", history_file, Manner(every=0.01, retention=Retention(raw=60.0)))) as series:
        fill(series, minutes=10)
        pruning = threading.Thread(target=series.prune, args=(NOON + DAY,))
        pruning.start()
        for second in range(100):
            series.add([seconds(1, NOON + DAY + second)])
        pruning.join(HANG)
        series.flush()
        assert len(everything(series).at) == 100
        assert list(everything(series, Subject(NODE, "n", "gpu:7")).at) == [NOON + 60 * i for i in range(10)]
