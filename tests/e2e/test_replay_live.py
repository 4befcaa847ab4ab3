"""`tenuto replay --live --speedup`: a trace on a platform that runs, with real processes, beside the simulator."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.jobs import FOREVER, a_job
from tests.e2e.platform import HANG, PROGRAM, Json, Platform, eventually

from tenuto.cli.run import INTERRUPTED
from tenuto.client.plain import PlainClient
from tenuto.rehearsal.reasons import CLOSE

HEADER = "job_id,submitted,steps,model,deadline,global_batch,slots,duration,best_effort"
JOBS = """\
먼저,0,16800,resnet50_cifar10,3000,128,4,600,0
zu-viel,60,500000,resnet50_cifar10,160,128,4,17000,0
někdy,120,8400,resnet50_cifar10,,128,2,500,1
"""


@pytest.fixture
def trace(tmp_path: Path) -> str:
    """Three jobs of minutes: one is promised, one is asked too much of, one takes what is left."""
    file = tmp_path / "dopoledne.csv"
    file.write_text(f"{HEADER}\n{JOBS}", encoding="utf-8")
    return str(file)


def verdicts(told: Json, whose: str) -> dict[str, Any]:
    return {job["job"]: job[whose]["verdict"] for job in told["items"]}


def each_difference_has_a_reason(told: Json) -> bool:
    apart = [job for job in told["items"] if job["off"] is not None and abs(job["off"]) > CLOSE]
    return all(job["reasons"] for job in apart)


def test_the_answers_are_those_of_the_simulator_and_others_are_left_alone(
    platform: Platform, client: PlainClient, trace: str
) -> None:
    other = client.submit(a_job("cizí", FOREVER))["id"]
    platform.wait_for(other, "running")

    done = platform.run("replay", "--live", trace, "--speedup", "120", "--json")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "Jobs of others live there (1 running)" in done.stderr
    told: Json = json.loads(done.stdout)
    assert verdicts(told, "live") == verdicts(told, "simulated")
    assert verdicts(told, "live") == {"먼저": "accepted", "zu-viel": "declined", "někdy": "accepted"}
    assert each_difference_has_a_reason(told)
    assert all(job["live"]["jct"] > 100.0 for job in told["items"] if job["live"]["finished"])
    jobs = client.jobs(label=["replay=dopoledne"], limit=50)["items"]
    assert {job["state"] for job in jobs} == {"succeeded", "declined"}
    assert platform.job(other)["state"] == "running"


def test_what_is_the_platforms_is_not_set_from_here(platform: Platform, trace: str) -> None:
    said = platform.cli("replay", "--live", trace, "--speedup", "100", "--policy", "fifo", code=2)

    assert "--policy is the platform's own affair" in said


def test_ctrl_c_cancels_its_jobs_and_no_others(
    platform: Platform, client: PlainClient, trace: str, tmp_path: Path
) -> None:
    other = client.submit(a_job("cizí", FOREVER))["id"]
    program = subprocess.Popen(
        [*PROGRAM, "replay", "--live", trace, "--speedup", "1"],
        env=platform.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        query: dict[str, Any] = {"label": ["replay=dopoledne"], "state": ["running"]}
        job = eventually(lambda: client.jobs(**query)["items"], "a job of the trace runs")[0]["id"]
        program.send_signal(signal.SIGINT)
        _, said = program.communicate(timeout=HANG)
    finally:
        program.kill()
        program.wait(HANG)

    assert program.returncode == INTERRUPTED
    assert "Cancelled 1 jobs of this replay" in said
    assert platform.wait_for(job, "cancelled")["state"] == "cancelled"
    assert platform.wait_for(other, "running")["state"] == "running"
    assert list(platform.temporary.glob("tenuto-replay-*")) == []


@pytest.fixture
def nowhere(tmp_path: Path) -> Iterator[Platform]:
    """Not started: it only knows how to find what belongs to it."""
    made = Platform(tmp_path / "nirgends")
    try:
        yield made
    finally:
        made.end()


def test_where_none_runs_one_of_its_own_is_started_and_stopped(nowhere: Platform, trace: str) -> None:
    done = nowhere.run(
        "replay", "--live", trace, "--speedup", "200", "--cluster", "n1g4", "--policy", "edf-admission"
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "No platform runs here" in done.stderr
    assert "dopoledne on 4 slots under edf-admission, 200 times faster" in done.stdout
    assert "Finish times within 5% for " in done.stdout
    assert list(nowhere.temporary.iterdir()) == []
    assert nowhere.processes() == []


@pytest.mark.big
@pytest.mark.parametrize("policy", ["elasticflow", "tiresias"])
def test_ten_jobs_of_hours_in_minutes(policy: str, nowhere: Platform) -> None:
    told = nowhere.json(
        "replay", "--live", "demo-10", "--speedup", "60", "--local", "--cluster", "n2g8", "--policy", policy
    )

    assert verdicts(told, "live") == verdicts(told, "simulated")
    assert each_difference_has_a_reason(told)
    assert told["close"] >= 5
