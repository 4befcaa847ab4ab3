"""The examples run as their page says: plain, alone, under torchrun, under tenuto, and with the same result."""

from __future__ import annotations

import csv
import io
import json
import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tests.e2e.platform import Platform

import tenuto
from tenuto.wire.job_file import read_jobs

EXAMPLES = Path(__file__).parents[2] / "examples"
SHORT = ("--epochs", "2", "--batch", "500")
"""Of the MLP: 24 steps."""


def start(directory: Path, *command: str, **variables: str) -> str:
    """Run a script in its directory; returns what it printed."""
    source = str(Path(tenuto.__file__).parents[1])
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TENUTO_")}
    environment |= {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "PYTHONPATH": source, **variables}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Path]:
    """A copy of the examples, because they write beside themselves."""
    copy = tmp_path / "예제"
    shutil.copytree(
        EXAMPLES, copy, ignore=shutil.ignore_patterns("log", "export", "checkpoints", "__pycache__")
    )
    yield copy
    sys.modules.pop("model", None)


@pytest.mark.parametrize("example", ["mlp", "transformer", "resnet"])
def test_the_plain_script_trains(example: str, at: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(at / example)
    monkeypatch.syspath_prepend(at / example)
    monkeypatch.setattr(sys, "argv", ["plain.py", "--epochs", "1", "--batch", "1000"])

    runpy.run_path("plain.py", run_name="__main__")

    assert list((at / example).rglob("*.pt"))


def test_the_transformer_learns_alone(at: Path) -> None:
    told = start(at / "transformer", "train.py", "--epochs", "1", "--batch", "500", TENUTO_LOG_DIR="log")

    assert told == "8,000 samples, each once, over 1 generation\n"
    losses = [line["values"]["loss"] for line in logged(at / "transformer" / "log") if line["kind"] == "step"]
    assert losses == sorted(losses, reverse=True)


def logged(directory: Path) -> list[dict[str, Any]]:
    [log] = directory.glob("*.jsonl")
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_the_resnet_stopped_after_an_epoch_begins_with_the_next_one_and_predicts(
    at: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = start(at / "resnet", "train.py", "--epochs", "1", "--batch", "200")
    log = logged(at / "resnet" / "log")
    second = start(at / "resnet", "train.py", "--epochs", "2", "--batch", "200")
    later = logged(at / "resnet" / "log")[len(log) :]

    assert first == "2,000 samples, each once, over 1 generation\n"
    assert second.endswith("2,000 samples, each once in each of 2 epochs, over 1 generation\n")
    assert [line["step"] for line in log if line["kind"] == "step"] == [10]
    assert [line["step"] for line in later if line["kind"] == "step"] == [20]
    rows = predicted(at / "resnet", monkeypatch, rows=7)
    assert [int(row["image"]) for row in rows] == list(range(7))
    assert all(0 <= int(row["predicted"]) < 10 and 0 < float(row["probability"]) <= 1 for row in rows)


def predicted(directory: Path, monkeypatch: pytest.MonkeyPatch, *, rows: int) -> list[dict[str, str]]:
    """What predict.py prints."""
    monkeypatch.chdir(directory)
    monkeypatch.syspath_prepend(directory)
    monkeypatch.setattr(sys, "argv", ["predict.py", "--rows", str(rows)])
    printed = io.StringIO()
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", printed)
        runpy.run_path("predict.py", run_name="__main__")
    return list(csv.DictReader(io.StringIO(printed.getvalue())))


@pytest.mark.big
def test_the_resnet_trains_in_half_precision(at: Path) -> None:
    told = start(at / "resnet", "train.py", "--epochs", "1", "--batch", "500", "--precision", "bfloat16")

    assert told == "2,000 samples, each once, over 1 generation\n"


class TestOneScriptInThreePlaces:
    """The MLP, unchanged, ends with the same weights wherever it ran."""

    def test_alone_under_torchrun_and_under_tenuto(self, at: Path, platform: Platform) -> None:
        mlp = at / "mlp"
        alone = start(mlp, "train.py", *SHORT, TENUTO_CHECKPOINT_DIR=str(mlp / "alone"))
        group = start(
            mlp,
            *("-m", "torch.distributed.run", "--nproc-per-node", "2", "train.py", *SHORT),
            TENUTO_CHECKPOINT_DIR=str(mlp / "group"),
        )
        [written] = read_jobs(str(mlp / "job.yaml"))
        changes = {
            "run": f"python train.py {' '.join(SHORT)}",
            "workers": 2,
            "total": {"steps": 24},
            "global_batch": 500,
            "checkpoint": {"dir": str(mlp / "job")},
        }
        with platform.client() as client:
            job = client.submit({**written.values, **changes})
        ended = platform.wait_for(job["id"], "succeeded", "failed")

        assert ended["state"] == "succeeded", platform.cli("logs", job["id"])
        sentence = "6,000 samples, each once in each of 2 epochs, over 1 generation\n"
        assert alone == group == sentence
        assert sentence.strip() in platform.cli("logs", job["id"])
        expected = weights(mlp / "alone")
        for place in ("group", "job"):
            for name, value in weights(mlp / place).items():
                torch.testing.assert_close(value, expected[name], rtol=0, atol=1e-5)


def weights(checkpoints: Path) -> dict[str, torch.Tensor]:
    """The model in the newest checkpoint."""
    newest = max(checkpoints.glob("step-*"))
    tensors = load_file(newest / "state.safetensors")
    found = {name: value for name, value in tensors.items() if name.startswith("model")}
    assert found, sorted(tensors)
    return found


@pytest.fixture
def platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Platform]:
    """One node of two slots, where `python` is the one that runs the tests."""
    programs = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(Path(tenuto.__file__).parents[1]))
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "torch"))  # else it is in TMPDIR
    settings = tmp_path / "settings.yaml"
    settings.write_text("workers: {inherit: TORCHINDUCTOR_CACHE_DIR}\n")
    made = Platform(tmp_path / "platform", "--nodes", "1", "--slots", "2", "--config", str(settings))
    try:
        made.up()
        yield made
        made.down()
        made.leaves_nothing()
    finally:
        made.end()
