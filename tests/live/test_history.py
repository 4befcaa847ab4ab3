"""The platform's past exported and replayed: the same jobs come out, and the same policy answers them alike."""

from __future__ import annotations

import json
import shlex
from math import inf
from pathlib import Path

import pytest
from tests.live.conftest import Lived
from tests.live.lockstep import RULES
from tests.server.serving import TOKEN
from typer.testing import CliRunner

from tenuto.cli.main import app
from tenuto.model.phase import Phase
from tenuto.plugins import policy_called
from tenuto.sim.cost import load_cost
from tenuto.sim.loop import simulate
from tenuto.sim.read_cluster import load_cluster
from tenuto.sim.read_profiles import load_profiles
from tenuto.sim.read_trace import read_trace
from tenuto.sim.workload import Workload, resolve


@pytest.fixture
def out(lived: Lived, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where its past was exported to."""
    monkeypatch.setenv("TENUTO_URL", lived.served.url)
    monkeypatch.setenv("TENUTO_TOKEN", TOKEN)
    target = tmp_path / "vývoz"
    done = CliRunner().invoke(app, ["history", "export", "--out", str(target), "--json"])
    assert done.exit_code == 0, done.output
    return target


def read_back(out: Path) -> Workload:
    profiles, cluster = load_profiles(str(out / "profiles.csv")), load_cluster(str(out / "cluster.yaml"))
    return resolve(read_trace(out / "trace.csv"), profiles, cluster)


def test_the_same_jobs_come_out(out: Path, lived: Lived) -> None:
    workload, jobs = read_back(out), lived.jobs

    trace, first = workload.trace, min(job.arrived for job in jobs)
    assert trace.ids == tuple(lived.live.ids)
    assert trace.submitted.tolist() == [job.arrived - first for job in jobs]
    assert trace.steps.tolist() == [job.left for job in jobs]
    assert trace.deadline.tolist() == [job.deadline - first for job in jobs]
    assert trace.best_effort.tolist() == [job.deadline == inf for job in jobs]
    assert trace.requested.tolist() == [job.size for job in jobs]
    curves = [
        workload.profiles.curves[model, batch].rate
        for model, batch in zip(trace.models, trace.batch.tolist(), strict=True)
    ]
    assert curves == [dict(job.curve) for job in jobs]
    assert dict(zip(workload.cluster.node_names, workload.cluster.slots.tolist(), strict=True)) == {
        "node-0": 4,
        "node-1": 4,
        "node-2": 8,
    }


def test_the_same_policy_answers_them_alike(out: Path, lived: Lived) -> None:
    workload = read_back(out)
    cost = load_cost(str(out / "costs.json"), workload.sizes, workload.cluster)

    outcome = simulate(workload, policy_called("elasticflow"), cost=cost, rules=RULES)

    declined = [job.phase is Phase.DECLINED for job in lived.live.records()]
    assert any(declined)
    assert (~outcome.admitted).tolist() == declined


def test_the_command_that_is_told_runs_as_it_is(out: Path, lived: Lived) -> None:
    about = json.loads((out / "about.json").read_text(encoding="utf-8"))
    told = shlex.split(about["command"])

    done = CliRunner().invoke(app, [*told[1:], "--json"])

    assert told[:3] == ["tenuto", "replay", str(out / "trace.csv")]
    assert done.exit_code == 0, done.output
    elasticflow, themis = json.loads(done.stdout)
    declined = sum(job.phase is Phase.DECLINED for job in lived.live.records())
    assert (elasticflow["policy"], elasticflow["declined"]) == ("elasticflow", declined)
    assert themis["declined"] == 0
    assert (about["jobs"], about["guesses"], about["left_out"]) == (25, {}, {})
