"""Every measurement that can be written, with its tags and fields: lines of a platform that tells all there is."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tests.monitor.influx.protocol import read

from tenuto.model.series import CLUSTER, JOB, Points, Subject
from tenuto.monitor.facts import Facts, cluster_points
from tenuto.monitor.influx.lines import lines_of_points, lines_of_samples
from tenuto.wire.sample import DiskSample, GpuSample, NetSample, NodeSample

SAMPLE = NodeSample(
    at=1.0,
    cpu=1.0,
    cores=(1.0,),
    load=1.0,
    ram_used=1,
    ram_total=2,
    swap_used=1,
    swap_total=2,
    disks=(DiskSample(path="/", used=1, total=2, read=1.0, written=1.0),),
    nets=(NetSample(id="eth0", bandwidth=1e9, received=1.0, sent=1.0),),
    gpus=(
        GpuSample(
            index=0,
            utilisation=1.0,
            memory_used=1,
            memory_total=2,
            power=1.0,
            power_limit=1.0,
            temperature=1.0,
            fan=1.0,
            processes=(),
        ),
    ),
)
_SUBJECT = re.compile(r'\("job", ID, "([^"]*)"\)\s+(.+(?:\n {20,}.+)*)')
"""A row of the docstring, which may go on in the next line."""


@dataclass
class Known:
    """What a measurement has."""

    tags: set[str] = field(default_factory=set)
    fields: set[str] = field(default_factory=set)


def everything() -> dict[str, Known]:
    """By measurement."""
    found: dict[str, Known] = {}
    points = [*_of_jobs(), Points(subject=Subject(CLUSTER), at=[1.0], values=_all_of_the_cluster())]
    for line in map(read, (*lines_of_samples("a", [SAMPLE]), *lines_of_points(points, lambda _: "name"))):
        known = found.setdefault(line.measurement, Known())
        known.tags |= line.tags.keys()
        known.fields |= line.fields.keys()
    return found


def _all_of_the_cluster() -> dict[str, list[float | None]]:
    return {name: [1.0] for name in cluster_points(Facts(at=1.0)).values}


def _of_jobs() -> list[Points]:
    """What the docstring of Subject lists."""
    assert Subject.__doc__
    found = []
    for part, told in _SUBJECT.findall(Subject.__doc__):
        own = {"loss"} if part == "values" else set(re.sub(r"\(.*?\)|,.*", "", told).split())
        if "`values.NAME`" in told:
            own.add("values.loss")
        found.append(Points(subject=Subject(JOB, "id", part), at=[1.0], values={name: [1.0] for name in own}))
    assert len(found) >= 5
    return found
