"""How the demo is judged: only if everything was as it should be does it end with 0."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tenuto.cli.demo_jobs import SLOTS, SPEECH, TOO_MUCH, VISION, WORDS
from tenuto.cli.demo_screen import row
from tenuto.cli.demo_summary import Tale, lines, problems
from tenuto.wire.api import JobIn

NOW = datetime(2030, 1, 1, 12, 0, tzinfo=UTC)


def a_job(
    name: str, *, state: str = "succeeded", promise: str = "kept", reply: str = "admitted"
) -> dict[str, Any]:
    earliest = "2030-01-01T13:00:00Z" if reply == "declined" else None
    return {
        "name": name,
        "state": state,
        "workers": 2,
        "ended_at": "2030-01-01T12:01:00Z" if state == "succeeded" else None,
        "promise": {"state": promise},
        "progress": {"done": 30.0, "total": 120.0},
        "contract": {
            "reply": reply,
            "promised": None if reply == "declined" else "2030-01-01T12:02:30Z",
            "message": f"{reply}: so it is",
            "offers": {"earliest": earliest, "steps": 12.0},
        },
    }


def a_tale(**changes: Any) -> Tale:
    good = Tale(
        jobs=[
            a_job("vision"),
            a_job("wörter"),
            a_job("speech"),
            a_job("zu-viel", state="declined", reply="declined"),
        ],
        sizes={"vision": [4, 2, 1, 4], "wörter": [1]},
        killed="vision",
        lost=True,
        pinned=True,
        summaries={"vision": "1,024 samples, each once, over 7 generations, 1 worker lost"},
    )
    return replace(good, **changes)


def test_a_demo_as_it_should_be_has_no_problems_and_says_so() -> None:
    assert problems(a_tale()) == []
    assert lines(a_tale())[0] == "Promises kept: 3 of 3."
    assert "done 1 min 30 s before its promise" in lines(a_tale())[1]
    assert "workers 4 → 2 → 1 → 4" in lines(a_tale())[1]


def test_what_could_be_had_instead_is_told() -> None:
    assert "Declined with an offer: zu-viel, which could have 2030-01-01T13:00:00Z." in lines(a_tale())


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"jobs": [a_job("vision", promise="broken")]}, "vision has not kept its promise"),
        ({"jobs": [a_job("vision", state="failed")]}, "vision has not kept its promise: failed"),
        ({"jobs": [a_job("vision")]}, "only 1 jobs got a promise"),
        ({"jobs": [a_job("a"), a_job("b"), a_job("c")]}, "no job was declined with an offer"),
        ({"sizes": {"vision": [4, 2]}}, "no job grew"),
        ({"sizes": {"vision": [2, 4]}}, "no job shrank"),
        ({"killed": ""}, "no worker was killed"),
        ({"lost": False}, "nobody noticed that vision lost a worker"),
        ({"pinned": False}, "no job was pinned"),
    ],
)
def test_what_went_wrong_is_named(changes: dict[str, Any], problem: str) -> None:
    assert any(told.startswith(problem) for told in problems(a_tale(**changes)))


def test_a_job_is_shown_in_a_line() -> None:
    assert row(a_job("vision", state="running", promise="holds"), NOW) == (
        "vision",
        "running",
        "■■",
        "25 %",
        "in 2 min 30 s",
        "holds",
    )


@pytest.mark.parametrize("job", [VISION, WORDS, SPEECH, TOO_MUCH], ids=lambda job: job.name)
def test_its_jobs_are_job_files_with_a_curve_that_grows(job: Any) -> None:
    spec, _ = JobIn.model_validate(job.file("/opt/my python/bin/python")).to_spec(now=0.0)

    assert spec.name == job.name
    speeds = [job.speed(workers) for workers in range(1, SLOTS + 1)]
    assert speeds == sorted(speeds)
