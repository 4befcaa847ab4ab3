"""What stands above and below: the cluster in numbers, what is the matter, and which keys there are. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from rich.text import Text

from tenuto.cli.top.cells import Part, bar, clean, fitted, joined, level
from tenuto.cli.top.model import Json, Seen, State

_WAITING = ("submitted", "queued")
_RUNNING = ("starting", "running", "rescaling")
HELP = (
    ("o  n  g  J", "everything, nodes, GPUs, jobs; also 1 2 3 4, and Tab for the next"),
    ("↑ ↓  j k", "move; Page Up, Page Down, Home, End"),
    ("Enter", "look into a job or a node; Esc comes back"),
    ("/", "filter: type a part of a name, an owner, a state; Enter keeps it, Esc drops it"),
    ("s  S", "sort by the next column, or by the one before"),
    ("r", "turn the order round"),
    ("p", "hold the picture, and let it go on"),
    ("?", "this page"),
    ("q", "quit"),
)
_KEYS = (
    ("q", "quit"),
    ("?", "help"),
    ("Enter", "details"),
    ("/", "filter"),
    ("s", "sort"),
    ("o", "all"),
    ("n", "nodes"),
    ("g", "GPUs"),
    ("J", "jobs"),
    ("p", "pause"),
)
_DETAIL_KEYS = (("Esc", "back"), ("↑↓", "scroll"), ("p", "pause"), ("?", "help"), ("q", "quit"))


@dataclass(frozen=True, slots=True)
class Heading:
    """What the program knows by itself."""

    server: str
    now: datetime


def header(seen: Seen, state: State, heading: Heading, width: int) -> list[Text]:
    """Three lines about the whole."""
    told = seen.overview
    first: list[Part] = [("tenuto ", "bold"), clean(heading.server)]
    if told is None:
        return [_cut(first, width)]
    cluster = told["cluster"]
    first += [
        ("  policy ", "dim"),
        clean(cluster["policy"]),
        ("  controller ", "dim"),
        cluster["controller"]["state"],
    ]
    first += [f"  {heading.now:%H:%M:%S}"]
    if state.paused:
        first.append(("  PAUSED", "bold yellow"))
    if cluster["draining"]:
        first.append(("  DRAINING", "bold yellow"))
    return [_cut(first, width), _cut(_slots(cluster), width), _cut(_promises(told["promises"]), width)]


def _slots(cluster: Json) -> list[Part]:
    slots, nodes = cluster["slots"], cluster["nodes"]
    share = 100 * slots["used"] / slots["usable"] if slots["usable"] else 0.0
    parts: list[Part] = [("slots ", "dim"), (bar(share, 10), level(share))]
    parts += [f" {slots['used']}/{slots['usable']}"]
    if slots["total"] != slots["usable"]:
        parts.append((f" of {slots['total']}", "dim"))
    parts += [("  nodes ", "dim"), f"{nodes['online']} online"]
    parts += [(f", {nodes[name]} {name}", "yellow") for name in ("draining", "offline") if nodes[name]]
    jobs = cluster["jobs"]
    counts = (
        ("running", sum(jobs.get(name, 0) for name in _RUNNING)),
        ("queued", sum(jobs.get(name, 0) for name in _WAITING)),
        ("held", jobs.get("held", 0)),
        ("paused", jobs.get("paused", 0)),
        ("unschedulable", jobs.get("unschedulable", 0)),
    )
    told = ", ".join(f"{count} {name}" for name, count in counts if count)
    return [*parts, ("  jobs ", "dim"), told or "none"]


def _promises(standing: Json) -> list[Part]:
    styles = {"at_risk": "bold yellow", "broken": "bold red", "holds": "green", "kept": "green"}
    names = {"holds": "open", "at_risk": "at risk", "kept": "kept", "broken": "broken"}
    parts: list[Part] = [("promises ", "dim")]
    for key, name in names.items():
        parts += [(f"{standing[key]} {name}", styles[key] if standing[key] else "dim"), "  "]
    return [*parts, ("(the last two within a day)", "dim")]


def banner(problem: str, width: int) -> Text:
    """What is the matter."""
    return Text(fitted(f" {problem}", width), style="bold white on red", no_wrap=True, end="")


def footer(state: State, width: int) -> Text:
    """The filter that is being typed, or which keys there are."""
    if state.typed is not None:
        return joined([("filter: ", "bold"), fitted(f"{state.typed}▏", max(width - 8, 0))])
    parts: list[Part] = []
    if state.text:
        parts += [("filter ", "bold yellow"), (clean(state.text), "yellow"), "  "]
    keys = _DETAIL_KEYS if state.target else _KEYS
    for key, name in ((key, f"sort: {_order(state)}" if key == "s" else name) for key, name in keys):
        if joined([*parts, key, f" {name}"]).cell_len <= width:  # the first ones matter most
            parts += [(key, "bold"), f" {name}  "]
    return _cut(parts, width)


def _order(state: State) -> str:
    """How the list is sorted: its column may be one that has no room."""
    return state.orders[state.list_name]


def help_lines(width: int) -> list[Text]:
    """What each key does."""
    lines = [Text("Keys", style="bold"), Text("")]
    lines += [_cut([(f"  {keys:<12}", "bold"), told], width) for keys, told in HELP]
    return [*lines, Text(""), Text("Any key goes back.", style="dim")]


def _cut(parts: list[Part], width: int) -> Text:
    """No longer than the line."""
    line = joined(parts)
    line.rstrip()
    line.truncate(width, overflow="ellipsis")
    return line
