"""What the systems before ours could do, or should have: told as their users would try it."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.e2e.jobs import FOREVER, a_job, a_toy
from tests.e2e.platform import Platform, eventually

from tenuto.client.plain import PlainClient
from tenuto.errors import Conflict


def allocated(client: PlainClient, job: str, where: str) -> dict[str, Any]:
    """The job, once all its workers run there."""

    def look() -> dict[str, Any] | None:
        found = client.job(job)
        return found if (found["state"], found["allocation"]) == ("running", where) else None

    return eventually(look, f"the job runs on {where}")


def test_a_job_on_the_hosts_of_a_script_grows_onto_another_node_and_the_script_follows(
    platform: Platform, client: PlainClient, tmp_path: Path
) -> None:
    script, checkpoints = tmp_path / "discover_hosts_0.sh", tmp_path / "상태"
    script.write_text("echo node-0:1\necho node-1:2\n")
    file = tmp_path / "job.yaml"
    file.write_text(
        "name: horovod\nworkers: 1..4\ngrace: 5s\nhosts: discover_hosts_0.sh\nrun: "
        + str(a_toy("", checkpoints)["run"])
        + f"\ncheckpoint: {{dir: {checkpoints}}}\ntotal: {{steps: 100000}}\ncurve: {{1: 100}}\n"
    )
    eventually(lambda: len(client.nodes()["items"]) == 3, "all nodes have joined")
    job = platform.json("submit", str(file))["id"]
    allocated(client, job, "node-0:1,node-1:2")
    exported = tmp_path / "exported.sh"
    exported.write_text(platform.cli("hosts", job, "--script", "--names"))
    assert exported.read_bytes() == script.read_bytes()
    ran = subprocess.run(["/bin/sh", exported], capture_output=True, text=True, check=True)
    assert ran.stdout == "node-0:1\nnode-1:2\n"

    platform.cli("scale", job, "+1", "--node", "node-2")

    allocated(client, job, "node-0:1,node-1:2,node-2:1")
    assert platform.cli("hosts", job, "--names").splitlines() == ["node-0:1", "node-1:2", "node-2:1"]
    last = client.events(job=job, kind="scaled")["items"][-1]
    assert (last["before"], last["after"]) == ("node-0:1,node-1:2", "node-0:1,node-1:2,node-2:1")
    assert last["reason"].startswith("pinned by")

    platform.cli("hosts", job, "--names", "--apply", str(script))
    allocated(client, job, "node-0:1,node-1:2")


def test_a_size_below_the_least_changes_nothing_and_is_not_logged(
    platform: Platform, client: PlainClient
) -> None:
    job = client.submit(a_job("mało", FOREVER, workers={"min": 1, "max": 2}))["id"]
    platform.wait_for(job, "running")
    before = client.job(job), client.events(job=job)["items"]

    with pytest.raises(Conflict):
        client.scale(job, {"delta": -5})

    after = client.job(job)
    assert (after["workers"], after["pin"], after["revision"]) == (2, None, before[0]["revision"])
    assert client.events(job=job)["items"] == before[1]


def test_a_program_and_the_command_line_leave_the_same_events(
    platform: Platform, client: PlainClient
) -> None:
    by_hand, by_program = (
        client.submit(a_job(name, FOREVER, workers={"min": 1, "max": 2}))["id"] for name in ("ręka", "程序")
    )
    for job in (by_hand, by_program):
        platform.wait_for(job, "running")

    platform.cli("scale", by_hand, "1")
    token = (platform.home / "token").read_text().strip()
    answer = httpx.post(
        f"{platform.told['url']}/api/v1/jobs/{by_program}/scale",
        json={"workers": 1},
        headers={"Authorization": f"Bearer {token}"},
    )
    assert answer.status_code == 200

    def told(job: str) -> list[dict[str, Any]]:
        [event] = client.events(job=job, kind="pinned")["items"]
        return [event[key] for key in ("kind", "actor", "node", "before", "after", "reason", "data")]

    assert told(by_hand) == told(by_program)


def test_of_three_jobs_the_second_is_deleted_and_the_others_stay(
    platform: Platform, client: PlainClient
) -> None:
    jobs = [client.submit(a_job(f"job-{number}", FOREVER))["id"] for number in range(3)]
    platform.wait_for(jobs[1], "running")
    platform.cli("delete", jobs[1], "--yes", code=5)

    platform.cli("cancel", jobs[1], "--wait")
    platform.cli("delete", jobs[1], "--yes")

    listed = [job["id"] for job in platform.json("ps")["items"]]
    assert {jobs[0], jobs[2]} <= set(listed)
    assert jobs[1] not in listed
    assert platform.wait_for(jobs[2], "running")["name"] == "job-2"


def test_a_job_waits_for_its_least_number_of_slots(platform: Platform, client: PlainClient) -> None:
    large = client.submit(a_job("voll", FOREVER, workers=10))["id"]
    platform.wait_for(large, "running")
    small = client.submit(a_job("eins", FOREVER))["id"]
    platform.wait_for(small, "running")

    needs_two = client.submit(a_job("zwei", FOREVER, workers={"min": 2, "max": 2}))["id"]
    assert client.job(needs_two, wait="verdict")["state"] == "queued"

    client.act(small, "cancel")
    assert platform.wait_for(needs_two, "running")["workers"] == 2


def test_parameter_servers_get_ready_with_the_workers_and_nothing_is_left_of_them(
    platform: Platform, client: PlainClient, tmp_path: Path
) -> None:
    go = tmp_path / "los"
    os.mkfifo(go)
    train = (
        f"until test -e {tmp_path}/ps0 -a -e {tmp_path}/ps1; do sleep 0.05; done;"
        ' for step in 1 2 3; do echo "Worker $RANK: training step $step done"; done'
    )
    parameters = f"echo ps $RANK serves; touch {tmp_path}/ps$RANK; exec sleep 100000"
    spec = a_job(
        "mnist", train, workers=2, setup=f"read x < {go}", roles={"ps": {"count": 2, "run": parameters}}
    )
    job = client.submit(spec)["id"]
    starting = platform.wait_for(job, "starting")
    assert starting["ready"] == {"worker": "0/2", "ps": "0/2"}

    go.write_text("x\n")

    ended = platform.wait_for(job, "succeeded")
    assert (ended["restarts"], ended["exit_code"]) == ({"failures": 0, "losses": 0}, 0)
    assert ended["elapsed"] > 0
    assert not [name for name in platform.workers() if name.startswith(job)]
    lines = platform.cli("logs", "-f", job).splitlines()
    steps = Counter(line for line in lines if "training step" in line)
    assert steps == {
        f"worker/{rank} | Worker {rank}: training step {step} done": 1
        for rank in range(2)
        for step in (1, 2, 3)
    }
    assert sum(bool(re.fullmatch(r"ps/\d +\| ps \d serves", line)) for line in lines) == 2
    assert "mnist" in platform.cli("ps", "--all", "--wide")


def test_a_progress_bar_is_one_line_and_every_attempt_can_be_read(
    platform: Platform, client: PlainClient, tmp_path: Path
) -> None:
    line = (
        f"printf '\\r10%%\\r50%%\\r100%%\\n'; echo raz >> {tmp_path}/raz; test $(wc -l < {tmp_path}/raz) = 2"
    )
    job = client.submit(a_job("pasek", line, retry=1))["id"]

    assert platform.wait_for(job, "succeeded")["restarts"] == {"failures": 1, "losses": 0}

    for generation, code in ((1, 1), (2, 0)):
        told = platform.cli("logs", "-f", job, "--attempt", str(generation)).splitlines()
        assert told == ["100%", f"Program exit with code {code}"]
    assert platform.cli("logs", job, "--tail", "1") == "Program exit with code 0\n"
