"""What workers tell, on the axis of time: rates from samples really processed, once each, and there after a crash."""

from __future__ import annotations

import logging
from threading import Event as Flag
from typing import Any

import pytest
from tests.server.serving import NOW, Served
from tests.server.test_metrics import Job, a_rescale, a_step

from tenuto.model.phase import Phase
from tenuto.sdk.meter import Meter
from tenuto.server.census import EVERY, Census
from tenuto.server.platform import Platform
from tenuto.server.refill import refill
from tenuto.server.training_series import MOST_NAMES
from tenuto.store.series.memory import MemorySeries


@pytest.fixture
def job(server: Served) -> Job:
    server.clock.now = NOW + 100
    return Job(server)


def columns(job: Job, part: str = "") -> dict[str, list[float | None]]:
    """The numbers of one subject of a job, as they came."""
    items = job.server.get("/metrics", kind="job", name=job.id, part=part, step="raw")["items"]
    if not items:
        return {}
    (item,) = items
    return {"at": item["at"], **item["values"]}


def platform_of(job: Job) -> Platform:
    here: Platform = job.server.app.state.platform
    return here


class Told:
    """Keeps what a worker's meter tells, as the SDK would send it."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []

    def tell(self, kind: str, **fields: Any) -> None:
        at = NOW + fields["step"]
        self.records.append({"seq": len(self.records), "kind": kind, "at": at, **fields})


def train(job: Job, steps: int, *, batch: int, workers: int) -> None:
    """Train with so many workers, a second a step, and tell it as the SDK does."""
    for rank in range(workers):
        told, clock = Told(), [0.0]
        meter = Meter(told, every=10, clock=lambda clock=clock: clock[0])  # type: ignore[arg-type, misc]
        for step in range(1, steps + 1):
            clock[0] += 1.0
            meter.report({"потеря": 1 / step})
            meter.stepped(step=step, samples=step * batch * workers, generation=1, rank=rank, world=workers)
        job.tell(*told.records, rank=rank)


def test_sixty_four_samples_a_second_on_two_workers_are_a_hundred_and_twenty_eight(job: Job) -> None:
    job.runs_on("a", "узел")

    train(job, 50, batch=64, workers=2)

    whole = columns(job)
    assert whole["samples_per_second"] == [128.0] * 5
    assert (whole["step"], whole["workers"]) == ([10.0, 20.0, 30.0, 40.0, 50.0], [2.0] * 5)
    for rank in (0, 1):
        worker = columns(job, f"worker:1.worker.{rank}")
        assert len(worker["at"]) == 5, "every ten steps of fifty"
        assert worker["seconds"] == [1.0] * 5
        assert worker["samples_per_second"] == [64.0] * 5
    assert columns(job, "values")["потеря"] == [0.1, 0.05, 1 / 30, 0.025, 0.02]


def test_each_node_has_its_share_of_the_samples(job: Job) -> None:
    job.runs_on("a", "узел", "узел")
    for rank in (1, 2, 0):
        rate = {"samples_per_second": 300.0} if rank == 0 else {}
        job.tell(a_step(0, 10, rank=rank, world=3, **rate), rank=rank)

    assert columns(job, "node:a") == {"at": [NOW + 10], "samples_per_second": [100.0], "workers": [1.0]}
    assert columns(job, "node:узел")["samples_per_second"] == [200.0]


def test_the_same_batch_twice_is_one_point_each(job: Job) -> None:
    batch = [a_step(0, 10), a_step(1, 20)]
    job.tell(*batch)
    job.tell(*batch, a_step(2, 30))

    assert columns(job)["at"] == [NOW + 10, NOW + 20, NOW + 30]


def test_a_rescale_has_its_phases(job: Job) -> None:
    job.tell(a_rescale(0, agree_ms=3.0, form_ms=5.0, transfer_ms=12.5, first_step_ms=40.0))

    told = columns(job, "rescale")

    names = ("agree_ms", "form_ms", "transfer_ms", "first_step_ms", "pause_ms", "before", "after")
    assert [told[name] for name in names] == [[3.0], [5.0], [12.5], [40.0], [80.0], [1.0], [2.0]]
    assert told["warm_up_ms"] == [None]


def test_a_clock_that_is_years_ahead_or_behind_makes_no_history(job: Job) -> None:
    job.tell(a_step(0, 10, at=NOW + 1e8), a_step(1, 20, at=-5.0), a_step(2, 30))

    assert columns(job)["step"] == [30.0]
    assert job.steps() == [[10, 20, 30]], "by step all are there"


def test_a_job_with_countless_names_has_some_of_them_and_it_is_said_once(
    job: Job, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "tenuto"):
        for seq in range(5):
            values = {f"значение {seq}/{number}": 1.0 for number in range(80)}
            job.tell(a_step(seq, 10 * seq, values=values | {"x" * 101: 1.0}))

    told = columns(job, "values")

    assert len(told) - 1 == MOST_NAMES
    assert [record.job for record in caplog.records] == [job.id]  # type: ignore[attr-defined]


def test_a_loss_that_is_no_number_any_more_is_unknown(job: Job) -> None:
    job.tell(a_step(0, 10, values={"loss": 1.0}), a_step(1, 20, values={"loss": None, "name": "x"}))

    assert columns(job, "values")["loss"] == [1.0, None]


def test_a_history_that_fails_is_no_reason_to_tell_records_once_more(
    job: Job, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("no history today")

    monkeypatch.setattr(platform_of(job).files.series, "add", fail)

    assert job.tell(a_step(0, 10), a_step(1, 20)) == 2
    assert job.steps() == [[10, 20]]
    assert "no history today" in caplog.text


def test_a_deleted_job_leaves_no_numbers(job: Job) -> None:
    job.tell(a_step(0, 10), a_rescale(1))
    job.server.put(job.id, phase=Phase.CANCELLED)

    assert job.server.http.delete(f"/jobs/{job.id}").is_success

    assert platform_of(job).files.series.subjects("job", job.id) == []


class TestAfterACrash:
    """The history was cut off somewhere; the records are all there."""

    def test_what_was_not_yet_durable_is_filled_in_from_the_records(self, job: Job) -> None:
        job.runs_on("a", "узел")
        train(job, 50, batch=64, workers=2)
        before = {part: columns(job, part) for part in ("", "values", "worker:1.worker.1", "node:узел")}
        here = self.restarted(job)
        job.server.app.state.platform = here

        refill(here, Flag())

        assert {part: columns(job, part) for part in before} == before

    def test_it_begins_where_the_history_ends(self, job: Job) -> None:
        job.tell(*(a_step(seq, seq, at=NOW - 1000 + seq) for seq in range(500)))
        here = platform_of(job)
        series = here.files.series
        assert isinstance(series, MemorySeries)
        for points in series._points.values():
            for at in [at for at in points if at >= NOW - 600]:
                del points[at]
        added: list[float] = []
        series.add = lambda batch: added.extend(at for one in batch for at in one.at)  # type: ignore[method-assign]

        refill(here, Flag())

        assert min(added) == NOW - 1000 + 400 - 120, "not from the beginning"
        assert max(added) == NOW - 501

    @staticmethod
    def restarted(job: Job) -> Platform:
        """A server that knows nothing but what lies on the disk."""
        before = platform_of(job)
        files = type(before.files)(before.files.logs, before.files.steps, series=MemorySeries())
        return Platform.over(before.store, files, before.settings, before.clock)


class TestCensus:
    """Jobs that report nothing have a history of their workers all the same."""

    def test_every_change_of_a_plain_command_is_a_point_and_now_and_then_one_more(self, job: Job) -> None:
        server, census = job.server, Census(platform_of(job))
        server.join("a"), server.join("узел")
        census.look()
        server.runs(job.id, a=(0,))
        self.pass_time(census, job, 1.0, EVERY / 2, EVERY)
        server.runs(job.id, a=(0,), узел=(0, 1))
        self.pass_time(census, job, 1.0)
        server.put(job.id, phase=Phase.SUCCEEDED, slots={})
        self.pass_time(census, job, 1.0, EVERY)

        whole = columns(job)
        assert whole["workers"] == [1.0, 1.0, 3.0, 0.0]
        assert whole["generation"] == [1.0, 1.0, 2.0, 2.0]
        assert columns(job, "node:узел")["workers"] == [2.0, 0.0]

    def test_of_a_job_that_tells_its_steps_nothing_is_told_twice(self, job: Job) -> None:
        server, census = job.server, Census(platform_of(job))
        server.join("a")
        server.runs(job.id, a=(0,))
        self.pass_time(census, job, 0.0)
        server.clock.now = NOW + 100 + EVERY
        job.tell(a_step(0, 10, at=server.clock.now - 1.0, world=1))
        self.pass_time(census, job, 0.0)

        assert columns(job)["step"] == [None, 10.0]

    @staticmethod
    def pass_time(census: Census, job: Job, *seconds: float) -> None:
        for one in seconds:
            job.server.clock.now += one
            census.look()
