"""A worker that floods the platform with logs, records or events costs its own job, not the others, nor the disk."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.security.route_walk import all_routes
from tests.server.serving import NOW, Served, a_server

from tenuto.model.event import Event
from tenuto.model.phase import Phase
from tenuto.server.event_retention import removed_until
from tenuto.server.file_retention import SETTLE_SECONDS
from tenuto.server.retention import MAX_STEPS, RetentionService
from tenuto.settings import Logs, Metrics, Quotas, Settings
from tenuto.store.base import Attempt, EventQuery, Tx
from tenuto.store.steps import StepStore, Stream
from tenuto.wire.worker import WORKER, WorkerId

KIB = 1 << 10
QUOTAS = Quotas(log_bytes=100 * KIB, record_bytes=100 * KIB, events=1000, job_share=0.5)
SETTINGS = Settings(retention=QUOTAS, logs=Logs(keep_bytes=80 * KIB), metrics=Metrics(keep_bytes=80 * KIB))


class Quota:
    """A server with small quotas, and jobs on it."""

    def __init__(self, server: Served, *, cursors: tuple[int, ...] = ()) -> None:
        self.server = server
        self.service = RetentionService(server.app.state.platform, [lambda c=c: c for c in cursors])  # type: ignore[misc]

    @property
    def steps(self) -> StepStore:
        steps: StepStore = self.server.app.state.platform.files.steps
        return steps

    def job(self, name: str, *, ended: float | None = None) -> str:
        """A job that runs, or ended so many seconds after the beginning of the test."""
        id_: str = self.server.submit(name)["id"]
        if ended is not None:
            self.server.put(id_, phase=Phase.SUCCEEDED, ended_at=NOW + ended)
        else:
            self.server.put(id_, phase=Phase.RUNNING)
        return id_

    def attempt(
        self, job: str, rank: int = 0, *, generation: int = 1, ended: float | None = None
    ) -> WorkerId:
        at = None if ended is None else NOW + ended
        one = Attempt(job=job, generation=generation, role=WORKER, rank=rank, node="n", ended_at=at)
        self.server.store.write(lambda tx: tx.put_attempt(one))
        return WorkerId(job, generation, WORKER, rank)

    def prints(self, worker: WorkerId, kib: int) -> None:
        for _ in range(kib):
            self.server.logs.append(worker, self.server.logs.extent(worker)[1], b"x" * (KIB - 1) + b"\n")

    def reports(self, worker: WorkerId, kib: int) -> None:
        stream = Stream(worker)
        for _ in range(kib):
            seq = self.steps.wanted(stream)
            record = {"seq": seq, "kind": "step", "at": NOW, "step": seq, "generation": 1, "fill": "x" * 900}
            self.steps.append(stream, [record])

    def happens(self, count: int, job: str = "", at: float = NOW) -> None:
        def act(tx: Tx) -> None:
            for _ in range(count):
                tx.add_event(Event(kind="checkpoint", at=at, actor="worker", job=job))

        self.server.store.write(act)

    def printed(self, worker: WorkerId) -> int:
        """Bytes of its log that are kept."""
        first, end = self.server.logs.extent(worker)
        return end - first

    def events_of(self, job: str) -> int:
        return len(self.server.store.read(lambda tx: tx.events(EventQuery(job=job, limit=10_000))))


@pytest.fixture
def quota(tmp_path: Path) -> Iterator[Quota]:
    with a_server(tmp_path, SETTINGS) as server:
        yield Quota(server)


# logs


def test_a_worker_that_floods_its_log_displaces_nobody(quota: Quota) -> None:
    others = [quota.attempt(quota.job(f"small {i}", ended=-9000.0), ended=-9000.0) for i in range(3)]
    flood = quota.job("flood")
    for other in others:
        quota.prints(other, 10)
    for rank in range(3):
        quota.prints(quota.attempt(flood, rank), 60)

    removed = quota.service.run_round()

    assert [quota.printed(other) for other in others] == [10 * KIB] * 3
    assert removed.log_bytes >= 110 * KIB
    assert quota.service.usage is not None
    assert quota.service.usage.log_bytes <= QUOTAS.log_bytes
    last = quota.server.get("/events", kind="retention")["items"][-1]
    assert last["data"]["log_bytes"] == removed.log_bytes


def test_the_jobs_that_ended_first_lose_their_logs_first_and_readers_are_told(quota: Quota) -> None:
    old, young = (
        quota.attempt(quota.job(f"ended {-end:.0f}", ended=end), ended=end) for end in (-9000.0, -5000.0)
    )
    alive = quota.attempt(quota.job("alive"))
    for worker in (old, young, alive):
        quota.prints(worker, 45)

    quota.service.run_round()

    assert [quota.printed(worker) for worker in (old, young, alive)] == [0, 45 * KIB, 45 * KIB]
    part = quota.server.get(f"/jobs/{old.job}/logs")["parts"][0]
    assert (part["first"], part["offset"], part["next"], part["text"]) == (45 * KIB, 45 * KIB, 45 * KIB, "")
    assert part["ended"]
    assert quota.server.http.get(f"/jobs/{old.job}/logs/raw").status_code == 200


def test_a_removed_log_is_not_uploaded_a_second_time(quota: Quota) -> None:
    old = quota.attempt(quota.job("old", ended=-9000.0), ended=-9000.0)
    quota.prints(old, 60)
    quota.prints(quota.attempt(quota.job("alive")), 60)
    quota.service.run_round()

    assert quota.server.logs.append(old, 0, b"x" * 60 * KIB) == 60 * KIB
    assert quota.printed(old) == 0
    assert quota.server.logs.append(old, 60 * KIB, b"last words\n") == 60 * KIB + 11
    assert quota.server.logs.read(old, 0, 100) == (60 * KIB, b"last words\n")


def test_whole_attempts_that_ended_go_before_parts_of_those_that_run(quota: Quota) -> None:
    job = quota.job("retried")
    first = quota.attempt(job, generation=1, ended=-9000.0)
    second = quota.attempt(job, generation=2)
    quota.prints(first, 70)
    quota.prints(second, 40)

    quota.service.run_round()

    assert (quota.printed(first), quota.printed(second)) == (0, 40 * KIB)


def test_logs_of_jobs_that_run_are_cut_to_one_size_if_nothing_else_is_left(tmp_path: Path) -> None:
    quotas = replace(QUOTAS, job_share=1.0)
    with a_server(tmp_path, replace(SETTINGS, retention=quotas)) as server:
        quota = Quota(server)
        workers = [quota.attempt(quota.job(f"job {size}")) for size in (70, 60, 10)]
        for worker, kib in zip(workers, (70, 60, 10), strict=True):
            quota.prints(worker, kib)

        quota.service.run_round()

        sizes = [quota.printed(worker) for worker in workers]
        assert sum(sizes) <= QUOTAS.log_bytes
        assert sizes[2] == 10 * KIB
        assert abs(sizes[0] - sizes[1]) <= 10 * KIB  # a part


def test_a_job_that_has_just_ended_keeps_what_may_still_be_read(quota: Quota) -> None:
    quota.server.clock.now = NOW
    just = quota.attempt(quota.job("just", ended=-1.0), ended=-1.0)
    long_ago = quota.attempt(quota.job("long ago", ended=-9000.0), ended=-9000.0)
    quota.reports(just, 50)
    quota.reports(long_ago, 60)

    quota.service.run_round()

    assert quota.steps.first(Stream(just)) == 0
    assert list(quota.steps.read(Stream(long_ago))) == []


def test_files_of_a_job_that_was_deleted_meanwhile_are_removed_first(quota: Quota) -> None:
    stray = WorkerId("gone", 1, WORKER, 0)
    quota.prints(stray, 70)
    alive = quota.attempt(quota.job("alive"))
    quota.prints(alive, 50)

    quota.service.run_round()

    assert quota.server.logs.workers("gone") == []
    assert quota.printed(alive) == 50 * KIB


def test_files_of_a_job_whose_record_cannot_be_read_count_as_those_of_one_that_runs(tmp_path: Path) -> None:
    settings = replace(SETTINGS, retention=replace(QUOTAS, file_seconds=5000.0))
    with a_server(tmp_path, settings) as server:
        quota = Quota(server)
        damaged = quota.attempt(quota.job("damaged"))
        quota.prints(damaged, 5)
        with closing(sqlite3.connect(tmp_path / "store.sqlite")) as connection, connection:
            connection.execute("UPDATE jobs SET record = 'damaged' WHERE id = ?", (damaged.job,))

        quota.service.run_round()

        assert quota.printed(damaged) == 5 * KIB


def test_the_newest_output_of_every_running_worker_stays_however_small_the_quota(tmp_path: Path) -> None:
    quotas = replace(QUOTAS, log_bytes=1, record_bytes=1, events=1)
    with a_server(tmp_path, replace(SETTINGS, retention=quotas)) as server:
        quota = Quota(server)
        workers = [quota.attempt(quota.job(f"job {number}")) for number in range(3)]
        for worker in workers:
            quota.prints(worker, 30)
            quota.reports(worker, 30)

        quota.service.run_round()

        for worker in workers:
            first, text = server.logs.tail(worker, 1, KIB)
            assert (first + len(text), text[-2:]) == (30 * KIB, b"x\n")
            assert [record["seq"] for record in quota.steps.read(Stream(worker))][-1] == 29
        assert server.get("/events", last=True)["items"][-1]["kind"] == "retention"


# records


def test_a_worker_that_floods_its_records_displaces_nobody_and_goes_on(quota: Quota) -> None:
    other = quota.attempt(quota.job("small", ended=-9000.0), ended=-9000.0)
    flood = quota.job("flood")
    quota.reports(other, 20)
    workers = [quota.attempt(flood, rank) for rank in range(3)]
    for worker in workers:
        quota.reports(worker, 60)

    removed = quota.service.run_round()

    assert removed.record_bytes > 0
    assert len(list(quota.steps.read(Stream(other)))) == 20
    assert quota.service.usage is not None
    assert quota.service.usage.record_bytes <= QUOTAS.record_bytes
    assert [quota.steps.wanted(Stream(worker)) for worker in workers] == [60] * 3
    series = {one["worker"]: one for one in quota.server.get(f"/jobs/{flood}/metrics")["series"]}
    assert any(one["first"] > 0 for one in series.values())
    assert all(one["points"][-1]["step"] == 59 for one in series.values())


def test_records_that_were_removed_are_not_wanted_again_after_a_restart(quota: Quota, tmp_path: Path) -> None:
    old = Stream(quota.attempt(quota.job("old", ended=-9000.0), ended=-9000.0))
    quota.reports(old.worker, 60)
    quota.reports(quota.attempt(quota.job("alive")), 60)

    quota.service.run_round()

    assert list(quota.steps.read(old)) == []
    again = StepStore(tmp_path / "records", 80 * KIB)
    assert again.wanted(old) == 60
    assert quota.server.get(f"/jobs/{old.worker.job}/metrics")["series"][0]["first"] == 60


# events


def test_a_job_that_floods_events_loses_its_own(quota: Quota) -> None:
    small, flood = quota.job("small"), quota.job("flood")
    quota.happens(100, small)
    before = quota.events_of(small)
    quota.happens(5000, flood)

    removed = quota.service.run_round()

    assert removed.events >= 4000
    assert quota.events_of(small) == before
    assert quota.server.store.read(lambda tx: sum(tx.count_events().values())) <= QUOTAS.events
    assert quota.server.get("/events", job=flood)["gap"]
    assert not quota.server.get("/events", job=small)["gap"]
    assert quota.server.get("/events", after=50)["gap"]
    end = quota.server.store.read(removed_until)
    assert not quota.server.get("/events", after=end)["gap"]
    assert quota.service.usage is not None
    assert quota.service.usage.events <= QUOTAS.events  # counted, although the ids span more


def test_an_idle_platform_removes_nothing_more(quota: Quota) -> None:
    quota.happens(2000)
    assert quota.service.run_round().events > 0

    newest = quota.server.get("/events", last=True, limit=1)["items"][0]["id"]
    assert not any(quota.service.run_round() for _ in range(5))
    assert quota.server.get("/events", last=True, limit=1)["items"][0]["id"] == newest


def test_a_cursor_into_removed_events_goes_on_at_the_oldest_and_says_so(quota: Quota) -> None:
    quota.happens(3000)
    quota.service.run_round()
    oldest = quota.server.store.read(lambda tx: tx.oldest_event())

    page = quota.server.get("/events", after=10, limit=5)
    assert (page["gap"], page["items"][0]["id"]) == (True, oldest)
    following = quota.server.get("/events", after=page["next"], limit=5)
    assert (following["gap"], following["items"][0]["id"]) == (False, oldest + 5)
    assert not quota.server.get("/events", last=True, limit=5)["gap"]
    assert quota.server.get("/events", after=oldest - 1, limit=5)["gap"] is False


def test_events_that_a_part_of_the_server_has_not_read_stay(quota: Quota) -> None:
    quota.happens(3000)
    behind = Quota(quota.server, cursors=(500, 2900))

    behind.service.run_round()

    assert quota.server.store.read(lambda tx: tx.oldest_event()) == 501


def test_a_round_is_bounded_and_says_that_something_is_left(
    quota: Quota, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenuto.server.event_retention.BATCH_ROWS", 2)
    quota.happens(3000)

    removed = quota.service.run_round()

    assert 0 < removed.events <= 2 * MAX_STEPS
    assert quota.service.unfinished


def test_old_events_go_by_their_age_and_future_ones_do_not_stop_that(tmp_path: Path) -> None:
    settings = Settings(retention=Quotas(event_seconds=1000.0))
    with a_server(tmp_path, settings) as server:
        quota = Quota(server)
        quota.happens(700, at=NOW - 5000.0)
        quota.happens(1, at=NOW + 1e6)  # a clock was ahead
        quota.happens(700, at=NOW - 2000.0)
        quota.happens(10, at=NOW - 10.0)

        removed = quota.service.run_round()

        assert removed.events == 1401
        assert server.store.read(lambda tx: tx.oldest_event()) == 1402


def test_every_view_of_a_job_answers_when_all_its_events_were_removed(quota: Quota) -> None:
    job = quota.job("old")
    quota.server.store.write(lambda tx: tx.add_event(Event(kind="node", at=NOW, actor="n", node="n")))
    quota.server.store.write(lambda tx: tx.remove_events(1 << 40, 1000))
    assert quota.events_of(job) == 0
    paths = {
        route.path.removeprefix("/api/v1").replace("{ref}", job)
        for route in all_routes(quota.server.app)
        if "GET" in (route.methods or ()) and "stream" not in route.path
    }

    answers = {
        path: quota.server.http.get(path).status_code for path in paths if "{" not in path and path[:1] == "/"
    }

    assert f"/jobs/{job}/explain" in answers
    assert [path for path, code in answers.items() if code == 500] == []


# ages


def test_jobs_go_by_their_age_with_everything_that_belongs_to_them(tmp_path: Path) -> None:
    settings = Settings(retention=Quotas(job_seconds=5000.0))
    with a_server(tmp_path, settings) as server:
        quota = Quota(server)
        old, young, needed = (quota.job(name, ended=end) for name, end in _ENDS)
        waits: str = server.submit("waits", after={"job": needed})["id"]
        worker = quota.attempt(old, ended=-9000.0)
        quota.prints(worker, 1)
        quota.reports(worker, 1)

        removed = quota.service.run_round()

        assert removed.jobs == 1
        assert {job["id"] for job in server.get("/jobs")["items"]} == {young, needed, waits}
        assert server.logs.workers(old) == []
        assert quota.steps.streams(old) == []
        assert server.store.read(lambda tx: tx.attempts(old)) == []
        kinds = [event["kind"] for event in server.get("/events", job=old)["items"]]
        assert kinds[-1] == "deleted"


_ENDS: tuple[tuple[str, float], ...] = (("old", -9000.0), ("young", -100.0), ("needed", -8000.0))


def test_logs_and_records_go_by_the_age_of_their_job(tmp_path: Path) -> None:
    settings = Settings(retention=Quotas(file_seconds=5000.0))
    with a_server(tmp_path, settings) as server:
        quota = Quota(server)
        old, young = (
            quota.attempt(quota.job(f"ended {-end:.0f}", ended=end), ended=end) for end in (-9000.0, -4000.0)
        )
        for worker in (old, young):
            quota.prints(worker, 2)
            quota.reports(worker, 2)

        removed = quota.service.run_round()

        assert (quota.printed(old), quota.printed(young)) == (0, 2 * KIB)
        assert removed.log_bytes == 2 * KIB
        assert server.get(f"/jobs/{old.job}")["id"] == old.job


def test_idempotency_keys_are_forgotten_by_their_age(quota: Quota) -> None:
    first = quota.server.post("/jobs", {"name": "a", "run": "x"}, key="k")["id"]
    assert quota.server.post("/jobs", {"name": "a", "run": "x"}, key="k")["id"] == first
    quota.server.clock.now = NOW + QUOTAS.key_seconds + 1.0

    assert quota.service.run_round().keys == 1

    assert quota.server.post("/jobs", {"name": "a", "run": "x"}, key="k")["id"] != first


def test_files_that_are_not_ours_stop_no_round(quota: Quota, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir(exist_ok=True)
    (tmp_path / "logs" / "notes.txt").write_text("mine")
    strange = quota.job("strange", ended=-9999.0)
    (tmp_path / "logs" / strange / "no.worker").mkdir(parents=True)
    (tmp_path / "logs" / strange / "no.worker" / "0.part").write_bytes(b"x" * 30 * KIB)
    old = quota.attempt(quota.job("old", ended=-9000.0), ended=-9000.0)
    quota.prints(old, 45)
    quota.prints(quota.attempt(quota.job("alive")), 45)

    quota.service.run_round()

    assert quota.printed(old) == 0
    assert (tmp_path / "logs" / "notes.txt").read_text() == "mine"


def test_the_time_in_which_the_rest_may_come_is_respected(quota: Quota) -> None:
    job = quota.job("just", ended=0.0)
    worker = quota.attempt(job, ended=0.0)
    quota.prints(worker, 60)
    quota.prints(quota.attempt(quota.job("alive")), 45)
    quota.server.clock.now = NOW + SETTLE_SECONDS - 1.0
    quota.service.run_round()
    assert quota.printed(worker) > 0

    quota.prints(worker, 30)
    quota.server.clock.now = NOW + SETTLE_SECONDS + 1.0
    quota.service.run_round()
    assert quota.printed(worker) == 0
