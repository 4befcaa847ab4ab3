"""A platform of which everything can be told, and pages as Prometheus' own parsers read them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_text

from tenuto.model.event import Event
from tenuto.model.job import Foretold, Job, JobSpec, Progress
from tenuto.model.node import NodeState
from tenuto.model.phase import Phase, PromiseState
from tenuto.monitor.facts import Facts, JobFacts, Keeping, NodeFacts, Pushing, Usage
from tenuto.monitor.prometheus.counts import Counts
from tenuto.monitor.prometheus.gauges import Present
from tenuto.monitor.prometheus.page import Form, written
from tenuto.monitor.prometheus.tidings import count
from tenuto.wire.sample import DiskSample, GpuSample, NetSample, NodeSample

NOW = 1_800_000_000.0
GIB = 1 << 30


@dataclass(frozen=True)
class Page:
    """What was told."""

    families: dict[str, Metric]

    def value(self, name: str, **labels: str) -> float | None:
        """One value; None if it was not told."""
        found = [one.value for one in self.samples(name) if labels.items() <= one.labels.items()]
        assert len(found) <= 1, f"{name} {labels} is not one value: {found}"
        return found[0] if found else None

    def samples(self, name: str) -> list[Any]:
        """All values of a name, buckets among them."""
        return [one for family in self.families.values() for one in family.samples if one.name == name]

    def counted(self, name: str, label: str) -> dict[str, float]:
        """What was counted at all, by a label."""
        return {one.labels[label]: one.value for one in self.samples(name) if one.value}


def read(page: bytes, *, openmetrics: bool = False) -> Page:
    """A page as Prometheus reads it."""
    families: Iterable[Metric] = (read_openmetrics if openmetrics else read_text)(page.decode())
    return Page({family.name: family for family in families})


def told(present: Present, counts: Counts | None = None, *, openmetrics: bool = False) -> Page:
    """What Prometheus learns."""
    page = written(counts or Counts(), present, Form(openmetrics=openmetrics))
    return read(page, openmetrics=openmetrics)


def a_gpu(index: int = 0, **values: Any) -> GpuSample:
    known: dict[str, Any] = {
        "uuid": f"GPU-{index}",
        "name": "Test GPU",
        "utilisation": 55.0,
        "memory_used": 4 * GIB,
        "memory_total": 16 * GIB,
        "power": 200.0,
        "power_limit": 300.0,
        "temperature": 61.0,
        "fan": 40.0,
    }
    return GpuSample(index=index, **(known | values))


def a_sample(**values: Any) -> NodeSample:
    known: dict[str, Any] = {
        "at": NOW,
        "cpu": 25.0,
        "cores": (20.0, 30.0),
        "load": 0.5,
        "ram_used": 2 * GIB,
        "ram_total": 8 * GIB,
        "swap_used": 0,
        "swap_total": GIB,
        "disks": (DiskSample(path="/", used=10, total=100, read=1.0, written=2.0),),
        "nets": (NetSample(id="eth0", received=3.0, sent=4.0),),
        "gpus": (a_gpu(0), a_gpu(1)),
        "driver": "580",
    }
    return NodeSample(**(known | values))


def a_node(name: str = "uzel-1", **values: Any) -> NodeFacts:
    known: dict[str, Any] = {"state": NodeState.ONLINE, "slots": 2, "used": 1, "held": {"0": "a1", "1": ""}}
    return NodeFacts(name=name, **(known | values))


def a_job(id_: str = "a1", **values: Any) -> JobFacts:
    known: dict[str, Any] = {
        "name": "학습",
        "owner": "민준",
        "state": Phase.RUNNING,
        "promise": PromiseState.HOLDS,
        "workers": 1,
        "step": 10.0,
        "left": 90.0,
        "deadline": NOW + 100.0,
        "promised": NOW + 90.0,
        "finish": NOW + 80.0,
    }
    return JobFacts(id=id_, **(known | values))


def everything() -> tuple[Present, Counts]:
    """A platform on which everything that can be told has happened."""
    counts = Counts()
    counts.ticked("done", 0.01, NOW)
    counts.ruled(0.005)
    counts.committed(0.002)
    counts.requests.labels("GET", "/api/v1/jobs", "200").inc()
    counts.request_duration.labels("GET", "/api/v1/jobs").observe(0.01)
    counts.told("a1", [a_step(samples=640.0, samples_per_second=64.0, values={"loss": 0.5})])
    ended = a_record(phase=Phase.SUCCEEDED, ended_at=NOW, foretold=(a_forecast(),))
    for event in (
        an_event("submitted"),
        an_event("verdict", after="admitted"),
        an_event("scaled", after="uzel-1:1", before=""),
        an_event("phase", before="running", after="succeeded"),
        an_event("rescale", data={"why": "grow", "pause_ms": 100.0, "form_ms": 20.0}),
        an_event("checkpoint", data={"path": "/x"}),
    ):
        count(counts, event, ended)
    present = Present(
        facts=Facts(at=NOW, nodes=[a_node()], live=[a_job()], controller="deciding"),
        samples={"uzel-1": a_sample()},
        pulse=counts.pulse,
        period=1.0,
        keeping=Keeping(points=3),
        pushing=Pushing(written=5),
        usage=Usage(log_bytes=10, log_quota_bytes=20),
    )
    return present, counts


def a_step(**values: Any) -> dict[str, Any]:
    return {"kind": "step", "rank": 0, "step": 10, **values}


def an_event(kind: str, **fields: Any) -> Event:
    return Event(kind=kind, at=NOW, actor="policy:elasticflow", job="a1", **fields)


def a_record(**fields: Any) -> Job:
    """A job as the store has it."""
    known: dict[str, Any] = {
        "number": 1,
        "revision": 1,
        "spec": JobSpec(name="학습", run=("true",)),
        "owner": "민준",
        "submitted_at": NOW - 300.0,
        "progress": Progress(left=0.0, as_of=NOW),
    }
    return Job(id="a1", **(known | fields))


def a_forecast(**fields: Any) -> Foretold:
    """It was foretold 100 s ago that it would take 50 s."""
    known: dict[str, Any] = {
        "moment": "answered",
        "at": NOW - 100.0,
        "finish": NOW - 50.0,
        "late": NOW,
        "estimate": NOW - 50.0,
        "situation": "runs/free/given",
    }
    return Foretold(**(known | fields))
