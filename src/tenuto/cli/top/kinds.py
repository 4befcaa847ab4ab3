"""The three tables: nodes, GPUs and jobs, each a line per row of the server's overview. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

from rich.text import Text

from tenuto.cli.humane import parsed, span
from tenuto.cli.top.cells import UNKNOWN, bar, fitted, level, meter, number, size
from tenuto.cli.top.tables import Column, Json, Table

NO_DATA = "No data"
OLD = 30.0
"""Seconds after which what was sampled is no news any more."""
STATE_STYLES = {
    "running": "green",
    "rescaling": "cyan",
    "starting": "cyan",
    "queued": "yellow",
    "submitted": "yellow",
    "held": "yellow",
    "paused": "magenta",
    "unschedulable": "red",
    "succeeded": "bright_green",
    "failed": "bold red",
    "lost": "bold red",
    "declined": "red",
    "cancelled": "dim",
    "online": "green",
    "draining": "yellow",
    "offline": "bold red",
}
PROMISE_STYLES = {"holds": "green", "kept": "bright_green", "at_risk": "bold yellow", "broken": "bold red"}


def state_of(name: str) -> Text:
    """A state in its colour."""
    return Text(name, style=STATE_STYLES.get(name, ""))


def promise_of(name: str) -> Text:
    """What has become of a promise, in its colour."""
    return Text(UNKNOWN if name == "none" else name.replace("_", " "), style=PROMISE_STYLES.get(name, "dim"))


# nodes


def share_used(free: float | None, total: float | None) -> float | None:
    """In percent."""
    return None if free is None or not total else 100 * (1 - free / total)


def _cpu(row: Json, width: int) -> Text:
    usage = row["usage"]
    if usage is None:
        return Text(fitted(UNKNOWN if row["state"] == "offline" else NO_DATA, width), style="dim")
    if usage["age"] > OLD:
        return Text(fitted(f"{span(usage['age'])} ago", width), style="dim")
    return meter(usage["cpu"], width, alarming=True)


def _ram(row: Json, width: int) -> Text:
    usage = row["usage"] or {}
    return meter(share_used(usage.get("ram_free"), usage.get("ram_total")), width, alarming=True)


def _gpu(row: Json, width: int) -> Text:
    return meter((row["usage"] or {}).get("gpu"), width)


def _vram(row: Json, width: int) -> Text:
    usage = row["usage"] or {}
    return meter(share_used(usage.get("vram_free"), usage.get("vram_total")), width, alarming=True)


def _slots(row: Json, _: int) -> Text:
    share = 100 * row["used"] / row["total"] if row["total"] else 0.0
    return Text(f"{row['used']}/{row['total']}", style=level(share) if row["used"] else "dim")


def _flow(row: Json, key: str) -> str:
    return size((row["usage"] or {}).get(key))


NODES = Table(
    "nodes",
    (
        Column("node", 10, 0, lambda row, _: row["name"], "name", grows=True),
        Column("state", 8, 1, lambda row, _: state_of(row["state"]), "state"),
        Column("slots", 7, 2, _slots, "slots", right=True),
        Column("CPU", 15, 3, _cpu, "cpu"),
        Column("RAM", 15, 4, _ram, "ram"),
        Column("free", 5, 8, lambda row, _: _flow(row, "ram_free"), right=True),
        Column("down/s", 6, 6, lambda row, _: _flow(row, "received"), right=True),
        Column("up/s", 6, 7, lambda row, _: _flow(row, "sent"), right=True),
        Column("GPU", 15, 5, _gpu, "gpu"),
        Column("VRAM", 15, 9, _vram),
        Column("jobs", 5, 10, lambda row, _: str(row["jobs"] or UNKNOWN), right=True),
    ),
)


# GPUs


def _memory(row: Json, width: int) -> Text:
    used, total = row["memory_used"], row["memory_total"]
    share = None if used is None or not total else 100 * used / total
    return meter(share, width, alarming=True)


def _amount(row: Json, _: int) -> str:
    return f"{size(row['memory_used'])}/{size(row['memory_total'])}" if row["memory_total"] else UNKNOWN


def _power(row: Json, _: int) -> str:
    if row["power"] is None:
        return UNKNOWN
    limit = "" if row["power_limit"] is None else f"/{row['power_limit']:.0f}"
    return f"{row['power']:.0f}{limit}W"


def _temperature(row: Json, _: int) -> Text:
    value = row["temperature"]
    if value is None:
        return Text(UNKNOWN, style="dim")
    return Text(f"{value:.0f}°C", style="red" if value >= 85 else "yellow" if value >= 70 else "green")


def _utilisation(row: Json, width: int) -> Text:
    if row["lost"]:
        return Text(fitted("lost", width), style="bold red")
    if row["utilisation"] is None:
        told = "offline" if row["state"] == "offline" else NO_DATA if row["memory_total"] is None else UNKNOWN
        return Text(fitted(told, width), style="dim")
    return meter(row["utilisation"], width)


def _holder(row: Json, _: int) -> str:
    return ", ".join(job["name"] for job in row["jobs"]) or UNKNOWN


GPUS = Table(
    "gpus",
    (
        Column("node", 10, 0, lambda row, _: row["node"], "node", grows=True),
        Column("#", 3, 1, lambda row, _: str(row["index"]), right=True),
        Column("GPU", 16, 7, lambda row, _: row["name"] or UNKNOWN, "name", grows=True),
        Column("use", 15, 2, _utilisation, "utilisation"),
        Column("memory", 15, 3, _memory, "memory"),
        Column("used", 9, 8, _amount, right=True),
        Column("power", 9, 5, _power, "power", right=True),
        Column("temp", 5, 4, _temperature, "temperature", right=True),
        Column(
            "fan", 4, 9, lambda row, _: UNKNOWN if row["fan"] is None else f"{row['fan']:.0f}%", right=True
        ),
        Column("job", 14, 6, _holder, grows=True),
    ),
)


# jobs


def jobs_table(now: datetime) -> Table:
    """Jobs as they stand at a moment."""

    def state(row: Json, _: int) -> Text:
        if row["idle_since"] and not row["wish"]:
            return Text(f"idle {_roughly(now - parsed(row['idle_since']))}", style="bold yellow")
        coming = {"pause": "pausing", "cancel": "ending"}.get(row["wish"])
        return state_of(row["state"]) if coming is None else Text(coming, style="magenta")

    def until(text: str | None) -> str:
        if text is None:
            return UNKNOWN
        seconds = (parsed(text) - now).total_seconds()
        return span(seconds) if seconds >= 0 else f"-{span(-seconds)}"

    return Table(
        "jobs",
        (
            Column("job", 12, 0, lambda row, _: row["name"], "name", grows=True),
            Column("id", 10, 9, lambda row, _: row["id"], "age"),
            Column("owner", 8, 6, lambda row, _: row["owner"], "owner"),
            Column("state", 13, 1, state, "state"),
            Column("workers", 8, 3, _workers, "workers", right=True),
            Column("done", 13, 4, _done, "done"),
            Column("samples/s", 9, 5, _speed, right=True),
            Column("GPU", 12, 8, lambda row, width: meter(row["gpu"], width)),
            Column("ETA", 11, 2, lambda row, _: until(row["eta"]), "eta", right=True),
            Column(
                "due", 11, 7, lambda row, _: until(row["promised"] or row["deadline"]), "deadline", right=True
            ),
            Column("promise", 8, 3, lambda row, _: promise_of(row["promise"]), "promise"),
            Column("nodes", 14, 10, lambda row, _: ", ".join(row["nodes"]) or UNKNOWN),
        ),
    )


def _roughly(long: timedelta) -> str:
    """A duration in its largest unit."""
    return " ".join(span(long.total_seconds()).split()[:2])


def _workers(row: Json, _: int) -> Text:
    least, most = row["min_workers"], row["max_workers"]
    sizes = f"{most}" if least == most else f"{least}-{most}"
    return Text(f"{row['workers'] or '-'}/{sizes}", style="" if row["workers"] else "dim")


def _done(row: Json, width: int) -> Text:
    if row["done"] is None:
        return Text(fitted(UNKNOWN, width), style="dim")
    percent = 100 * row["done"]
    return Text.assemble((bar(percent, width - 5), "blue"), f" {percent:3.0f}%")


def _speed(row: Json, _: int) -> str:
    if row["samples_per_second"] is not None:
        return number(row["samples_per_second"])
    is_known = row["speed"] and row["done"] is not None
    return f"{number(row['speed'])} {row['unit'][:2]}/s" if is_known else UNKNOWN
