"""Samples and points in InfluxDB's line protocol. Pure.

`cpu`, `ram`, `gpu` and `net` have the tags, fields, types and units of the task server, whose dashboards and databases
go on as they are: loads of GPUs are shares of 1, their memory is MiB, and `recv_bytes_ps` has always been bits.
What is a count of bytes there is an integer, everything else is a float, in every line: a database refuses a field
whose type changes. What nobody knows is left out, and so is a line without fields.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from tenuto.model.series import JOB, NODE, Points, Subject
from tenuto.monitor.influx.rebuilt import samples_of
from tenuto.wire.sample import DiskSample, GpuSample, NetSample, NodeSample

Naming: TypeAlias = Callable[[str], str]
"""The name of a job by its id; empty if nobody knows it."""
Fields: TypeAlias = Mapping[str, float | int | None]

_MIB = 1 << 20
_BITS = 8
_MEGABIT = 1e6
_PERCENT = 100.0
_SERIES = 1 << 17
"""So many beginnings of lines are remembered: those of a thousand nodes."""
_LARGEST = 1 << 63
_SPECIAL = re.compile(r"([,= ])")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")
_OF_VALUES = "values."


def lines_of_samples(node: str, samples: Iterable[NodeSample]) -> Iterator[str]:
    """Everything that samples of a node tell."""
    for sample in samples:
        at = _stamp(sample.at)
        yield from _line(_of_part(node, "cpu", "cpu-total"), {"value": _float(sample.cpu)}, at)
        for core, share in enumerate(sample.cores):
            yield from _line(_of_part(node, "cpu", f"cpu{core}"), {"value": _float(share)}, at)
        yield from _line(_of_part(node, "ram"), _ram(sample), at)
        yield from _line(_of_part(node, "tenuto_node"), {"load": _float(sample.load)}, at)
        for gpu in sample.gpus:
            yield from _line(_of_part(node, "gpu", f"gpu{gpu.index}"), _gpu(gpu), at)
        for net in sample.nets:
            yield from _line(_of_part(node, "net", net.id), _net(net), at)
        for disk in sample.disks:
            yield from _line(_of_part(node, "disk", disk.path), _disk(disk), at)


def lines_of_points(batch: Iterable[Points], name_of: Naming) -> Iterator[str]:
    """Everything that points tell; all values of jobs and of the cluster are floats."""
    for points in batch:
        if points.subject.kind == NODE:
            yield from lines_of_samples(points.subject.name, samples_of(points))
            continue
        name = name_of(points.subject.name) if points.subject.kind == JOB else ""
        scalars, values = _apart(points.subject, points.values)
        series = _of_subject(points.subject, name)
        own = [(_of_scalar(points.subject, name, scalar), column) for scalar, column in scalars.items()]
        for index, at in enumerate(points.at):
            fields = {key: _float(column[index]) for key, column in values.items()}
            yield from _line(series, fields, _stamp(at))
            for of_scalar, column in own:
                yield from _line(of_scalar, {"value": _float(column[index])}, _stamp(at))


# what a line says


def _ram(sample: NodeSample) -> Fields:
    return {
        **_room(sample.ram_used, sample.ram_total, free="available"),
        "swap_total": _whole(sample.swap_total),
        "swap_used": _whole(sample.swap_used),
    }


def _gpu(gpu: GpuSample) -> Fields:
    used, total = gpu.memory_used, gpu.memory_total
    return {
        "load": _times(gpu.utilisation, 1 / _PERCENT),
        "mem_used": _times(used, 1 / _MIB),
        "mem_total": _times(total, 1 / _MIB),
        "mem_util": None if used is None or not total else used / total,
        "mem_available": None if used is None or total is None else (total - used) / _MIB,
        "power": _float(gpu.power),
        "power_limit": _float(gpu.power_limit),
        "temperature": _float(gpu.temperature),
        "fan": _float(gpu.fan),
        "processes": None if gpu.processes is None else float(len(gpu.processes)),
        "lost": _lost(gpu),
    }


def _lost(gpu: GpuSample) -> float | None:
    """Unknown of a GPU of which nothing is known, as of one whose driver does not answer."""
    known = (gpu.utilisation, gpu.memory_total, gpu.temperature)
    return float(gpu.lost) if gpu.lost or any(value is not None for value in known) else None


def _net(net: NetSample) -> Fields:
    return {
        "bandwidth": None if net.bandwidth is None else _whole(net.bandwidth / _MEGABIT),
        "recv_bytes_ps": _times(net.received, _BITS),
        "sent_bytes_ps": _times(net.sent, _BITS),
    }


def _disk(disk: DiskSample) -> Fields:
    flows = {"read": _float(disk.read), "written": _float(disk.written)}
    return {**_room(disk.used, disk.total, free="free"), **flows}


def _room(used: int | None, total: int | None, free: str) -> Fields:
    told: dict[str, float | int | None] = {"total": _whole(total), "used": _whole(used)}
    if used is not None and total:
        told |= {free: _whole(total - used), "percent": _PERCENT * used / total}
    return told


def _apart(
    subject: Subject, values: Mapping[str, Sequence[float | None]]
) -> tuple[Mapping[str, Sequence[float | None]], Mapping[str, Sequence[float | None]]]:
    """What a job's script reports under names of its own, and what is ours."""
    if subject.kind != JOB:
        return {}, values
    if subject.part == "values":
        return values, {}
    theirs = {
        key.removeprefix(_OF_VALUES): column for key, column in values.items() if key.startswith(_OF_VALUES)
    }
    return theirs, {key: column for key, column in values.items() if not key.startswith(_OF_VALUES)}


def _of_subject(subject: Subject, name: str) -> str:
    """`tenuto_job` of a job itself, `tenuto_job_worker` of its `worker:1.worker.0`, and so on."""
    part, _, which = subject.part.partition(":")
    measurement = "_".join(filter(None, ("tenuto", subject.kind, part)))
    return _series(measurement, **{subject.kind: subject.name, "name": name, part or "part": which})


def _of_scalar(subject: Subject, name: str, scalar: str) -> str:
    part, _, which = subject.part.removeprefix("values").partition(":")
    measurement = "_".join(filter(None, ("tenuto", subject.kind, part, "scalar")))
    tags = {subject.kind: subject.name, "name": name, part or "part": which, "scalar": scalar}
    return _series(measurement, **tags)


# how it is written


@lru_cache(maxsize=_SERIES)
def _of_part(node: str, measurement: str, part: str = "") -> str:
    """`gpu,gpu=gpu0,host=node-0`: parts have the tag that their measurement is called after."""
    return _series(measurement, **{"host": node, measurement: part})


def _series(measurement: str, **tags: str) -> str:
    """The beginning of a line; a tag without a value is none."""
    given = (f"{escaped(key)}={escaped(value)}" for key, value in sorted(tags.items()) if value)
    return ",".join((escaped(measurement), *given))


def escaped(text: str) -> str:
    """A name or a tag's value as it stands in a line.

    A line cannot hold its own end, and a backslash means one thing to one database and another to the next: both
    become something harmless.
    """
    return _SPECIAL.sub(r"\\\1", _CONTROL.sub(" ", text).replace("\\", "/"))


_key = lru_cache(maxsize=1024)(escaped)


def _line(series: str, fields: Fields, at: int) -> Iterator[str]:
    """One line, or none if nothing is known."""
    told = [f"{_key(key)}={_number(value)}" for key, value in fields.items() if value is not None]
    if told:
        yield f"{series} {','.join(told)} {at}"


def _number(value: float) -> str:
    return f"{value}i" if isinstance(value, int) else repr(value)


def _stamp(at: float) -> int:
    """Milliseconds."""
    return round(at * 1000)


def _float(value: float | None) -> float | None:
    """A number that a database takes; infinity and what is none are no numbers there."""
    return float(value) if value is not None and math.isfinite(value) else None


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else _float(value * factor)


def _whole(value: float | None) -> int | None:
    """An integer of 64 bits."""
    if value is None or not math.isfinite(value):
        return None
    whole = round(value)
    return whole if -_LARGEST <= whole < _LARGEST else None
