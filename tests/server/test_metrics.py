"""What workers tell of their steps: stored once and in order, shown as series; some of it becomes events."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from tests.server.serving import NODE_NAME, NODE_TOKEN, NOW, QUICK, Served, a_form, answered

from tenuto.model.job import Contract, Reply
from tenuto.model.phase import Phase
from tenuto.store.base import Attempt


def a_step(seq: int, step: int, **fields: Any) -> dict[str, Any]:
    """What a worker tells after some steps."""
    usual = {"generation": 1, "world": 2, "rank": 0, "seconds": 0.5, "samples": 64 * step}
    return {"seq": seq, "kind": "step", "at": NOW + step, "step": step, **usual, **fields}


def a_rescale(seq: int, pause_ms: float = 80.0, **fields: Any) -> dict[str, Any]:
    usual = {"generation": 2, "step": 40, "why": "grow", "before": 1, "after": 2, "lost": []}
    return {"seq": seq, "kind": "rescale", "at": NOW, **usual, "pause_ms": pause_ms, **fields}


class Job:
    """A job whose workers tell things."""

    def __init__(self, server: Served, **fields: Any) -> None:
        self.server = server
        self.id: str = server.submit("тренировка", **fields)["id"]
        self.path = f"/jobs/{self.id}/metrics"

    def worker(self, rank: int = 0, generation: int = 1) -> str:
        return f"{self.id}.{generation}.worker.{rank}"

    def tell(self, *records: dict[str, Any], rank: int = 0, **fields: Any) -> int:
        """Have a worker tell records; the seq that is wanted next."""
        first = records[0]["seq"] if records else 0
        body = {"worker": self.worker(rank), "first": first, "records": list(records), **fields}
        wanted: int = self.server.post(self.path, body)["next"]
        return wanted

    def refused(self, **body: Any) -> dict[str, Any]:
        return self.server.refused("POST", self.path, {"worker": self.worker(), **body})

    def steps(self, **query: Any) -> list[list[int]]:
        """The steps of each series."""
        told = self.server.get(self.path, **query)
        return [[point["step"] for point in series["points"]] for series in told["series"]]

    def runs_on(self, *nodes: str) -> None:
        """Let its first workers be on these nodes."""
        for rank, node in enumerate(nodes):
            one = Attempt(job=self.id, generation=1, role="worker", rank=rank, node=node, slot=0)
            self.server.store.write(lambda tx, one=one: tx.put_attempt(one))  # type: ignore[misc]


@pytest.fixture
def job(server: Served) -> Job:
    return Job(server)


def test_fifty_steps_reported_every_ten_are_five_points_per_worker(job: Job) -> None:
    for rank in (0, 1):
        job.tell(*(a_step(i, 10 * (i + 1), rank=rank) for i in range(5)), rank=rank)

    assert job.steps() == [[10, 20, 30, 40, 50]] * 2
    assert job.steps(worker=job.worker(1)) == [[10, 20, 30, 40, 50]]


def test_the_same_batch_twice_is_stored_once(job: Job) -> None:
    batch = [a_step(0, 10), a_rescale(1), a_step(2, 20)]

    assert [job.tell(*batch), job.tell(*batch)] == [3, 3]

    assert job.steps() == [[10, 20]]
    assert len(job.server.events(kind="rescale")) == 1


def test_batches_may_overlap(job: Job) -> None:
    job.tell(a_step(0, 10), a_step(1, 20))

    assert job.tell(a_step(1, 20), a_step(2, 30)) == 3

    assert job.steps() == [[10, 20, 30]]


def test_a_gap_is_refused_with_the_wanted_seq_and_can_be_said_to_be_final(job: Job) -> None:
    job.tell(a_step(0, 10))

    error = job.refused(first=4, records=[a_step(4, 50)])

    assert (error["status"], error["code"], error["field"]) == (409, "gap", "first")
    assert "record 1" in error["message"]
    assert job.tell() == 1, "no records: a question"
    assert job.tell(a_step(4, 50), skip=True) == 5
    assert job.steps() == [[10, 50]]


def test_a_server_that_was_away_knows_where_it_was(job: Job) -> None:
    job.tell(a_step(0, 10), a_step(1, 20))
    job.server.app.state.platform.files.steps._next.clear()

    assert job.tell(a_step(1, 20), a_step(2, 30)) == 3
    assert job.steps() == [[10, 20, 30]]


def test_supervisors_come_with_their_own_token_and_get_no_further(job: Job) -> None:
    job.runs_on(NODE_NAME, "another")
    others = {"worker": job.worker(1), "first": 0, "records": [a_step(0, 10)]}
    body = {"worker": job.worker(), "first": 0, "records": [a_step(0, 10)]}
    url = f"{job.server.url}/api/v1"
    with httpx.Client(headers={"Authorization": f"Bearer {NODE_TOKEN}"}, **QUICK) as node:
        assert answered(node.post(f"{url}{job.path}", json=body)) == {"next": 1}
        assert node.post(f"{url}{job.path}", json=others).status_code == 403
        for method, path in (("GET", job.path), ("GET", "/jobs"), ("POST", "/jobs"), ("GET", "/x%0A/y")):
            assert node.request(method, f"{url}{path}", json=a_form()).status_code == 401
    with httpx.Client(**QUICK) as nobody:
        assert nobody.post(f"{url}{job.path}", json=body).status_code == 401


@pytest.mark.parametrize(
    "record",
    [
        {"seq": 1},
        {"kind": ""},
        {"kind": 7},
        {"at": "yesterday"},
        {"at": float("nan")},
        {"step": -1},
        {"step": 1.5},
        {"generation": True},
        {"seconds": "long"},
        {"values": [1]},
        {"values": {str(i): i for i in range(200)}},
    ],
)
def test_a_record_that_is_none_changes_nothing(job: Job, record: dict[str, Any]) -> None:
    error = job.refused(first=0, records=[{**a_step(0, 10), **record}])

    assert (error["status"], error["field"]) == (422, "records.0")
    assert job.tell() == 0


@pytest.mark.parametrize("worker", ["", "x", "other.1.worker.0", "../../x.1.worker.0"])
def test_a_worker_must_be_the_jobs_own(job: Job, worker: str) -> None:
    assert job.refused(worker=worker, records=[])["status"] == 422


def test_a_loss_that_is_no_number_any_more_is_shown_as_nothing(job: Job) -> None:
    lost = a_step(0, 10, values={"потеря": float("nan"), "acc": 0.5, "name": "x"}, seconds=float("inf"))
    body = json.dumps({"worker": job.worker(), "first": 0, "records": [lost]})
    headers = {"Content-Type": "application/json"}
    assert answered(job.server.http.post(job.path, content=body, headers=headers)) == {"next": 1}

    (point,) = job.server.get(job.path)["series"][0]["points"]

    assert point["values"] == {"потеря": None, "acc": 0.5, "name": None}
    assert point["seconds"] is None


def test_series_are_paged_by_step_without_overlap_or_gap(job: Job) -> None:
    for rank in (0, 1):
        first = 0 if rank == 0 else 5
        job.tell(*(a_step(i, 10 * (i + 1 + first), rank=rank) for i in range(10)), rank=rank)

    steps: dict[int, list[int]] = {0: [], 1: []}
    start: int | None = 0
    while start is not None:
        page = job.server.get(job.path, from_step=start, limit=4)
        for rank, series in enumerate(page["series"]):
            assert len(series["points"]) <= 4
            steps[rank] += [point["step"] for point in series["points"]]
        start = page["next"]

    assert steps == {0: list(range(10, 101, 10)), 1: list(range(60, 151, 10))}


def test_series_can_be_thinned_out_and_narrowed(job: Job) -> None:
    values = {"loss": 1.0, "accuracy": 0.5}
    job.tell(*(a_step(i, 10 * (i + 1), values=values) for i in range(10)))

    assert job.steps(every=30) == [[10, 40, 70, 100]]
    assert job.steps(from_step=75) == [[80, 90, 100]]
    (series,) = job.server.get(job.path, names="loss,x")["series"]
    assert series["points"][0]["values"] == {"loss": 1.0}


def test_throughput_is_told_for_the_job_and_for_each_node_by_its_workers(job: Job) -> None:
    job.runs_on("a", "b", "b")
    for rank in range(3):
        rate = {"samples_per_second": 300.0} if rank == 0 else {}
        job.tell(a_step(0, 10, rank=rank, world=3, **rate), rank=rank)

    told = job.server.get(job.path)

    assert [series["node"] for series in told["series"]] == ["a", "b", "b"]
    rates = {one["node"]: one["samples_per_second"] for one in told["throughput"]}
    assert rates == {"": [300.0], "a": [100.0], "b": [200.0]}


def test_what_happened_becomes_events_with_their_numbers(job: Job) -> None:
    job.runs_on("węzeł")
    job.tell(
        a_rescale(0, transfer_ms=12.5),
        {
            "seq": 1,
            "kind": "checkpoint",
            "at": NOW,
            "generation": 2,
            "step": 50,
            "path": "/x",
            "why": "every",
        },
        {
            "seq": 2,
            "kind": "summary",
            "at": NOW,
            "generation": 2,
            "step": 60,
            "sentence": "60 samples, each once",
        },
    )
    job.tell(
        {
            "seq": 0,
            "kind": "hung",
            "at": NOW,
            "generation": 2,
            "step": 9,
            "worker": "w",
            "seconds": 6.0,
            "stack": "…",
        },
        teller="supervisor",
    )

    rescale, checkpoint, summary, hung = (
        event for event in job.server.events(job=job.id) if event.data.get("worker")
    )

    assert (rescale.before, rescale.after, rescale.node) == ("1", "2", "węzeł")
    assert rescale.actor == f"worker:{job.worker()}"
    assert rescale.data["transfer_ms"] == 12.5
    assert "paused for 80 ms" in rescale.reason
    assert "step 50" in checkpoint.reason
    assert summary.reason == "60 samples, each once"
    assert (hung.actor, hung.data["stack"]) == ("node:węzeł", "…")
    assert job.server.get("/events", job=job.id)["items"][-1]["kind"] == "hung"


def test_an_event_is_not_doubled_when_the_files_are_behind_the_store(job: Job) -> None:
    """As after a crash between the two."""
    job.tell(a_rescale(0))
    steps = job.server.app.state.platform.files.steps
    steps.remove(job.id)

    assert job.tell(a_rescale(0), a_rescale(1)) == 2

    assert [event.data["seq"] for event in job.server.events(kind="rescale")] == [0, 1]


def test_a_deleted_job_leaves_no_records_and_wants_none(job: Job) -> None:
    job.tell(a_step(0, 10), a_rescale(1))
    answered(job.server.http.post(f"/jobs/{job.id}/cancel"))
    job.server.put(job.id, phase=Phase.CANCELLED)
    answered(job.server.http.delete(f"/jobs/{job.id}"))

    assert job.refused(records=[])["status"] == 404
    assert job.server.app.state.platform.files.steps.streams(job.id) == []
    assert job.server.store.read(lambda tx: tx.meta(f"told/{job.worker()}")) is None


def test_pauses_are_remembered_once_and_starts_are_none(job: Job) -> None:
    job.tell(a_rescale(0, 80.0), a_rescale(1, 90.0), a_rescale(2, 9000.0, why="start"))
    job.tell(a_rescale(0, 80.0), a_rescale(1, 90.0))

    assert job.server.store.read(lambda tx: tx.meta("pauses")) == {"command": [80.0, 90.0]}


class TestCurves:
    """What runs leave behind about their speed."""

    def test_every_run_refines_the_curve_of_its_kind(self, server: Served) -> None:
        server.join("a", 4)
        for speed in (0.5, 0.25):
            job = Job(server, workers={"min": 1, "max": 2}, global_batch=64)
            self.stretch(job, 0, generation=1, world=1, seconds=1.0)
            self.stretch(job, 3, generation=2, world=2, seconds=speed)
            job.tell({"seq": 6, "kind": "summary", "at": NOW, "generation": 2, "step": 400})

        submitted = server.submit(
            "тренировка", workers={"min": 1, "max": 2}, global_batch=64, total={"steps": 100}, deadline="+2h"
        )

        assert submitted["curve"] == {"1": 1.0, "2": 3.0}, "the median of both runs"
        assert "earlier runs of тренировка" in submitted["curve_from"]

    def test_another_batch_is_another_curve(self, server: Served) -> None:
        server.join("a", 1)
        job = Job(server, global_batch=64)
        self.stretch(job, 0, generation=1, world=1, seconds=1.0)
        self.stretch(job, 3, generation=2, world=1, seconds=1.0)

        assert server.submit(global_batch=64, total={"steps": 9}, deadline="+2h")["curve"] == {"1": 1.0}
        assert server.submit(global_batch=128, total={"steps": 9}, deadline="+2h")["curve"] == {}

    def test_a_curve_that_lacks_a_size_is_measured(self, server: Served) -> None:
        server.join("a", 4)
        job = Job(server, workers={"min": 1, "max": 4})
        self.stretch(job, 0, generation=1, world=1, seconds=1.0)
        self.stretch(job, 3, generation=2, world=2, seconds=1.0)

        again = server.submit("тренировка", workers={"min": 1, "max": 4}, total={"steps": 9}, deadline="+2h")

        assert (again["curve"], again["curve_from"]) == ({}, "")

    def test_the_speed_of_a_job_that_is_being_measured_is_told_to_the_controller(
        self, server: Served
    ) -> None:
        job = Job(server, curve="auto", deadline="+2h", total={"steps": 1000})
        measuring = Contract(reply=Reply.MEASURING, why="", message="", answered_at=NOW)
        server.put(job.id, contract=measuring)

        job.tell(*(a_step(i, 10 * (i + 1), world=1, seconds=0.25) for i in range(3)))

        told = server.store.read(lambda tx: tx.meta(f"paces/{job.id}"))
        assert told == {"1": {"steps": 20.0, "seconds": 5.0, "generation": 1}}

    @staticmethod
    def stretch(job: Job, seq: int, **fields: Any) -> None:
        """Twenty steps at one size."""
        job.tell(*(a_step(seq + i, 10 * (seq + i), **fields) for i in range(3)))

    def test_the_pace_of_a_job_without_a_curve_is_told_when_it_is_another(self, server: Served) -> None:
        job = Job(server)
        before = server.store.revision()

        for seq, seconds in enumerate([0.5, 0.5, 0.51, 0.5, 0.1]):
            job.tell(a_step(seq, 10 * seq, world=1, seconds=seconds))

        told = server.store.read(lambda tx: tx.meta(f"paces/{job.id}"))
        assert told["1"]["steps"] == 40.0
        assert server.store.revision() == before + 2, "when it was known, and when it was another"
