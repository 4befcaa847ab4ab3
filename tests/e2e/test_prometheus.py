"""A real Prometheus watches a platform that trains: its numbers are those of the store, and every query of every
dashboard is asked.

One platform for all of it: a machine with four GPUs that are none, a training with a promise that goes on, one that
has kept it, one that waits and one that was declined.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from tests.e2e.gpus import GpuPlatform
from tests.e2e.jobs import a_job
from tests.e2e.platform import eventually
from tests.grafana import Dashboard, filled_in, prometheus_dashboards
from tests.nvml.gpus import some_gpus
from tests.prometheus import Prometheus, program, prometheus

pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(
    program() is None, reason="there is no Prometheus (Debian package prometheus)"
)

TRAINING = """
    import time, torch, tenuto
    from torch.utils.data import TensorDataset

    run = tenuto.init(report_every=2)
    data = TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    model, optimizer, batches = run.elastic(model, optimizer, data, global_batch=16)
    for x, y in batches:
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        run.report(loss=loss)
        time.sleep(0.02)
    run.finish(model)
"""
VALUES = {"instance": ".*", "node": ".*", "job_id": ".*", "job_name": ".*", "__rate_interval": "20s"}
BATCH = 16
"""Samples of each step."""
VERDICTS = {"admitted": 2.0, "queued": 1.0, "declined": 1.0}
EMPTY = ("History C", "History D")
"""What nobody can tell here: there is no InfluxDB."""


class Site(GpuPlatform):
    """A machine with four GPUs, sampled often."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.gpus.show(*some_gpus(4))

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "TENUTO_MONITOR_PERIOD": "0.25", "TENUTO_MONITOR_UPLOAD": "0.25"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("platform"))
    try:
        made.up()
        yield made
        made.down()
        made.leaves_nothing()
    finally:
        made.end()


@pytest.fixture(scope="module")
def watching(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    directory, token = tmp_path_factory.mktemp("프로메테우스"), site.home / "token"
    with prometheus(directory, site.told["url"].removeprefix("http://"), token) as made:
        yield made


@pytest.fixture(scope="module")
def jobs(site: Site, watching: Prometheus, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Ids by what has become of them, when all of it has; the one that trains has been rescaled in place."""
    directory = tmp_path_factory.mktemp("job")
    (directory / "обучение.py").write_text(dedent(TRAINING), encoding="utf-8")
    env = {
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
        "TORCHINDUCTOR_CACHE_DIR": str(directory / "torch"),
    }
    training: dict[str, Any] = {
        "run": [sys.executable, str(directory / "обучение.py")],
        "strategy": "allreduce",
        "total": {"steps": 1_000_000},
        "curve": {"1": 50, "2": 100},
        "env": env,
    }
    with site.client(patience=10.0) as client:
        eventually(lambda: client.cluster()["slots"]["usable"] == 4, "the node has joined")
        eventually(lambda: watching.value("tenuto_jobs_submitted_total") == 0.0, "Prometheus has begun")
        wanted = {
            "running": a_job("학습 하나", workers="1..2", deadline="+2d", **training),
            "succeeded": a_job("kurz", ["true"], total={"steps": 30}, curve={"1": 50}, deadline="+1h"),
            "queued": a_job("wartet", ["true"], workers=4),
            "declined": a_job("zu spät", workers="1..2", deadline="+5s", **training),
        }
        ids = {name: str(client.submit(job)["id"]) for name, job in wanted.items()}
        for state, job in ids.items():
            site.wait_for(job, state)
        samples = f'tenuto_job_samples_total{{job_id="{ids["running"]}"}}'
        eventually(lambda: watching.query(samples), "it trains")
        client.scale(ids["running"], {"workers": 1})
    paused = 'tenuto_rescale_phase_duration_seconds_count{phase="pause"} > 0'
    eventually(lambda: watching.query(paused), "it was rescaled")
    return ids


def test_it_finds_the_server_with_the_documented_configuration(
    watching: Prometheus, jobs: dict[str, str]
) -> None:
    def found() -> Any:
        [target] = watching.ask("targets")["activeTargets"]
        return target if (target["health"], target["lastError"]) == ("up", "") else None

    assert eventually(found, "the server is scraped")["labels"]["job"] == "tenuto"
    rules = [rule for group in watching.ask("rules")["groups"] for rule in group["rules"]]
    assert {rule["health"] for rule in rules} <= {"ok", "unknown"}, "unknown: not yet evaluated"


def test_jobs_promises_and_slots_are_those_of_the_store(
    site: Site, watching: Prometheus, jobs: dict[str, str]
) -> None:
    with site.client(patience=10.0) as client:

        def agree() -> bool:
            cluster = client.cluster()
            return (
                watching.by("state", "tenuto_jobs") == cluster["jobs"]
                and watching.by("use", 'tenuto_slots{node_state="online"}')
                == {"used": cluster["slots"]["used"], "free": 4 - cluster["slots"]["used"]}
                and watching.by("state", "tenuto_nodes") == cluster["nodes"]
                and watching.value('tenuto_promises{state="holds"}') == 1.0
                and watching.value('tenuto_promises_closed_total{outcome="kept"}') == 1.0
                and watching.by("reply", "tenuto_verdicts_total > 0") == VERDICTS
                and watching.value("tenuto_queue_jobs") == 1.0
            )

        eventually(agree, "Prometheus tells what the API tells")
        promised = client.job(jobs["running"])["contract"]["promised"]
    at = told(watching, f'tenuto_job_promised_timestamp_seconds{{job_id="{jobs["running"]}"}}')
    assert promised.startswith(_date(at))
    assert told(watching, "time() - tenuto_controller_last_tick_timestamp_seconds") < 60.0


def told(watching: Prometheus, expression: str) -> float:
    """A number that there is; one scrape may fail where many have much to do."""
    return float(eventually(lambda: watching.query(expression), f"{expression} is told")[0]["value"][1])


def _date(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def test_samples_of_a_training_are_those_that_it_told(
    site: Site, watching: Prometheus, jobs: dict[str, str]
) -> None:
    job = jobs["running"]

    counted = told(watching, f'tenuto_job_samples_total{{job_id="{job}"}}')
    loss = told(watching, f'tenuto_job_loss{{job_id="{job}"}}')

    with site.client(patience=10.0) as client:
        series = client.metrics(job, from_step=int(counted) // BATCH, limit=5000)["series"]
    points = [point for one in series for point in one["points"]]
    assert counted in {point["samples"] for point in points}
    assert loss in {point["values"]["loss"] for point in points}
    assert told(watching, f'tenuto_job_samples_per_second{{job_id="{job}"}}') != 0.0


def test_gpus_are_told_as_they_are_and_a_lost_one_raises_an_alert(
    site: Site, watching: Prometheus, jobs: dict[str, str]
) -> None:
    site.gpus.change(1, utilisation=83, power=123_000, temperature=77, fan=66, memory_used=3 << 30)
    wanted = {
        "tenuto_gpu_utilisation_ratio": 0.83,
        "tenuto_gpu_power_watts": 123.0,
        "tenuto_gpu_temperature_celsius": 77.0,
        "tenuto_gpu_fan_ratio": 0.66,
        "tenuto_gpu_memory_used_bytes": float(3 << 30),
        "tenuto_gpu_memory_bytes": float(16 << 30),
        "tenuto_gpu_lost": 0.0,
    }
    for name, value in wanted.items():
        eventually(lambda: watching.value(f'{name}{{gpu="1"}}') == value, f"{name} is {value}")  # noqa: B023
    assert told(watching, f'sum(tenuto_gpu_job{{job_id="{jobs["running"]}"}})') == 1.0

    site.gpus.change(3, lost=True)

    def lost() -> bool:
        alerts = watching.ask("alerts")["alerts"]
        return any(
            one["labels"]["alertname"] == "TenutoGpuLost" and one["labels"]["gpu"] == "3" for one in alerts
        )

    eventually(lost, "the alert is pending")
    use = 'tenuto_gpu_utilisation_ratio{gpu="3"}'
    eventually(lambda: watching.query(use) == [], "nothing is told of it any more")
    site.gpus.change(3, lost=False)


@pytest.mark.parametrize("dashboard", prometheus_dashboards(), ids=str)
def test_every_query_of_a_dashboard_is_answered(
    dashboard: Dashboard, site: Site, watching: Prometheus, jobs: dict[str, str]
) -> None:
    site.job(jobs["running"])  # whoever looks at it lets its end be foreseen
    for name, selector, label in dashboard.choices():
        found = watching.ask(f"label/{label}/values", **{"match[]": filled_in(selector, VALUES)})
        assert found, f"there is nothing to choose from for {name}"
    queries = {name: filled_in(query, VALUES) for name, query in dashboard.queries()}
    for query in queries.values():
        watching.query(query)  # is understood

    def show_nothing() -> list[str]:
        return [
            name for name, query in queries.items() if not name.endswith(EMPTY) and not watching.query(query)
        ]

    eventually(lambda: not show_nothing(), f"all panels but {show_nothing()} show something", within=60.0)


def test_the_cluster_has_a_history_of_its_own(site: Site, watching: Prometheus, jobs: dict[str, str]) -> None:
    with site.client(patience=10.0) as client:

        def points() -> Any:
            items = client.numbers("cluster", step="raw")["items"]
            return items[0]["values"] if items else None

        values = eventually(points, "there is a point")
    assert set(values) == {
        "slots",
        "slots_used",
        "nodes",
        "nodes_online",
        "queue",
        "running",
        "promises_kept",
        "promises_at_risk",
        "promises_broken",
        "efficiency",
    }
    assert values["slots"][-1] in (0.0, 4.0)
    eventually(lambda: (watching.value("tenuto_history_points_total") or 0.0) > 0.0, "points are counted")
    assert told(watching, "tenuto_history_up") == 1.0
    assert told(watching, "tenuto_history_dropped_points_total") == 0.0
