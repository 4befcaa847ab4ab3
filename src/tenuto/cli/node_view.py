"""A node in full: cores, memory, disks, network, GPUs and who uses them, as lines of so many cells. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.text import Text

from tenuto.cli.humane import span
from tenuto.cli.top.cells import UNKNOWN, Part, fitted, joined, level, meter, size
from tenuto.cli.top.kinds import NO_DATA, OLD, share_used, state_of

Json = dict[str, Any]
_CORE = "▁▂▃▄▅▆▇█"
_LABEL = 9
_METER = 28


def node_lines(node: Json, told: Json | None, width: int) -> list[Text]:
    """A node, and its newest sample if there is one."""
    occupied = node["occupied"]
    held = f"{node['used']}/{node['total']} slots"
    lines = [
        _line(width, "node", (node["name"], "bold"), "  ", state_of(node["state"]), f"  {node['address']}"),
        _line(
            width,
            "held",
            f"{held}  CPU {occupied['cpu']}/{occupied['cpu_total']}  GPU {occupied['gpu']}/{occupied['gpu_total']}",
        ),
    ]
    if node.get("problem"):
        lines.append(_line(width, "problem", (node["problem"], "yellow")))
    if node["jobs"]:
        lines.append(_line(width, "jobs", ", ".join(node["jobs"])))
    if node["labels"]:
        lines.append(_line(width, "labels", ", ".join(f"{key}={one}" for key, one in node["labels"].items())))
    if told is None:
        return [*lines, _line(width, "usage", (UNKNOWN if node["state"] == "offline" else NO_DATA, "dim"))]
    if told["age"] > OLD:
        lines.append(_line(width, "sampled", (f"{span(told['age'])} ago", "yellow")))
    return [*lines, *_sample_lines(told["sample"], width)]


def _sample_lines(sample: Json, width: int) -> Iterator[Text]:
    load = "" if sample["load"] is None else f"  load {sample['load']:.2f}"
    yield _line(width, "CPU", meter(sample["cpu"], _METER, alarming=True), load)
    yield from _core_lines(sample["cores"], width)
    yield _line(width, "RAM", *_filled(sample["ram_used"], sample["ram_total"]))
    if sample["swap_total"]:
        yield _line(width, "swap", *_filled(sample["swap_used"], sample["swap_total"]))
    for disk in sample["disks"]:
        flows = f"  read {size(disk['read'])}/s  written {size(disk['written'])}/s"
        yield _line(width, "disk", *_filled(disk["used"], disk["total"]), flows, f"  {disk['path']}")
    for net in sample["nets"]:
        speed = "" if net["bandwidth"] is None else f"  of {net['bandwidth'] / 1e9:g} Gbit/s"
        flows = f"down {size(net['received'])}/s  up {size(net['sent'])}/s"
        yield _line(width, "net", f"{net['id']}  {flows}{speed}")
    if sample["gpu_problem"]:
        yield _line(width, "GPUs", (sample["gpu_problem"], "yellow"))
    elif not sample["gpus"]:
        yield _line(width, "GPUs", ("none", "dim"))
    elif sample["driver"]:
        yield _line(width, "driver", sample["driver"])
    for gpu in sample["gpus"]:
        yield from _gpu_lines(gpu, width)


def _core_lines(cores: list[float | None], width: int) -> Iterator[Text]:
    """One character for each core, as many in a line as fit."""
    room = max(width - _LABEL, 8)
    for begin in range(0, len(cores), room):
        parts = [_core(use) for use in cores[begin : begin + room]]
        yield _line(width, "cores" if begin == 0 else "", *parts)


def _core(use: float | None) -> tuple[str, str]:
    if use is None:
        return ("·", "dim")
    top = len(_CORE) - 1
    return (_CORE[round(min(max(use, 0.0), 100.0) / 100 * top)], level(use, alarming=True))


def _filled(used: int | None, total: int | None) -> tuple[Text, str]:
    free = None if used is None or total is None else total - used
    return meter(share_used(free, total), _METER, alarming=True), f"  {size(used)} of {size(total)}"


def _gpu_lines(gpu: Json, width: int) -> Iterator[Text]:
    label = f"GPU {gpu['index']}"
    if gpu["lost"]:
        yield _line(
            width, label, gpu["name"] or UNKNOWN, ("  lost: the driver does not find it any more", "bold red")
        )
        return
    parts = [
        UNKNOWN if gpu["power"] is None else f"{gpu['power']:.0f} W",
        "" if gpu["power_limit"] is None else f" of {gpu['power_limit']:.0f} W",
        "" if gpu["temperature"] is None else f"  {gpu['temperature']:.0f} °C",
        "" if gpu["fan"] is None else f"  fan {gpu['fan']:.0f} %",
    ]
    yield _line(
        width, label, meter(gpu["utilisation"], _METER), f"  {''.join(parts)}  {gpu['name'] or UNKNOWN}"
    )
    yield _line(width, "", *_filled(gpu["memory_used"], gpu["memory_total"]), "  memory")
    for one in gpu["processes"] or ():
        whose = f"job {one['job']}" if one["job"] else one["user"] or "somebody"
        name = one["name"] or UNKNOWN
        yield _line(width, "", f"  {one['pid']:>7}  {size(one['memory']):>5}  {fitted(name, 20)}  {whose}")


def _line(width: int, label: str, *parts: Part) -> Text:
    line = joined([(f"{label:<{_LABEL}}", "dim"), *parts])
    line.truncate(width, overflow="ellipsis")
    return line
