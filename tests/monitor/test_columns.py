"""Samples become points of subjects, each at the moments at which it is told."""

from __future__ import annotations

from tenuto.model.series import NODE, Points, Subject
from tenuto.monitor.columns import points_of
from tenuto.wire.sample import DiskSample, GpuSample, NetSample, NodeSample

NAME = "węzeł"


def by_part(*samples: NodeSample) -> dict[str, Points]:
    found = points_of(NAME, samples)
    assert all((points.subject.kind, points.subject.name) == (NODE, NAME) for points in found)
    return {points.subject.part: points for points in found}


def test_a_node_is_told_with_all_its_values() -> None:
    told = by_part(NodeSample(at=1.0, cpu=10.0, load=0.5, ram_used=3, ram_total=4), NodeSample(at=2.0))

    assert told[""].subject == Subject(NODE, NAME)
    assert list(told[""].at) == [1.0, 2.0]
    assert told[""].values["cpu"] == [10.0, None]
    assert told[""].values["ram_used"] == [3, None]
    assert set(told) == {""}


def test_a_part_that_comes_and_goes_has_points_while_it_is_there() -> None:
    gpu = GpuSample(index=1, utilisation=90.0)
    told = by_part(NodeSample(at=1.0), NodeSample(at=2.0, gpus=(gpu,)), NodeSample(at=3.0))

    assert list(told["gpu:1"].at) == [2.0]
    assert told["gpu:1"].values["utilisation"] == [90.0]
    assert told["gpu:1"].values["power"] == [None]


def test_cores_that_come_and_go_are_unknown_while_they_are_not_there() -> None:
    told = by_part(
        NodeSample(at=1.0, cores=(1.0, 2.0, 3.0)), NodeSample(at=2.0), NodeSample(at=3.0, cores=(4.0, None))
    )

    assert list(told["cores"].at) == [1.0, 3.0]
    assert told["cores"].values == {"0": [1.0, 4.0], "1": [2.0, None], "2": [3.0, None]}


def test_interfaces_and_disks_are_told_by_their_names() -> None:
    sample = NodeSample(
        at=1.0, nets=(NetSample(id="eth0", received=5.0),), disks=(DiskSample(path="/데이터", used=7),)
    )

    told = by_part(sample)

    assert told["net:eth0"].values == {"received": [5.0], "sent": [None]}
    assert told["disk:/데이터"].values["used"] == [7]
