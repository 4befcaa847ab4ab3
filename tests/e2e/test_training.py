"""A real training on real nodes is moved with its weights, and told of in full although the server was away."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from tests.e2e.platform import Json, Platform, eventually

TRAINING = """
    import hashlib, os, pathlib, time, torch, tenuto
    from torch.utils.data import TensorDataset

    def weights():
        tensors = [tensor.detach().numpy().tobytes() for tensor in model.state_dict().values()]
        return hashlib.sha256(b"".join(tensors)).hexdigest()

    def wait_for_leave(step):
        while step >= int((here / "limit").read_text()):
            time.sleep(0.01)

    here = pathlib.Path(__file__).parent
    torch.manual_seed(os.getpid())
    run = tenuto.init()
    data = TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    model, optimizer, batches = run.elastic(model, optimizer, data, global_batch=16)
    for x, y in batches:
        wait_for_leave(batches.step)
        before = weights()
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run.report(потеря=loss)
        if run.is_leader:
            print("update", batches.step, before, weights(), flush=True)
        time.sleep(0.01)
    run.finish(model)
"""


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """Two nodes of two slots."""
    made = Platform(tmp_path_factory.mktemp("platform"), "--nodes", "2", "--slots", "2")
    try:
        made.up()
        with made.client(patience=10.0) as client:
            eventually(lambda: client.cluster()["slots"]["usable"] == 4, "the nodes have joined")
        yield made
        made.down()
        made.leaves_nothing()
    finally:
        made.end()


class Training:
    """A job that trains up to a step and waits there until it is let on."""

    def __init__(self, platform: Platform, directory: Path, *, workers: int, steps: int) -> None:
        self._platform = platform
        self._limit = directory / "limit"
        self.log = directory / "журнал"
        script = directory / "обучение.py"
        script.write_text(dedent(TRAINING), encoding="utf-8")
        self.let_on(0)
        env = {
            "OMP_NUM_THREADS": "1",
            "GLOO_SOCKET_IFNAME": "lo",
            "TENUTO_LOG_DIR": str(self.log),
            "TORCHINDUCTOR_CACHE_DIR": str(directory / "torch"),  # else torch leaves one among others' files
        }
        job = {"name": "학습", "run": [sys.executable, str(script)], "strategy": "allreduce", "env": env}
        with platform.client(patience=10.0) as client:
            told = client.submit({**job, "workers": workers, "total": {"steps": steps}})
        self.id: str = told["id"]

    def let_on(self, step: int) -> None:
        new = self._limit.with_suffix(".new")
        new.write_text(str(step))
        new.replace(self._limit)

    def told_here(self) -> list[list[Json]]:
        """What each worker wrote down by itself."""
        logs = sorted(self.log.glob("*.jsonl"))
        return [[json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] for log in logs]

    def told_there(self) -> list[list[int]]:
        """The steps of each worker that the server knows of."""
        with self._platform.client(patience=10.0) as client:
            series = client.metrics(self.id)["series"]
        return [[point["step"] for point in one["points"]] for one in series]

    def printed(self) -> str:
        with self._platform.client(patience=10.0) as client:
            parts = client.logs(self.id, limit=1 << 20)["parts"]
        return "".join(part["text"] for part in parts)

    def updates(self) -> list[tuple[int, str, str]]:
        """Every update: its step, the weights before it and those after it."""
        lines = [line.split() for line in self.printed().splitlines() if line.startswith("update ")]
        return sorted((int(step), before, after) for _, step, before, after in lines)

    def events(self, kind: str) -> list[Any]:
        with self._platform.client(patience=10.0) as client:
            found: list[Any] = client.events(job=self.id, kind=kind)["items"]
        return found

    def step(self) -> float:
        return float(self._platform.job(self.id)["progress"]["step"] or 0.0)

    def nodes(self) -> set[str]:
        """Where it trains now; nothing while it goes over."""
        told = self._platform.job(self.id)
        is_settled = told["state"] == "running" and [one["stage"] for one in told["members"]] == ["training"]
        return {node for node, slots in told["slots"].items() if slots} if is_settled else set()


def test_a_training_moves_to_another_node_with_its_weights_to_the_bit(
    platform: Platform, tmp_path: Path
) -> None:
    training = Training(platform, tmp_path, workers=1, steps=100_000)
    training.let_on(100_000)
    (here,) = eventually(training.nodes, "it trains")
    eventually(lambda: training.step() > 10, "it makes steps")
    (there,) = {"node-0", "node-1"} - {here}

    with platform.client(patience=10.0) as client:
        client.scale(training.id, {"nodes": {here: 0, there: 1}, "force": True})
    eventually(lambda: training.nodes() == {there}, "it trains on the other node")
    moved = training.step()
    eventually(lambda: training.step() > moved + 10, "it goes on there")

    updates = training.updates()
    assert [step for step, *_ in updates] == list(range(len(updates))), "no step twice, none left out"
    assert all(earlier[2] == later[1] for earlier, later in pairwise(updates)), "weights go on as they were"
    assert "paused for" in platform.cli("events", training.id), "what it cost is printed"
    assert "Warning" not in training.printed()
    platform.cli("cancel", training.id)
    platform.wait_for(training.id, "cancelled")


def test_a_server_that_is_away_in_mid_training_stops_no_step_and_gets_every_record_once(
    platform: Platform, tmp_path: Path
) -> None:
    training = Training(platform, tmp_path, workers=2, steps=50)
    training.let_on(25)
    eventually(lambda: training.told_there() == [[10, 20], [10, 20]], "the server knows of 20 steps")

    platform.kill()
    training.let_on(45)
    eventually(
        lambda: [told[-1]["step"] for told in training.told_here()] == [40, 40],
        "training goes on without the server",
    )
    platform.up()
    training.let_on(50)
    platform.wait_for(training.id, "succeeded")

    eventually(lambda: training.events("summary"), "the summary has come")
    assert training.told_there() == [[10, 20, 30, 40, 50]] * 2
    assert len(training.events("summary")) == 1
    for told in training.told_here():
        assert [record["seq"] for record in told] == list(range(len(told))), "the log has no gap"
        assert [record["step"] for record in told if record["kind"] == "step"] == [10, 20, 30, 40, 50]
    assert [step for step, *_ in training.updates()] == list(range(50))
