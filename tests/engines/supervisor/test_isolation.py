"""Failures of one worker: counted, logged a few times, tried again ever later."""

from __future__ import annotations

import time

import pytest

from tenuto.engines.supervisor.isolation import MOST_LOG_LINES, Failures


def test_what_fails_is_tried_again_later_and_what_works_at_once() -> None:
    failures = Failures("job.1.worker.0")
    now = time.monotonic()

    failures.failed("its report is a pipe")
    first = failures.not_before
    failures.failed("its report is a pipe")

    assert not failures.is_due(now)
    assert failures.not_before > first
    failures.succeeded()
    assert failures.is_due(now)
    assert failures.problem == ""


def test_a_worker_cannot_fill_the_log_with_problems(caplog: pytest.LogCaptureFixture) -> None:
    failures = Failures("job.1.worker.0")

    for number in range(10 * MOST_LOG_LINES):
        failures.note(f"problem {number}")
        failures.note(f"problem {number}")

    assert len(caplog.records) == MOST_LOG_LINES
    assert failures.problem == f"problem {10 * MOST_LOG_LINES - 1}"
