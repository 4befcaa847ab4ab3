"""What is counted of events, and of what workers tell."""

from __future__ import annotations

from typing import Any

import pytest
from tests.monitor.prometheus.pages import NOW, Page, a_forecast, a_record, a_step, an_event, told

from tenuto.model.event import Event
from tenuto.model.job import Job
from tenuto.model.phase import Phase
from tenuto.monitor.facts import Facts
from tenuto.monitor.prometheus.counts import MOST_PULSES, Counts
from tenuto.monitor.prometheus.gauges import Present
from tenuto.monitor.prometheus.tidings import count, needs_job


def counted(*events: Event, job: Job | None = None) -> Page:
    counts = Counts()
    for event in events:
        count(counts, event, job)
    return told(Present(facts=Facts(at=NOW)), counts)


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ("", "node-0:2", "start"),
        ("node-0:2", "", "preempt"),
        ("node-0:2", "node-0:2,노드-1:1", "grow"),
        ("node-0:2,노드-1:1", "노드-1:1", "shrink"),
        ("node-0:2", "노드-1:2", "move"),
        ("a:b:3", "a:b:4", "grow"),
    ],
)
def test_a_change_of_slots_is_counted_by_its_direction(before: str, after: str, change: str) -> None:
    page = counted(an_event("scaled", before=before, after=after))

    assert page.counted("tenuto_allocation_changes_total", "change") == {change: 1.0}


def test_answers_are_counted_and_strange_ones_have_one_name() -> None:
    page = counted(
        *(an_event("verdict", after=reply) for reply in ("admitted", "declined", "admitted", "?!"))
    )

    assert page.counted("tenuto_verdicts_total", "reply") == {"admitted": 2.0, "declined": 1.0, "other": 1.0}


def test_a_rescale_is_told_by_its_phases_in_seconds() -> None:
    data = {"why": "grow", "agree_ms": 5.0, "form_ms": 20, "pause_ms": 120.0, "transfer_ms": None}
    page = counted(an_event("rescale", data=data), an_event("rescale", data={"why": "start", "form_ms": 9.0}))

    sums = page.counted("tenuto_rescale_phase_duration_seconds_sum", "phase")
    assert sums == {"agree": 0.005, "form": 0.02, "pause": 0.12}


def test_the_wait_for_the_first_slots_is_told_and_no_later_one() -> None:
    begins = an_event("phase", before="queued", after="starting")
    first, later = a_record(started_at=NOW + 1.0), a_record(started_at=NOW - 100.0)

    assert counted(begins, job=first).value("tenuto_queue_wait_seconds_sum") == 300.0
    assert counted(begins, job=later).value("tenuto_queue_wait_seconds_count") == 0.0
    assert counted(begins, job=None).value("tenuto_queue_wait_seconds_count") == 0.0, "it was deleted"


def test_the_error_of_a_forecast_is_how_long_it_took_in_parts_of_what_was_foretold() -> None:
    ended = a_record(
        phase=Phase.SUCCEEDED, ended_at=NOW, foretold=(a_forecast(), a_forecast(moment="started", finish=NOW))
    )
    page = counted(an_event("phase", before="running", after="succeeded"), job=ended)

    assert page.counted("tenuto_eta_error_ratio_sum", "moment") == {"answered": 2.0, "started": 1.0}
    assert page.value("tenuto_jobs_ended_total", state="succeeded") == 1.0


def test_a_forecast_of_no_time_at_all_tells_nothing() -> None:
    ended = a_record(phase=Phase.SUCCEEDED, ended_at=NOW, foretold=(a_forecast(finish=NOW - 100.0),))
    page = counted(an_event("phase", before="running", after="succeeded"), job=ended)

    assert page.counted("tenuto_eta_error_ratio_count", "moment") == {}


def test_losses_failures_and_checkpoints_are_counted() -> None:
    page = counted(
        an_event("loss"),
        an_event("hung"),
        an_event("checkpoint", data={"problem": "the disk is full"}),
        an_event("policy", after="failed"),
        an_event("policy", after="fifo"),
        an_event("node", after="offline"),
        an_event("node", after="online"),
    )

    for name in ("workers_lost", "workers_hung", "policy_failures", "node_losses"):
        assert page.value(f"tenuto_{name}_total") == 1.0, name
    assert page.value("tenuto_checkpoints_total", outcome="failed") == 1.0


def test_what_can_be_counted_is_told_before_it_happens() -> None:
    page = counted()

    assert page.value("tenuto_jobs_ended_total", state="failed") == 0.0
    assert page.value("tenuto_rescale_phase_duration_seconds_count", phase="pause") == 0.0
    assert page.value("tenuto_controller_ticks_total", outcome="failed") == 0.0


def test_an_event_of_tomorrow_is_none_of_ours() -> None:
    page = counted(an_event("something new", after="?"))

    assert not any(one.value for one in page.samples("tenuto_jobs_submitted_total"))


@pytest.mark.parametrize(
    ("event", "needed"),
    [
        (an_event("phase", before="queued", after="starting"), True),
        (an_event("phase", before="running", after="succeeded"), True),
        (an_event("phase", before="running", after="rescaling"), False),
        (an_event("scaled", after="node-0:1"), False),
    ],
)
def test_a_job_is_looked_up_only_where_it_is_needed(event: Event, needed: bool) -> None:
    assert needs_job(event) is needed


@pytest.mark.parametrize(
    "record",
    [a_step(rank=1, samples=5.0), {"kind": "rescale", "rank": 0, "samples": 5.0}, a_step(samples="many")],
)
def test_only_the_first_worker_tells_of_its_job(record: dict[str, Any]) -> None:
    counts = Counts()
    counts.told("a1", [record])

    pulse = counts.pulse("a1")
    assert pulse is None or pulse.samples is None


def test_only_so_many_jobs_are_remembered_and_those_that_ended_are_not() -> None:
    counts = Counts()
    for index in range(MOST_PULSES + 5):
        counts.told(f"job-{index}", [a_step(samples=1.0)])

    assert counts.pulse("job-4") is None and counts.pulse("job-5") is not None
    counts.forget_others(["job-7"])
    assert counts.pulse("job-5") is None and counts.pulse("job-7") is not None
