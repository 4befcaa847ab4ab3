"""The history of numbers under load: what it takes in, how large it becomes, how fast it answers, how it forgets."""

from __future__ import annotations

import os
import random
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.control.figures import Report

from monitoring.feed import BEGIN, GPUS, UPLOAD, Feed, samples
from tenuto.model.series import Subject
from tenuto.monitor.columns import points_of
from tenuto.store.series.base import SeriesQuery
from tenuto.store.series.open import open_series
from tenuto.store.series.pruning import Retention
from tenuto.store.series.sql import Manner, SqlSeries
from tenuto.wire.codec import decode, encode
from tenuto.wire.node import Samples

DAY = 86_400


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    nodes: int
    minutes: int
    days: int
    """For which a node of eight GPUs is played."""


SMALL = Size(nodes=50, minutes=3, days=1)
FULL = Size(nodes=1000, minutes=10, days=2)


def measure(report: Report, size: Size, store: str = "") -> None:
    """Everything."""
    report.note(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the beginning")
    _way_in(report)
    with TemporaryDirectory(prefix="history-") as directory:
        _intake(report, size, Path(directory) / "intake.db", store)
        _days(report, size, Path(directory) / "days.db")


class Simulated:
    """A clock that is set by whoever feeds."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def _opened(file: Path, manner: Manner, store: str = "") -> SqlSeries:
    series = open_series(store, file, manner)
    assert isinstance(series, SqlSeries)
    return series


def _way_in(report: Report) -> None:
    """What one upload takes before anything is written."""
    told = Samples(node="node-0000", session="s", samples=tuple(samples(random.Random(1), BEGIN, UPLOAD)))
    body = encode(told)
    with (
        TemporaryDirectory() as directory,
        closing(_opened(Path(directory) / "m.db", Manner(every=0.0))) as series,
    ):
        for what, act in (
            ("JSON to samples", lambda: decode(Samples, body)),
            ("samples to points", lambda: points_of(told.node, told.samples)),
            ("points to the history", lambda: series.add(points_of(told.node, told.samples))),
        ):
            each = _cpu(act, 200)
            if what == "points to the history":
                each -= _cpu(lambda: points_of(told.node, told.samples), 200)
            report.add(
                f"The way in: an upload of {UPLOAD} samples, 8 GPUs, 64 cores, {len(body):,} bytes",
                {"what": what, "µs": each * 1e6, "% of a core at 1,000 nodes": each * 1000 / UPLOAD * 100},
            )


def _cpu(act: Callable[[], object], count: int) -> float:
    """Processor seconds for each, the least of five rounds."""
    rounds = []
    for _ in range(5):
        begun = time.process_time()
        for _ in range(count):
            act()
        rounds.append((time.process_time() - begun) / count)
    return min(rounds)


def _intake(report: Report, size: Size, file: Path, store: str) -> None:
    """All nodes at once, as fast as it goes, with no more than two minutes between what is told and what is written."""
    clock, feed = Simulated(), Feed(size.nodes)
    with closing(_opened(file, Manner(every=0.25, clock=clock), store)) as series:
        begun, spent, behind = time.monotonic(), time.process_time(), 0
        per_minute = sum(len(p.at) for p in feed.upload(0, BEGIN)) * size.nodes * 60 // UPLOAD
        for second in range(0, size.minutes * 60, UPLOAD):
            clock.now = float(second)
            for points in feed.all_nodes(BEGIN + second):
                series.add(points)
            while (waiting := series.health.waiting) > 2.2 * per_minute:
                time.sleep(0.2)
            behind = max(behind, waiting)
        series.flush()
        passed, spent = time.monotonic() - begun, time.process_time() - spent
        lost = _missing(series, feed, size)
        report.add(
            f"{size.nodes:,} nodes x {GPUS} GPUs, a sample a second, {size.minutes} minutes"
            + (" in PostgreSQL" if store else ""),
            {
                "points": series.health.points,
                "points/s": series.health.points / passed,
                "times real time": size.minutes * 60 / passed,
                "% of a core": spent / (size.minutes * 60) * 100,
                "lost": lost + series.health.dropped,
            },
        )
        if not store:
            _sizes(report, series)


def _missing(series: SqlSeries, feed: Feed, size: Size) -> int:
    """Points that were told and cannot be read."""
    missing = 0
    for node, name in enumerate(feed.names):
        for told in feed.upload(node, BEGIN):
            found = series.read(SeriesQuery(subject=told.subject, since=0.0, until=BEGIN + DAY))
            missing += size.minutes * 60 - len(found.at)
            if node % 50 == 0:
                missing += sum(list(found.values[n][:UPLOAD]) != list(c) for n, c in told.values.items())
        assert name
    return missing


def _sizes(report: Report, series: SqlSeries) -> None:
    with series.database.readers.connect() as connection:
        found = connection.exec_driver_sql(
            "SELECT CASE WHEN part LIKE 'gpu:%' THEN 'GPU' WHEN part = '' THEN 'node' ELSE part END AS what,"
            " avg(length(chunk)) FROM series_raw JOIN series_subjects ON id = subject GROUP BY what"
        ).fetchall()
    for what, raw in found:
        report.add("Bytes of a minute at a sample a second", {"subject": what, "raw": float(raw)})


def _days(report: Report, size: Size, file: Path) -> None:
    """One node for days: how fast a day is read, how large all is, before and after what is old has gone."""
    clock, feed = Simulated(), Feed(1, gpus_only=True)
    manner = Manner(every=0.0, clock=clock, retention=Retention(raw=DAY / 4 if size is SMALL else DAY))
    with closing(_opened(file, manner)) as series:
        for second in range(0, size.days * DAY, UPLOAD):
            series.add(feed.upload(0, BEGIN + second))
            if second % 3600 == 0:
                series.flush()
        series.flush()
        _questions(report, series)
        _retention(report, series, size, file)


def _questions(report: Report, series: SqlSeries) -> None:
    gpu = Subject("node", "node-0000", "gpu:3")
    one = frozenset({"utilisation"})
    for what, step, names in (
        ("every point, 7 values", 0.0, frozenset[str]()),
        ("every point, 1 value", 0.0, one),
        ("means of 10 s, 7 values", 10.0, frozenset[str]()),
        ("means of minutes, 7 values", 60.0, frozenset[str]()),
        ("means of 10 minutes, 7 values", 600.0, frozenset[str]()),
    ):
        query = SeriesQuery(subject=gpu, since=BEGIN, until=BEGIN + DAY, step=step, names=names)
        took, found = [], series.read(query)
        for _ in range(9):
            begun = time.monotonic()
            found = series.read(query)
            took.append((time.monotonic() - begun) * 1e3)
        report.add(
            "A day of one GPU",
            {
                "what": what,
                "points": len(found.at),
                "ms (median)": statistics.median(took),
                "least": min(took),
            },
        )


def _retention(report: Report, series: SqlSeries, size: Size, file: Path) -> None:
    rows = dict(_chunks(series))
    kept = 0.25 if size is SMALL else 1.0
    predicted = GPUS * (rows["series_raw"] * 1440 * kept + rows["series_means"] * 24 * size.days)
    full = _used(series)
    calm = _pauses(series, size, lambda: time.sleep(2.0))
    gone: list[int] = []
    pruning = _pauses(series, size, lambda: gone.append(series.prune(BEGIN + size.days * DAY)))
    table = f"{GPUS} GPUs for {size.days} days, every point kept for {kept:g} days"
    report.add(
        table,
        {
            "what": "bytes of a minute of a GPU, raw / an hour of means",
            "figure": f"{rows['series_raw']:.0f} / {rows['series_means']:.0f}",
        },
    )
    for what, figure in (
        ("MB of a GPU and day: every point", rows["series_raw"] * 1440 / 1e6),
        ("MB of a GPU and day: means of minutes", rows["series_means"] * 24 / 1e6),
        ("MB before pruning", full / 1e6),
        ("MB predicted after it (chunks alone)", predicted / 1e6),
        ("MB after it (pages in use)", _used(series) / 1e6),
        ("MB of the file then", file.stat().st_size / 1e6),
        ("chunks that went", sum(gone)),
        ("longest write, ms, at rest", max(calm) * 1e3),
        ("longest write, ms, during pruning", max(pruning) * 1e3),
    ):
        report.add(table, {"what": what, "figure": figure})


def _chunks(series: SqlSeries) -> Iterator[tuple[str, float]]:
    with series.database.readers.connect() as connection:
        for table in ("series_raw", "series_means"):
            yield (
                table,
                float(connection.exec_driver_sql(f"SELECT avg(length(chunk)) FROM {table}").scalar_one()),
            )


def _used(series: SqlSeries) -> float:
    """Bytes of the pages that hold anything."""
    with series.database.readers.connect() as connection:
        pages, free, size = (
            int(connection.exec_driver_sql(f"PRAGMA {what}").scalar_one())
            for what in ("page_count", "freelist_count", "page_size")
        )
    return (pages - free) * float(size)


def _pauses(series: SqlSeries, size: Size, meanwhile: Callable[[], object]) -> list[float]:
    """How long each write of somebody else took in the meantime."""
    feed, took, done = Feed(1), [0.0], threading.Event()

    def write() -> None:
        second = BEGIN + size.days * DAY
        while not done.is_set():
            series.add(feed.upload(0, second))
            begun = time.monotonic()
            series.flush()
            took.append(time.monotonic() - begun)
            second += UPLOAD
            done.wait(0.02)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        meanwhile()
    finally:
        done.set()
        thread.join()
    return took
