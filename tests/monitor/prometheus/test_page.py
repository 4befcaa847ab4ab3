"""What Prometheus is told, read by its own parsers; and the one table of names, which the documentation copies."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
from dataclasses import replace
from math import isnan, nan
from pathlib import Path

import pytest
from tests.monitor.prometheus.pages import (
    NOW,
    a_gpu,
    a_job,
    a_node,
    a_sample,
    a_step,
    everything,
    told,
)

from tenuto.model.node import NodeState
from tenuto.model.phase import Phase, PromiseState
from tenuto.monitor.facts import Facts, Keeping, NodeFacts
from tenuto.monitor.prometheus.counts import Counts
from tenuto.monitor.prometheus.families import FAMILIES, Family, Kind
from tenuto.monitor.prometheus.gauges import Present
from tenuto.monitor.prometheus.page import Form, written
from tenuto.wire.sample import NetSample, NodeSample

ROOT = Path(__file__).parents[3]
ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| (\w*) \| ([`\w ]*) \| (.+) \|$", re.MULTILINE)


def as_a_row(family: Family) -> tuple[str, str, str, str, str]:
    labels = " ".join(f"`{label}`" for label in family.labels)
    return family.name, family.kind.value, family.unit, labels, family.help


def test_the_documentation_lists_every_family_and_no_other() -> None:
    rows = ROW.findall((ROOT / "docs" / "metrics.md").read_text(encoding="utf-8"))

    assert rows == [as_a_row(family) for family in FAMILIES]


@pytest.mark.parametrize("openmetrics", [False, True])
def test_a_platform_on_which_everything_happened_tells_every_family_as_the_table_says(
    openmetrics: bool,
) -> None:
    page = told(*everything(), openmetrics=openmetrics)

    found = {name: (family.type, family.documentation) for name, family in page.families.items()}
    wanted = {
        family.name.removesuffix("_total") if family.kind is Kind.COUNTER else family.name: family
        for family in FAMILIES
    }
    assert found == {name: (family.kind.value, family.help) for name, family in wanted.items()}
    for name, family in page.families.items():
        for sample in family.samples:
            assert set(sample.labels) - {"le"} == set(wanted[name].labels), sample


def test_names_and_units_are_as_prometheus_wants_them() -> None:
    """By promtool itself, which knows the conventions."""
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("there is no promtool (Debian package prometheus)")
    present, counts = everything()

    checked = subprocess.run(
        [promtool, "check", "metrics"],
        input=written(counts, present, Form()),
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")


@pytest.mark.parametrize("openmetrics", [False, True])
def test_names_in_any_writing_arrive_as_they_are(openmetrics: bool) -> None:
    name = 'Zug "Nord" \\ 기차\n🚂'
    page = told(Present(facts=Facts(at=NOW, live=[a_job(name=name)])), openmetrics=openmetrics)

    assert page.value("tenuto_job_info", job_name=name, owner="민준", state="running") == 1.0


def test_a_path_that_is_no_text_spoils_no_page() -> None:
    sample = a_sample(nets=(NetSample(id="eth\udce90", received=1.0, sent=1.0),))
    page = told(Present(facts=Facts(at=NOW, nodes=[a_node()]), samples={"uzel-1": sample}))

    assert page.value("tenuto_node_network_sent_bytes_per_second", interface="eth?0") == 1.0


def test_percent_become_ratios_and_bytes_stay_bytes() -> None:
    present, counts = everything()
    page = told(present, counts)

    assert page.value("tenuto_gpu_utilisation_ratio", gpu="1") == 0.55
    assert page.value("tenuto_gpu_fan_ratio", gpu="1") == 0.4
    assert page.value("tenuto_gpu_memory_bytes", gpu="1") == 16 * (1 << 30)
    assert page.value("tenuto_node_cpu_ratio", node="uzel-1") == 0.25
    assert page.value("tenuto_node_cpu_cores", node="uzel-1") == 2.0


def test_who_holds_a_gpu_is_told() -> None:
    page = told(Present(facts=Facts(at=NOW, nodes=[a_node()])))

    held = {one.labels["gpu"]: one.value for one in page.samples("tenuto_gpu_held")}
    assert held == {"0": 1.0, "1": 0.0}
    [holder] = page.samples("tenuto_gpu_job")
    assert holder.labels == {"node": "uzel-1", "gpu": "0", "job_id": "a1"}


def test_what_nobody_knows_is_left_out() -> None:
    gpu = a_gpu(utilisation=None, power=None)
    sample = a_sample(gpus=(gpu,), cpu=None, cores=(), swap_total=None)
    page = told(Present(facts=Facts(at=NOW, nodes=[a_node()]), samples={"uzel-1": sample}))

    assert page.value("tenuto_gpu_temperature_celsius", gpu="0") == 61.0
    for name in (
        "gpu_utilisation_ratio",
        "gpu_power_watts",
        "node_cpu_ratio",
        "node_cpu_cores",
        "node_swap_bytes",
    ):
        assert page.samples(f"tenuto_{name}") == []


def test_a_lost_gpu_is_told_without_values() -> None:
    lost = a_gpu(1, lost=True, utilisation=None, memory_used=None, power=None, temperature=None, fan=None)
    sample = a_sample(gpus=(a_gpu(0), lost))
    page = told(Present(facts=Facts(at=NOW, nodes=[a_node()]), samples={"uzel-1": sample}))

    assert page.value("tenuto_gpu_lost", gpu="1") == 1.0
    assert page.value("tenuto_gpu_lost", gpu="0") == 0.0
    assert page.value("tenuto_gpu_utilisation_ratio", gpu="1") is None


@pytest.mark.parametrize(
    ("node", "sample"),
    [
        (a_node(state=NodeState.OFFLINE), a_sample()),
        (a_node(), a_sample(at=NOW - 31.0)),
    ],
    ids=["offline", "silent"],
)
def test_an_old_sample_is_no_value_of_now(node: NodeFacts, sample: NodeSample) -> None:
    page = told(Present(facts=Facts(at=NOW, nodes=[node]), samples={"uzel-1": sample}))

    assert page.samples("tenuto_gpu_utilisation_ratio") == page.samples("tenuto_node_cpu_ratio") == []
    assert page.value("tenuto_node_sample_timestamp_seconds", node="uzel-1") == sample.at
    assert page.value("tenuto_node_slots", node="uzel-1", use="used") == 1.0


def test_samples_of_a_node_that_was_removed_are_not_told() -> None:
    page = told(Present(facts=Facts(at=NOW), samples={"entfernt": a_sample()}))

    assert page.samples("tenuto_node_sample_timestamp_seconds") == []


def test_a_loss_that_is_no_number_is_told_as_one() -> None:
    present, counts = everything()
    counts.told("a1", [a_step(values={"loss": nan}, samples=700.0)])

    page = told(present, counts)

    assert isnan(page.value("tenuto_job_loss", job_id="a1") or 0.0)
    assert page.value("tenuto_job_samples_total", job_id="a1") == 700.0
    assert page.value("tenuto_job_samples_per_second", job_id="a1") == 64.0


def test_a_job_without_workers_trains_at_no_pace() -> None:
    present, counts = everything()
    facts = Facts(at=NOW, live=[a_job(workers=0, state=Phase.QUEUED)])

    assert told(replace(present, facts=facts), counts).value("tenuto_job_samples_per_second") == 0.0


def test_ten_thousand_jobs_make_no_longer_a_page_than_two_hundred() -> None:
    def page_of(number: int) -> bytes:
        live = [a_job(f"job-{index:05}", name=f"훈련-{index:05}") for index in range(number)]
        counts = Counts()
        for job in live:
            counts.told(job.id, [a_step(samples=1.0, samples_per_second=1.0, values={"loss": 1.0})])
        return written(counts, Present(facts=Facts(at=NOW, live=live), pulse=counts.pulse), Form())

    few, many = page_of(200), page_of(10_000)

    assert many.count(b"\n") == few.count(b"\n") < 4_000
    assert len(many) < 1.01 * len(few) < 500_000
    assert b'tenuto_series_left_out{kind="jobs"} 9800.0\n' in many


def test_a_machine_with_hundreds_of_interfaces_tells_some_and_how_many_more_there_are() -> None:
    nets = tuple(NetSample(id=f"veth{index}", received=1.0, sent=1.0) for index in range(300))
    sample = a_sample(nets=nets, gpus=tuple(a_gpu(index) for index in range(40)))
    page = told(Present(facts=Facts(at=NOW, nodes=[a_node()]), samples={"uzel-1": sample}))

    assert len(page.samples("tenuto_node_network_sent_bytes_per_second")) == 32
    left_out = {one.labels["kind"]: one.value for one in page.samples("tenuto_series_left_out")}
    assert left_out == {"jobs": 0.0, "gpus": 8.0, "disks": 0.0, "interfaces": 268.0}


def test_a_cluster_of_a_thousand_nodes_is_told_whole() -> None:
    nodes = [a_node(f"node-{index}", slots=8) for index in range(1000)]
    sample = a_sample(gpus=tuple(a_gpu(index) for index in range(8)))
    page = written(
        Counts(), Present(facts=Facts(at=NOW, nodes=nodes), samples={n.name: sample for n in nodes}), Form()
    )

    assert page.count(b"\ntenuto_gpu_utilisation_ratio{") == 8000
    assert page.count(b"\n") < 100_000
    assert len(gzip.compress(page, 1)) < 1 << 20


def test_every_state_is_told_also_where_nothing_is() -> None:
    page = told(Present(facts=Facts(at=NOW)))

    assert {one.labels["state"] for one in page.samples("tenuto_jobs")} == set(Phase)
    assert {one.labels["state"]: one.value for one in page.samples("tenuto_promises")} == {
        PromiseState.HOLDS: 0.0,
        PromiseState.AT_RISK: 0.0,
        PromiseState.BROKEN: 0.0,
    }
    assert len(page.samples("tenuto_slots")) == 2 * len(NodeState)
    assert page.samples("tenuto_influx_up") == [], "no InfluxDB is set"


def test_a_history_in_trouble_is_not_up() -> None:
    keeping = Keeping(points=10, dropped=4, waiting=3, trouble="the disk is full")
    page = told(Present(facts=Facts(at=NOW), keeping=keeping))

    assert page.value("tenuto_history_up") == 0.0
    assert page.value("tenuto_history_dropped_points_total") == 4.0


@pytest.mark.parametrize(
    ("accept", "encoding", "form"),
    [
        ("", "", Form()),
        ("*/*", "identity", Form()),
        ("text/plain;version=0.0.4", "deflate, gzip;q=0.5", Form(packed=True)),
        ("application/openmetrics-text; version=nonsense, */*;q=0.1", "br", Form(openmetrics=True)),
        ("Application/OpenMetrics-Text", "GZIP", Form(openmetrics=True, packed=True)),
        ("application/openmetrics-text;q=0", "gzip;q=0", Form()),
        (";;,,=", ";q=", Form()),
    ],
)
def test_a_page_has_the_form_that_is_asked_for(accept: str, encoding: str, form: Form) -> None:
    assert Form.asked_for(accept, encoding) == form


def test_two_platforms_in_one_process_count_apart() -> None:
    one, other = Counts(), Counts()
    one.submitted.inc()

    empty = Present(facts=Facts(at=NOW))
    assert told(empty, one).value("tenuto_jobs_submitted_total") == 1.0
    assert told(empty, other).value("tenuto_jobs_submitted_total") == 0.0
