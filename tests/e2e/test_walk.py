"""A user's walk through the platform: real server, real supervisors, real processes."""

from __future__ import annotations

import json
import os
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.e2e.jobs import FOREVER, a_job, a_toy
from tests.e2e.platform import Platform, eventually

from tenuto.client.plain import PlainClient
from tenuto.errors import Conflict


def ranks(platform: Platform, job: str) -> dict[str, int]:
    """The pids of a job's workers by `generation.role.rank`."""
    return {
        name.partition(".")[2]: process.pid
        for name, process in platform.workers().items()
        if name.startswith(job)
    }


def printed(client: PlainClient, job: str, **query: object) -> str:
    """What came of a job's output, once all of it has."""

    def whole() -> list[dict[str, str]]:
        pieces = client.logs(job, **query)["parts"]
        return pieces if pieces and all(piece["ended"] for piece in pieces) else []

    return "".join(piece["text"] for piece in eventually(whole, "the whole log is there"))


def first_step(client: PlainClient, job: str, *, workers: int) -> int:
    """Where the toy went on, once it runs with so many workers."""
    begins = f"{workers} workers go on from step "

    def look() -> str | None:
        parts = client.logs(job, rank=0)["parts"] if client.job(job)["workers"] == workers else []
        return next((part["text"] for part in parts if part["text"].startswith(begins)), None)

    return int(eventually(look, f"{workers} workers run").splitlines()[0].removeprefix(begins))


class TestTheAnswer:
    def test_a_deadline_that_can_be_held_is_promised(
        self, platform: Platform, client: PlainClient, tmp_path: Path
    ) -> None:
        job = client.submit(a_toy("obietnica", tmp_path, steps=300, deadline="+10m"))

        answered = client.job(job["id"], wait="verdict")
        assert answered["contract"]["reply"] == "admitted"
        assert answered["promise"]["state"] == "holds"

        ended = platform.wait_for(job["id"], "succeeded", "failed")
        assert (ended["state"], ended["promise"]["state"]) == ("succeeded", "kept")

    def test_a_deadline_that_cannot_be_held_is_declined_with_an_offer(
        self, client: PlainClient, tmp_path: Path
    ) -> None:
        job = client.submit(a_toy("zu-viel", tmp_path, steps=1_000_000, deadline="+1m"))

        answered = client.job(job["id"], wait="verdict")

        assert (answered["state"], answered["contract"]["reply"]) == ("declined", "declined")
        offers = answered["contract"]["offers"]
        assert offers["earliest"] is not None
        assert 0 < offers["steps"] < 1_000_000
        # The offer held at the moment of the answer; some of the time is gone since then.
        later = (datetime.fromisoformat(offers["earliest"]) + timedelta(minutes=1)).isoformat()
        again = client.submit(a_toy("zu-viel", tmp_path, steps=1_000_000, deadline=later))
        assert client.job(again["id"], wait="verdict")["contract"]["reply"] == "admitted"

    def test_a_job_without_deadline_gets_no_promise_and_is_told_so(
        self, platform: Platform, client: PlainClient
    ) -> None:
        job = client.submit(a_job("그냥", ["true"]))

        answered = client.job(job["id"], wait="verdict")

        assert answered["contract"]["reply"] == "queued"
        assert answered["promise"]["state"] == "none"
        assert platform.wait_for(job["id"], "succeeded")["exit_code"] == 0

    def test_a_curve_that_is_not_known_is_measured_first(self, client: PlainClient, tmp_path: Path) -> None:
        job = client.submit(a_toy("mierzony", tmp_path, deadline="+1d") | {"curve": "auto"})

        answered = client.job(job["id"], wait="verdict")

        assert answered["contract"]["reply"] == "measuring"
        assert answered["contract"]["firm_at"] is not None

    def test_a_job_larger_than_the_cluster_is_unschedulable(self, client: PlainClient) -> None:
        job = client.submit(a_job("zu-gross", ["true"], workers=13))

        assert client.job(job["id"], wait="verdict")["state"] == "unschedulable"


class TestScaling:
    def test_a_size_can_be_pinned_changed_by_one_and_released(
        self, platform: Platform, client: PlainClient, tmp_path: Path
    ) -> None:
        job = client.submit(a_toy("elastisch", tmp_path))["id"]
        begun_from = [first_step(client, job, workers=4)]

        for wish, size in (({"workers": 2}, 2), ({"delta": 1}, 3), ({"delta": -1}, 2)):
            client.scale(job, wish)
            begun_from.append(first_step(client, job, workers=size))
            assert len(ranks(platform, job)) == size
        client.scale(job, {"workers": "auto"})

        assert client.job(job)["pin"] is None
        assert begun_from == sorted(begun_from)
        kinds = [event["kind"] for event in client.events(job=job)["items"]]
        assert kinds.count("pinned") == 4

    def test_a_size_out_of_range_is_refused_and_changes_nothing(
        self, platform: Platform, client: PlainClient, tmp_path: Path
    ) -> None:
        job = client.submit(a_toy("granice", tmp_path, workers="2..3"))["id"]
        before = platform.wait_for(job, "running")

        for wish in ({"workers": 1}, {"workers": 4}, {"delta": -5}):
            with pytest.raises(Conflict):
                client.scale(job, wish)

        after = client.job(job)
        assert (after["pin"], after["generation"]) == (before["pin"], before["generation"])

    def test_a_paused_job_holds_no_slot_and_goes_on_where_it_was(
        self, platform: Platform, client: PlainClient, tmp_path: Path
    ) -> None:
        job = client.submit(a_toy("pauza", tmp_path))["id"]
        platform.wait_for(job, "running")

        client.act(job, "pause")
        assert platform.wait_for(job, "paused")["slots"] == {}
        assert ranks(platform, job) == {}

        client.act(job, "resume")
        platform.wait_for(job, "running")


class TestTheCommand:
    def test_it_runs_as_asked(self, platform: Platform, client: PlainClient, tmp_path: Path) -> None:
        line = 'printf "%s|%s|%s|%s\\n" "$PWD" "$KOLOR" "$RANK/$WORLD_SIZE" "$CUDA_VISIBLE_DEVICES" && echo "zweites"'
        job = client.submit(a_job("wie-gewünscht", line, workdir=str(tmp_path), env={"KOLOR": "빨강"}))["id"]

        platform.wait_for(job, "succeeded")

        lines = printed(client, job).splitlines()
        assert lines[:2] == [f"{tmp_path}|빨강|0/1|", "zweites"]
        assert "Program exit with code 0" in lines[-1]

    def test_its_exit_code_is_kept_and_it_is_tried_again_as_often_as_allowed(
        self, platform: Platform, client: PlainClient
    ) -> None:
        job = client.submit(a_job("kaputt", "echo versuch; exit 7", retry=1))["id"]

        ended = platform.wait_for(job, "failed")

        assert (ended["exit_code"], ended["restarts"]["failures"]) == (7, 1)
        assert [printed(client, job, generation=number).splitlines()[0] for number in (1, 2)] == [
            "versuch"
        ] * 2

    def test_too_much_memory_is_told_as_the_reason(self, platform: Platform, client: PlainClient) -> None:
        eat = [sys.executable, "-S", "-c", "x = bytearray(400 << 20); import time; time.sleep(60)"]
        job = client.submit(a_job("hungrig", eat, limits={"memory": "100M"}))["id"]

        assert platform.wait_for(job, "failed")["why"] == "out_of_memory"

    def test_cancelling_kills_its_childrens_children(self, platform: Platform, client: PlainClient) -> None:
        job = client.submit(a_job("rodzina", "(sleep 100000 & sleep 100000) & wait"))["id"]
        platform.wait_for(job, "running")

        def family() -> int:
            return sum(
                f"TENUTO_JOB_ID={job}".encode() in Path(f"/proc/{process.pid}/environ").read_bytes()
                for process in platform.processes()
            )

        eventually(lambda: family() >= 3, "the family is complete")
        client.act(job, "cancel")
        platform.wait_for(job, "cancelled")

        assert family() == 0

    def test_workers_start_one_after_the_other_if_asked(
        self, platform: Platform, client: PlainClient, tmp_path: Path
    ) -> None:
        line = f'echo "$RANK" >> {tmp_path / "order"}; exec sleep 100000'
        job = client.submit(a_job("gänsemarsch", line, workers=3, start="ordered"))["id"]

        platform.wait_for(job, "running")

        eventually(lambda: len((tmp_path / "order").read_text().split()) == 3, "three have written")
        assert (tmp_path / "order").read_text().split() == ["0", "1", "2"]

    def test_roles_stand_beside_the_workers_and_end_with_them(
        self, platform: Platform, client: PlainClient, tmp_path: Path
    ) -> None:
        go = tmp_path / "go"
        os.mkfifo(go)
        job = client.submit(a_job("serwer", f"read line < {go}", roles={"ps": {"run": "sleep 100000"}}))["id"]
        platform.wait_for(job, "running")
        eventually(lambda: len(ranks(platform, job)) == 2, "worker and ps run")

        go.write_text("weiter\n")

        platform.wait_for(job, "succeeded")
        assert ranks(platform, job) == {}


class TestAfter:
    @pytest.mark.parametrize(
        ("code", "condition", "end"),
        [(0, "ok", "succeeded"), (1, "any", "succeeded"), (1, "fail", "succeeded"), (1, "ok", "failed")],
    )
    def test_a_job_begins_after_the_end_it_waits_for(
        self, platform: Platform, client: PlainClient, code: int, condition: str, end: str
    ) -> None:
        first = client.submit(a_job("erst", f"exit {code}"))["id"]
        second = client.submit(a_job("dann", ["true"], after={"job": first, "condition": condition}))["id"]

        platform.wait_for(second, end)


def test_logs_can_be_followed_to_the_end(platform: Platform, client: PlainClient) -> None:
    line = "for i in 1 2 3; do echo Zeile $i; sleep 0.2; done; exit 3"
    job = client.submit(a_job("gesprächig", line))["id"]

    told = platform.cli("logs", "-f", job)

    assert [f"Zeile {number}" for number in (1, 2, 3)] == told.splitlines()[:3]
    assert "Program exit with code 3" in told


def test_the_program_and_the_api_tell_the_same(platform: Platform, client: PlainClient) -> None:
    job = client.submit(a_job("dwa-języki", FOREVER, labels={"team": "한국"}))

    listed = platform.json("ps")

    assert job["id"] in json.dumps(listed)
    assert platform.json("show", job["id"])["name"] == "dwa-języki"
