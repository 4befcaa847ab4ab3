"""Results in few numbers, and what really was beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tenuto.lab.as_it_was import as_it_was
from tenuto.lab.digest import BINS, averages, counts, distribution
from tenuto.sim.outcome import Events


def events(*rows: tuple[float, int]) -> Events:
    time, busy = zip(*rows, strict=True)
    nothing = np.zeros(len(rows), dtype=np.int64)
    return Events(
        time=np.array(time, dtype=np.float64),
        efficiency=np.zeros(len(rows)),
        busy=np.array(busy, dtype=np.int64),
        running=nothing,
        waiting=nothing,
    )


def test_averages_keep_the_work_that_was_done() -> None:
    line = averages(events((0.0, 4), (10.0, 8), (30.0, 2)), 40.0)

    assert len(line) == BINS
    assert sum(value for _, value in line) * 40.0 / BINS == pytest.approx(4 * 10 + 8 * 20 + 2 * 10)
    assert (line[0], line[-1][1]) == ([0.0, 4.0], 2.0)


def test_a_long_trace_has_a_short_line() -> None:
    line = counts(np.arange(100_000, dtype=np.float64))

    assert len(line) == BINS
    assert (line[0], line[-1]) == ([0.0, 1.0], [99_999.0, 100_000.0])
    assert counts(np.array([])) == []


def test_jobs_that_were_never_done_are_missing_at_the_end() -> None:
    line = distribution(np.array([30.0, np.nan, 10.0, np.nan]))

    assert line == [[10.0, 0.25], [30.0, 0.5]]
    assert distribution(np.array([np.nan])) == []


def a_past(
    name: str, arrived: float, ended: int | None, deadline: float | None, **more: Any
) -> dict[str, Any]:
    def at(second: int | None) -> str | None:
        return None if second is None else f"1970-01-01T00:00:{second:02}Z"

    started = None if ended is None else at(1)
    told = {"id": name, "started_at": started, "ended_at": at(ended), "reply": "admitted", "promise": "kept"}
    return {**told, "trace": {"arrived": arrived, "deadline": deadline}, **more}


def test_what_really_was_is_counted_as_a_replay_counts() -> None:
    jobs = [
        a_past("kept", 10.0, 20, 30.0),
        a_past("late", 10.0, 50, 30.0, promise="broken"),
        a_past("refused", 12.0, None, 13.0, reply="declined", promise="none"),
        a_past("free", 14.0, 34, None, reply="queued", promise="none"),
        a_past("not in the trace", 0.0, 59, 59.0),
    ]

    was = as_it_was(jobs, ("kept", "late", "refused", "free"), 10.0)

    counted = ("deadline_jobs", "best_effort_jobs", "admitted", "declined", "met", "missed", "broken")
    assert [was.row[name] for name in counted] == [3, 1, 2, 1, 1, 1, 1]
    assert was.row["ratio"] == pytest.approx(1 / 3)
    assert (was.row["mean_jct"], was.row["makespan"]) == (pytest.approx(70 / 3), 40.0)
    assert was.shown()["allocated"] == []
