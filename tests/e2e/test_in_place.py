"""A real training on a real platform: it goes over in place, is started anew when it must be, and loses no step."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from textwrap import dedent

import pytest
import yaml
from tests.e2e.platform import Json, Platform, eventually

pytestmark = pytest.mark.big
pytest.importorskip("torch")

TRAINING = """
    import time, torch, tenuto
    from torch.utils.data import TensorDataset

    torch.manual_seed(0)
    run = tenuto.init()
    data = TensorDataset(torch.randn(512, 4), torch.randn(512, 1))
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    model, optimizer, batches = run.elastic(model, optimizer, data, global_batch=32, steps=100_000)
    for x, y in batches:
        optimizer.zero_grad()
        ((model(x) - y) ** 2).mean().backward()
        optimizer.step()
        run.report()
        if run.rank == 0:
            print("at", time.time(), "step", batches.step, flush=True)
        time.sleep(0.02)
    run.finish(model)
"""


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Platform]:
    """One node of three slots, where every second change of size is a new start."""
    settings = tmp_path / "settings.yaml"
    settings.write_text(yaml.safe_dump({"scheduling": {"max_reconfigs_before_restart": 2}}))
    made = Platform(tmp_path / "platform", "--slots", "3", "--config", str(settings))
    try:
        made.up()
        with made.client(patience=10.0) as client:
            eventually(lambda: client.cluster()["slots"]["usable"] == 3, "the node has joined")
        yield made
        made.down()
        made.leaves_nothing()
    finally:
        made.end()


@pytest.fixture
def job(here: Platform, tmp_path: Path) -> str:
    script = tmp_path / "обучение.py"
    script.write_text(dedent(TRAINING), encoding="utf-8")
    with here.client(patience=10.0) as client:
        told = client.submit(
            {
                "name": "학습",
                "run": [sys.executable, str(script)],
                "strategy": "allreduce",
                "workers": "1..3",
                "env": {
                    "OMP_NUM_THREADS": "1",
                    "GLOO_SOCKET_IFNAME": "lo",
                    "TORCHINDUCTOR_CACHE_DIR": str(
                        tmp_path / "torch"
                    ),  # else torch leaves one among others' files
                },
            }
        )
    id_: str = told["id"]
    trains(here, id_, 3)
    return id_


def trains(here: Platform, job: str, workers: int) -> Json:
    """Wait until so many train together."""

    def look() -> Json | None:
        found = here.job(job)
        stages = [member["stage"] for member in found["members"]]
        return found if found["state"] == "running" and stages == ["training"] * workers else None

    return eventually(look, f"{workers} workers train together")


def scaled(here: Platform, job: str, workers: int) -> Json:
    with here.client(patience=10.0) as client:
        client.scale(job, {"workers": workers})
    return trains(here, job, workers)


def names(job: Json) -> list[str]:
    return [member["worker"] for member in job["members"]]


def steps(here: Platform, job: str) -> list[int]:
    """Every step that was told by whoever was rank 0, in the order of time."""
    with here.client(patience=10.0) as client:
        parts = client.logs(job, limit=1 << 20)["parts"]
    lines = [line.split() for part in parts for line in part["text"].splitlines() if line.startswith("at ")]
    return [int(line[3]) for line in sorted(lines, key=lambda line: float(line[1]))]


def test_every_second_change_of_size_starts_from_a_checkpoint_and_no_step_is_lost(
    here: Platform, job: str
) -> None:
    three = here.job(job)
    two = scaled(here, job, 2)
    assert set(names(two)) < set(names(three)), "it went over in place"

    alone = scaled(here, job, 1)
    assert not set(names(alone)) & set(names(two)), "all were started anew"
    before = len(steps(here, job))
    eventually(lambda: len(steps(here, job)) > before + 20, "it goes on")

    told = steps(here, job)
    assert {later - earlier for earlier, later in pairwise(told)} == {1}, "no step twice, none left out"
    assert (here.home / "checkpoints" / job).is_dir()


def test_a_killed_worker_costs_no_step_and_the_platform_may_go_and_come(here: Platform, job: str) -> None:
    two = scaled(here, job, 2)
    os.kill(here.workers()[names(two)[1]].pid, signal.SIGKILL)
    eventually(lambda: names(here.job(job)) != names(two), "the lost one is replaced")
    again = trains(here, job, 2)
    assert names(again)[0] == names(two)[0]

    here.down()
    here.up()
    trains(here, job, 2)
    before = len(steps(here, job))
    eventually(lambda: len(steps(here, job)) > before + 20, "it goes on from its checkpoint")

    told = steps(here, job)
    assert {later - earlier for earlier, later in pairwise(told)} <= {0, 1}, (
        "a step that was aborted is told twice"
    )
    assert names(here.job(job)) != names(again)
