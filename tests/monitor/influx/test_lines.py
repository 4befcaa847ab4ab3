"""What a database gets to read: the task server's measurements as they were, ours beside them, and no broken line."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.monitor.influx.everything import SAMPLE
from tests.monitor.influx.protocol import Line, read

from tenuto.model.series import CLUSTER, JOB, Points, Subject
from tenuto.monitor.columns import points_of
from tenuto.monitor.influx.lines import escaped, lines_of_points, lines_of_samples
from tenuto.wire.sample import DiskSample, GpuProcess, GpuSample, NetSample, NodeSample

AT = 1_700_000_000.1234
GIB = 1 << 30


def lines_of(sample: NodeSample, node: str = "узел 1") -> dict[str, list[Line]]:
    """What is told of a sample, by measurement."""
    found: dict[str, list[Line]] = {}
    for line in map(read, lines_of_samples(node, [sample])):
        found.setdefault(line.measurement, []).append(line)
    return found


def points_read(points: Points, name: str = "학습") -> list[Line]:
    return [read(line) for line in lines_of_points([points], lambda _: name)]


def test_the_task_servers_measurements_have_its_tags_fields_types_and_units() -> None:
    gpu = GpuSample(index=3, utilisation=50.0, memory_used=GIB, memory_total=4 * GIB)
    net = NetSample(id="eth0", bandwidth=1e9, received=1000.0, sent=250.5)
    sample = NodeSample(
        at=AT, cpu=25.0, cores=(10.0, 40.0), ram_used=GIB, ram_total=4 * GIB, nets=(net,), gpus=(gpu,)
    )

    told = lines_of(sample)

    assert {(line.tags["cpu"], line.fields["value"]) for line in told["cpu"]} == {
        ("cpu-total", 25.0),
        ("cpu0", 10.0),
        ("cpu1", 40.0),
    }
    (ram,), (net_told,), (gpu_told,) = told["ram"], told["net"], told["gpu"]
    assert ram.fields == {"total": 4 * GIB, "used": GIB, "available": 3 * GIB, "percent": 25.0}
    assert net_told.tags == {"host": "узел 1", "net": "eth0"}
    assert net_told.fields == {"bandwidth": 1000, "recv_bytes_ps": 8000.0, "sent_bytes_ps": 2004.0}
    assert gpu_told.tags == {"host": "узел 1", "gpu": "gpu3"}
    assert gpu_told.fields == {
        "load": 0.5,
        "mem_used": 1024.0,
        "mem_total": 4096.0,
        "mem_util": 0.25,
        "mem_available": 3072.0,
        "lost": 0.0,
    }
    assert {line.at for lines in told.values() for line in lines} == {1_700_000_000_123}


def test_every_field_has_one_type_whatever_its_value() -> None:
    """The first value of a field settles its type for ever."""
    whole = NodeSample(
        at=AT,
        cpu=0,
        cores=(0, 100),
        load=1,
        ram_used=0,
        ram_total=1,
        swap_used=0,
        swap_total=0,
        disks=(DiskSample(path="/", used=0, total=10, read=0, written=5),),
        nets=(NetSample(id="eth0", bandwidth=1e9, received=0, sent=1),),
        gpus=(
            GpuSample(
                index=0, utilisation=0, memory_used=0, memory_total=1 << 20, power=100, temperature=40, fan=0
            ),
        ),
    )
    broken = NodeSample(
        at=AT,
        cpu=0.5,
        cores=(0.25,),
        load=0.5,
        ram_used=1,
        ram_total=3,
        swap_used=1,
        swap_total=2,
        disks=(DiskSample(path="/", used=1, total=3, read=0.5, written=0.5),),
        nets=(NetSample(id="eth0", bandwidth=2.5e9, received=0.5, sent=0.5),),
        gpus=(
            GpuSample(
                index=0, utilisation=0.5, memory_used=7, memory_total=9, power=0.5, temperature=0.5, fan=0.5
            ),
        ),
    )

    def types(sample: NodeSample) -> dict[tuple[str, str], type]:
        return {
            (measurement, key): type(value)
            for measurement, lines in lines_of(sample).items()
            for line in lines
            for key, value in line.fields.items()
        }

    assert types(whole) == types(broken)
    counted = {f"{measurement}.{key}" for (measurement, key), kind in types(whole).items() if kind is int}
    assert counted == {
        *("ram.total", "ram.used", "ram.available", "ram.swap_total", "ram.swap_used"),
        *("disk.total", "disk.used", "disk.free", "net.bandwidth"),
    }


def test_what_nobody_knows_is_left_out_and_a_line_without_fields_too() -> None:
    nothing = NodeSample(
        at=AT, cores=(None,), gpus=(GpuSample(index=0, lost=True),), nets=(NetSample(id="x"),)
    )

    assert {name: [line.fields for line in lines] for name, lines in lines_of(nothing).items()} == {
        "gpu": [{"lost": 1.0}]
    }


@pytest.mark.parametrize("strange", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_left_out(strange: float) -> None:
    sample = NodeSample(
        at=AT, cpu=strange, load=1.0, nets=(NetSample(id="x", bandwidth=strange, sent=strange),)
    )

    assert list(lines_of(sample)) == ["tenuto_node"]
    points = Points(subject=Subject(JOB, "j1"), at=[AT, AT + 1], values={"step": [strange, 2.0]})
    assert [(line.fields, line.at) for line in points_read(points)] == [({"step": 2.0}, 1_700_000_001_123)]


def test_a_gpu_tells_who_is_on_it_and_how_warm_it_is() -> None:
    gpu = GpuSample(
        index=0, power=250.5, power_limit=300.0, temperature=71.0, fan=40.0, processes=(GpuProcess(pid=7),)
    )

    (told,) = lines_of(NodeSample(at=AT, gpus=(gpu,)))["gpu"]

    assert told.fields == {
        "power": 250.5,
        "power_limit": 300.0,
        "temperature": 71.0,
        "fan": 40.0,
        "processes": 1.0,
        "lost": 0.0,
    }


@pytest.mark.parametrize(
    ("part", "values", "measurement", "tags", "fields"),
    [
        ("", {"step": 7.0, "workers": 2.0}, "tenuto_job", {}, {"step": 7.0, "workers": 2.0}),
        ("values", {"потеря, x=1": 0.5}, "tenuto_job_scalar", {"scalar": "потеря, x=1"}, {"value": 0.5}),
        (
            "worker:1.worker.0",
            {"seconds": 0.1},
            "tenuto_job_worker",
            {"worker": "1.worker.0"},
            {"seconds": 0.1},
        ),
        (
            "worker:1.worker.0",
            {"values.loss": 2.0},
            "tenuto_job_worker_scalar",
            {"worker": "1.worker.0", "scalar": "loss"},
            {"value": 2.0},
        ),
        ("node:узел 1", {"workers": 3.0}, "tenuto_job_node", {"node": "узел 1"}, {"workers": 3.0}),
    ],
)
def test_a_jobs_points_have_its_id_and_its_name(
    part: str, values: dict[str, float], measurement: str, tags: dict[str, str], fields: dict[str, float]
) -> None:
    points = Points(
        subject=Subject(JOB, "j1", part), at=[AT], values={name: [value] for name, value in values.items()}
    )

    (line,) = points_read(points)

    assert line == Line(measurement, {"job": "j1", "name": "학습", **tags}, fields, 1_700_000_000_123)


def test_what_the_history_has_of_a_node_gives_the_lines_that_were_sent_of_it() -> None:
    samples = [replace(SAMPLE, at=AT), replace(SAMPLE, at=AT + 1, cpu=None, cores=(None, 7.0))]

    sent = [read(line) for line in lines_of_samples("узел", samples)]
    again = [read(line) for line in lines_of_points(points_of("узел", samples), lambda _: "")]

    def numbers(lines: list[Line]) -> set[tuple[Any, ...]]:
        return {
            (line.measurement, *sorted(line.tags.items()), line.at, key, value, type(value))
            for line in lines
            for key, value in line.fields.items()
            if key not in ("bandwidth", "processes")  # the history has neither
        }

    assert numbers(again) == numbers(sent)


def test_the_cluster_has_no_tags_and_a_job_without_a_name_no_tag_for_it() -> None:
    cluster = Points(subject=Subject(CLUSTER), at=[AT], values={"slots": [8.0]})
    nameless = Points(subject=Subject(JOB, "j1"), at=[AT], values={"step": [1.0]})

    assert points_read(cluster)[0].tags == {}
    assert points_read(nameless, name="")[0].tags == {"job": "j1"}


ODD = st.text(st.characters(codec="utf-8")) | st.text(",= \\\"'\n\r\t#i")


@given(node=ODD, net=ODD, job=ODD, scalar=ODD, value=st.none() | st.floats() | st.integers(-(2**70), 2**70))
def test_no_name_and_no_value_can_break_a_line(
    node: str, net: str, job: str, scalar: str, value: float | None
) -> None:
    sample = NodeSample(at=AT, cpu=1.0, nets=(NetSample(id=net, sent=1.0, bandwidth=value),))
    points = Points(subject=Subject(JOB, "j", "values"), at=[AT], values={scalar: [value]})

    cpu, of_net = map(read, lines_of_samples(node, [sample]))
    of_job = points_read(points, name=job)

    assert cpu.fields == {"value": 1.0}
    assert cpu.tags == {"cpu": "cpu-total", **tag("host", node)}
    assert of_net.tags == {**tag("host", node), **tag("net", net)}
    known = value is not None and math.isfinite(value)
    assert [line.fields for line in of_job] == ([{"value": float(value or 0)}] if known else [])
    assert all(line.tags == {"job": "j", **tag("name", job), **tag("scalar", scalar)} for line in of_job)


def tag(key: str, value: str) -> dict[str, str]:
    """A tag as a database will have it: what it cannot hold is replaced, and an empty one is none."""
    told = escaped(value).replace("\\", "")
    assert len(told) == len(value)
    return {key: told} if value else {}


def test_what_a_line_cannot_hold_becomes_something_harmless() -> None:
    assert escaped("a b,c=d") == "a\\ b\\,c\\=d"
    assert escaped("C:\\job\\") == "C:/job/"
    assert escaped("two\nlines\u2028") == "two\\ lines\\ "
