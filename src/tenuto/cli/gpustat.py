"""A node's GPUs as the program gpustat 1.1 prints them, for scripts that read that: text and JSON. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from rich.text import Text

Json = dict[str, Any]
Part = tuple[str, str]
MB = 1 << 20
LOST = "((GPU is lost))"
NOT_SUPPORTED = " (Not Supported)"
NO_GPUS = "(No GPUs are available)"
_UNKNOWN, _ABSENT = "??", "?"
_GREY = "bold black"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What of it is printed."""

    header: bool = True
    command: bool = False
    user: bool = False
    pid: bool = False
    fan: bool = False
    codec: bool = False
    power: bool = False
    processes: bool = True

    def all(self) -> Shown:
        """Everything about GPUs and processes."""
        return replace(self, command=True, user=True, pid=True, fan=True, codec=True, power=True)


def as_gpustat(told: Json) -> Json:
    """A node's sample under gpustat's names and in its units: whole percents, watts and megabytes."""
    sample = told["sample"]
    at = datetime.fromtimestamp(sample["at"]).astimezone()
    return {
        "hostname": told["node"],
        "driver_version": sample["driver"],
        "query_time": at.replace(tzinfo=None).isoformat(),
        "gpus": [_gpu(gpu) for gpu in sample["gpus"]],
    }


def _gpu(gpu: Json) -> Json:
    processes = gpu["processes"]
    return {
        "index": gpu["index"],
        "uuid": gpu["uuid"],
        "name": LOST if gpu["lost"] else gpu["name"] or _ABSENT,
        "temperature.gpu": _whole(gpu["temperature"]),
        "fan.speed": _whole(gpu["fan"]),
        "utilization.gpu": _whole(gpu["utilisation"]),
        "utilization.enc": None,
        "utilization.dec": None,
        "power.draw": _whole(gpu["power"]),
        "enforced.power.limit": _whole(gpu["power_limit"]),
        "memory.used": _whole(gpu["memory_used"], MB),
        "memory.total": _whole(gpu["memory_total"], MB),
        "processes": None if processes is None else [_process(one) for one in processes],
    }


def _process(one: Json) -> Json:
    return {
        "username": one["user"] or _ABSENT,
        "command": one["name"] or _ABSENT,
        "full_command": [one["name"] or _ABSENT],
        "gpu_memory_usage": _whole(one["memory"], MB) or None,
        "cpu_percent": None,
        "cpu_memory_usage": None,
        "pid": one["pid"],
    }


def _whole(value: float | None, unit: int = 1) -> int | None:
    return None if value is None else int(value // unit)


def gpustat_lines(stat: Json, shown: Shown) -> list[Text]:
    """What gpustat would print, a line for each GPU."""
    width = max((len(gpu["name"]) for gpu in stat["gpus"]), default=0)
    lines = [_header(stat, width or 16)] if shown.header else []
    lines += [_line(gpu, width, shown) for gpu in stat["gpus"]]
    return lines if stat["gpus"] else [*lines, Text(NO_GPUS, style="yellow")]


def _header(stat: Json, width: int) -> Text:
    at = datetime.fromisoformat(stat["query_time"])
    name = f"{stat['hostname']:{width + 3}}"
    return Text.assemble(
        (name, "bold white"), f"  {at:%a %b %e %H:%M:%S %Y}  ", (str(stat["driver_version"]), _GREY)
    )


def _line(gpu: Json, width: int, shown: Shown) -> Text:
    lost = gpu["name"] == LOST
    parts: list[Part] = [(f"[{gpu['index']}]", "cyan"), (" ", "")]
    parts += [(f"{gpu['name']:{width}}", "red" if lost else "blue"), (" |", "")]
    parts += [
        (f"{_value(gpu, 'temperature.gpu'):>3}°C", _warm(gpu["temperature.gpu"], 50, "red")),
        (", ", ""),
    ]
    if shown.fan:
        parts += [(f"{_value(gpu, 'fan.speed'):>3} %", _warm(gpu["fan.speed"], 30, "cyan")), (", ", "")]
    parts.append((f"{_value(gpu, 'utilization.gpu'):>3} %", _warm(gpu["utilization.gpu"], 30, "green")))
    if shown.codec:
        parts += _codec(gpu)
    if shown.power:
        parts += _power(gpu)
    memory = ("bold yellow", "yellow") if not lost else (_GREY, _GREY)
    parts += [(" | ", ""), (f"{_value(gpu, 'memory.used'):>5}", memory[0]), (" / ", "")]
    parts += [(f"{_value(gpu, 'memory.total'):>5}", memory[1]), (" MB", "")]
    if shown.processes:
        parts += [(" |", ""), *_processes(gpu["processes"], shown)]
    return Text.assemble(*parts)


def _value(gpu: Json, key: str) -> str:
    """A number, or how gpustat says that there is none."""
    value = gpu[key]
    return str(value) if value is not None else _ABSENT if gpu["name"] == LOST else _UNKNOWN


def _warm(value: int | None, limit: int, colour: str) -> str:
    return _GREY if value is None else colour if value < limit else f"bold {colour}"


def _codec(gpu: Json) -> list[Part]:
    encoding, decoding = _value(gpu, "utilization.enc"), _value(gpu, "utilization.dec")
    return [
        (" (", ""),
        ("E: ", "bold"),
        (f"{encoding:>3} %", _GREY),
        ("  ", ""),
        ("D: ", "bold"),
        (f"{decoding:>3} %", _GREY),
        (")", ""),
    ]


def _power(gpu: Json) -> list[Part]:
    draw, limit = gpu["power.draw"], gpu["enforced.power.limit"]
    low = draw is not None and limit and draw / limit < 0.4
    return [
        (",  ", ""),
        (f"{_value(gpu, 'power.draw'):>3}", "magenta" if low else "bold magenta"),
        (" / ", ""),
        (f"{_value(gpu, 'enforced.power.limit'):>3}", "magenta"),
        (" ", ""),
        ("W", "magenta"),
    ]


def _processes(processes: Sequence[Json] | None, shown: Shown) -> list[Part]:
    if processes is None:
        return [(NOT_SUPPORTED, "")]
    parts: list[Part] = []
    for one in processes:
        parts.append((" ", ""))
        if not shown.command or shown.user:
            parts.append((one["username"], _GREY))
        if shown.command:
            parts += [(":", "")] if shown.user else []
            parts.append((one["command"], "cyan"))
        if shown.pid:
            parts.append((f"/{one['pid']}", ""))
        memory = one["gpu_memory_usage"]
        parts += [("(", ""), (f"{'?' if memory is None else memory}M", "yellow"), (")", "")]
    return parts
