"""The examples do what their pages say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from tests.installed import a_package
from tests.properties.checks import assert_actions_lead_to_the_plan, assert_possible
from tests.properties.strategies import snapshots
from typer.testing import CliRunner

import tenuto
from tenuto.cli.main import app
from tenuto.model.snapshot import Snapshot
from tenuto.plugins import policy_called
from tenuto.rounds.round import run_round
from tenuto.wire import env
from tenuto.wire.api import JobIn
from tenuto.wire.job_file import read_jobs

EXAMPLES = Path(__file__).parents[1] / "examples"
SHORTEST_FIRST = EXAMPLES / "shortest_first"
FILE = str(SHORTEST_FIRST / "shortest_first.py")
LAB = ("replay", "lab-200", "--cluster", "n8g8", "--json", "--quiet")


@pytest.fixture(scope="module")
def by_path() -> dict[str, dict[str, Any]]:
    """What becomes of the bundled trace, by policy."""
    result = CliRunner().invoke(app, [*LAB, "--policy", f"{FILE},fifo"])
    assert result.exit_code == 0, result.output
    return {row["policy"]: row for row in json.loads(result.stdout)}


def test_shorter_jobs_first_let_jobs_wait_less_than_first_come(by_path: dict[str, dict[str, Any]]) -> None:
    assert by_path["shortest-first"]["mean_jct"] < 0.8 * by_path["fifo"]["mean_jct"]


def test_its_setting_changes_the_outcome(by_path: dict[str, dict[str, Any]]) -> None:
    result = CliRunner().invoke(app, [*LAB, "--policy", FILE, "--set", "grace=inf"])
    assert result.exit_code == 0, result.output

    [row] = json.loads(result.stdout)
    assert row["mean_jct"] > by_path["shortest-first"]["mean_jct"]


def test_installed_it_has_a_name(tmp_path: Path, by_path: dict[str, dict[str, Any]]) -> None:
    """Without a network: what an installer would make of the project is made by hand of its own pyproject.toml."""
    project = tomllib.loads((SHORTEST_FIRST / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    modules = {path.stem: path.read_text(encoding="utf-8") for path in SHORTEST_FIRST.glob("*.py")}
    a_package(tmp_path, project["name"], modules=modules, entry_points=project["entry-points"])

    told = subprocess.run(
        [sys.executable, "-c", "from tenuto.cli.main import main; main()", *LAB, "--policy", "srtf"],
        env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{Path(tenuto.__file__).parents[1]}"},
        capture_output=True,
        text=True,
        check=True,
    )

    [row] = json.loads(told.stdout)
    assert row["policy"] == "shortest-first"
    assert row["mean_jct"] == by_path["shortest-first"]["mean_jct"]


def test_the_smallest_job_can_be_submitted() -> None:
    [job] = read_jobs(str(EXAMPLES / "hello.yaml"))

    assert job.checked().name == "hello"


@pytest.fixture
def toy(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Start the elastic toy as a worker finds itself started."""
    [job] = read_jobs(str(EXAMPLES / "elastic-toy" / "job.yaml"))
    spec, _ = JobIn.model_validate(job.checked().values).to_spec(now=0.0)
    variables = {
        env.CHECKPOINT_DIR: str(tmp_path / str(spec.checkpoint and spec.checkpoint.dir)),
        env.REPORT: str(tmp_path / "report"),
        env.JOB_ID: "k1",
    }

    def start(workers: int, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "toy.py", *arguments],
            cwd=spec.workdir,
            env=os.environ | variables | {env.WORLD_SIZE: str(workers), env.RANK: "0"},
            stdout=subprocess.PIPE,
            text=True,
        )

    return start


def test_the_toy_goes_on_at_another_size_where_it_was_stopped(
    toy: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    with toy(1, "--steps", "100000") as first:
        assert first.stdout is not None
        while not first.stdout.readline().startswith("step 20 "):
            pass
        first.terminate()
        last = first.stdout.read().splitlines()[-1]
    with toy(4, "--steps", "200", "--step-seconds", "0.001") as second:
        assert second.stdout is not None
        lines = second.stdout.read().splitlines()

    saved = int(last.removeprefix("told to stop; saved step "))
    assert (first.returncode, second.returncode) == (143, 0)
    assert saved >= 20
    assert lines[0] == f"4 workers go on from step {saved}"
    assert lines[-1] == "done: 200 steps"
    assert json.loads((tmp_path / "report").read_text().splitlines()[-1])["step"] == 200


@settings(max_examples=50)
@given(snap=snapshots())
def test_it_answers_every_picture(snap: Snapshot) -> None:
    result = run_round(snap, policy_called(FILE))

    assert_possible(snap, result)
    assert_actions_lead_to_the_plan(snap, result)
