"""The same script without tenuto: alone, in a group of fixed size, and under torchrun."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.sdk.pytorch.stage import HERE, TOY, Nursery, run_alone
from tests.sdk.pytorch.weights import farthest

_PLAIN = {"MODEL_SEED": "5", "STEPS": "40", "OPTIMIZER": "adam"}


def a_free_port() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])


def order(home: Path, rank: int, port: str, **environ: str) -> dict[str, Any]:
    home.mkdir(parents=True, exist_ok=True)
    place = {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    surroundings = {"STAGE": str(home), **place, **_PLAIN, **environ}
    return {"script": str(TOY), "arguments": [], "env": surroundings, "without": [], "log": str(home / "log")}


def test_a_group_of_fixed_size_gives_the_weights_of_one_process(nursery: Nursery, tmp_path: Path) -> None:
    undisturbed = run_alone(nursery, tmp_path / "alone", **_PLAIN)
    port = a_free_port()

    pids = [nursery.start(order(tmp_path / "zwei", rank, port)) for rank in range(2)]

    assert nursery.wait_for(pids) == [0, 0]
    final = json.loads((tmp_path / "zwei" / "alone.final").read_text())
    assert farthest(final, undisturbed) < 1e-6


def test_a_group_told_to_end_keeps_a_checkpoint_and_goes_on_from_it_next_time(
    nursery: Nursery, tmp_path: Path
) -> None:
    undisturbed = run_alone(nursery, tmp_path / "alone", **_PLAIN)
    kept = {"TENUTO_CHECKPOINT_DIR": str(tmp_path / "kept")}
    home, port = tmp_path / "zwei", a_free_port()
    pids = [nursery.start(order(home, rank, port, TERM_AT="15", **kept)) for rank in range(2)]
    assert nursery.wait_for(pids) == [143, 143]
    (checkpoint,) = (tmp_path / "kept").iterdir()
    assert int(checkpoint.name.removeprefix("step-")) >= 16

    port = a_free_port()
    pids = [nursery.start(order(home, rank, port, **kept)) for rank in range(2)]

    assert nursery.wait_for(pids) == [0, 0]
    assert farthest(json.loads((home / "alone.final").read_text()), undisturbed) < 1e-6


def test_a_script_alone_told_to_end_keeps_a_checkpoint(nursery: Nursery, tmp_path: Path) -> None:
    undisturbed = run_alone(nursery, tmp_path / "alone", **_PLAIN)
    one = {**_PLAIN, "TENUTO_CHECKPOINT_DIR": str(tmp_path / "kept")}
    told = order(tmp_path / "eins", 0, "", **one, TERM_AT="15", WORLD_SIZE="1")
    assert nursery.wait_for([nursery.start(told)]) == [143]

    again = run_alone(nursery, tmp_path / "again", **one)

    assert farthest(again, undisturbed) < 1e-6


@pytest.mark.big
def test_torchrun_and_plain_python_run_the_same_script(nursery: Nursery, tmp_path: Path) -> None:
    undisturbed = run_alone(nursery, tmp_path / "alone", **_PLAIN)
    surroundings = {
        **os.environ,
        **_PLAIN,
        "PYTHONPATH": os.pathsep.join([str(HERE.parents[2] / "src"), str(HERE.parents[2])]),
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
    }
    launchers = {
        "python": [sys.executable],
        "torchrun": [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"],
    }
    for name, launcher in launchers.items():
        home = tmp_path / name
        home.mkdir()
        subprocess.run(
            [*launcher, str(TOY)], env={**surroundings, "STAGE": str(home)}, check=True, timeout=300
        )
        assert farthest(json.loads((home / "alone.final").read_text()), undisturbed) < 1e-6
