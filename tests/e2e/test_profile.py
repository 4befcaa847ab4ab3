"""`tenuto profile` on a real platform: a job that sleeps is as fast as it sleeps, at every size."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest
import yaml
from tests.e2e.jobs import a_toy
from tests.e2e.platform import HANG, PROGRAM, Platform, eventually

from tenuto.client.plain import PlainClient
from tenuto.sim.read_profiles import load_profiles


@pytest.fixture(autouse=True)
def all_there(client: PlainClient) -> None:
    eventually(lambda: client.cluster()["slots"]["usable"] == 12, "all nodes have joined")


@pytest.fixture
def job_file(tmp_path: Path) -> Path:
    """A toy whose step takes one worker 10 ms."""
    job = a_toy("игрушка", tmp_path / "checkpoints", deadline="+1s", global_batch=64)
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump(job, allow_unicode=True), encoding="utf-8")
    return path


def test_a_profile_appears_from_nothing_and_grows_with_the_size(
    platform: Platform, client: PlainClient, job_file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "new.csv"

    told = platform.json(
        "profile", str(job_file), "--workers", "1,4", "--batches", "64", "--seconds", "1", "--out", str(out)
    )

    curve = load_profiles(str(out)).curves["игрушка", 64].rate
    assert set(curve) == {1, 4}
    assert 1.5 < curve[4] / curve[1] < 4.8, "four times as fast, or somewhat less on a busy machine"
    assert json.loads(out.with_suffix(".json").read_bytes())["seconds"] > 2.0, "what it took in all"
    assert [point["workers"] for point in told["points"]] == [1, 4]
    assert client.jobs(name="игрушка-profile")["items"] == [], "nothing is left behind"
    assert not (tmp_path / "checkpoints").exists(), "the job's own checkpoints are left alone"
    known = client.curves()["items"][0]
    assert set(known["sizes"]) == {"1", "4"}


def test_ctrl_c_leaves_no_job_behind(platform: Platform, client: PlainClient, job_file: Path) -> None:
    command = [*PROGRAM, "profile", str(job_file), "--workers", "1", "--seconds", "600"]
    profiling = subprocess.Popen(
        command, env=platform.environment, cwd=job_file.parent, stderr=subprocess.PIPE
    )
    try:
        eventually(lambda: client.jobs(name="игрушка-profile", state="running")["items"], "it is measured")
        profiling.send_signal(signal.SIGINT)
        _, errors = profiling.communicate(timeout=HANG)
    finally:
        profiling.kill()
        profiling.wait()

    assert b"Traceback" not in errors
    assert client.jobs(name="игрушка-profile")["items"] == []
    assert not list(job_file.parent.glob("*.csv"))


def test_a_size_for_which_there_is_no_room_is_refused_at_once(
    platform: Platform, job_file: Path, tmp_path: Path
) -> None:
    assert "12 slots" in platform.cli("profile", str(job_file), "--workers", "13", code=2, cwd=tmp_path)


def test_a_job_that_fails_is_kept_with_its_logs(
    platform: Platform, client: PlainClient, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("name: kaputt\nrun: [sh, -c, 'exit 9']\n")

    told = platform.cli("profile", str(broken), code=1, cwd=tmp_path)

    (job,) = client.jobs(name="kaputt-profile")["items"]
    assert (job["state"], job["exit_code"]) == ("failed", 9)
    assert f"tenuto logs {job['id']}" in told
