"""`tenuto node ls`, `show` and `gpustat`: what nodes are doing."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from tenuto.cli.connect import JsonOption, ServerOption, connect
from tenuto.cli.console import Console
from tenuto.cli.gpustat import Shown, as_gpustat, gpustat_lines
from tenuto.cli.humane import span
from tenuto.cli.node_view import node_lines
from tenuto.cli.printing import WIDE, console, print_json, print_list, say, table_of
from tenuto.cli.top.cells import UNKNOWN, size
from tenuto.cli.top.kinds import NO_DATA, OLD
from tenuto.errors import InputInvalid, NotFound

if TYPE_CHECKING:
    from tenuto.client.plain import Json, PlainClient

COLUMNS = (
    "node",
    "state",
    "CPU",
    "CPU held",
    "free RAM",
    "down/s",
    "up/s",
    "GPU",
    "GPU held",
    "free VRAM",
    "jobs",
)
WIDE_COLUMNS = (*COLUMNS[:-1], "slots", "kind", "address", "labels", "jobs")
ENOUGH = 150
"""Cells of a terminal from which on all columns are shown."""
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The node's name.")]


def list_nodes(
    wide: Annotated[
        bool, typer.Option("--wide", "-w", help="All columns, however narrow the terminal is.")
    ] = False,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the nodes: what they are doing, how much of them jobs hold, and which."""
    with connect(server) as client:
        nodes = client.nodes()
        waiting = (
            [] if as_json else [c["node"] for c in client.credentials()["items"] if c["state"] == "pending"]
        )
        while nodes["next"] and not as_json:
            page = client.nodes(cursor=nodes["next"])
            nodes = {"items": nodes["items"] + page["items"], "next": page["next"]}
    if as_json:
        print_json(nodes)
        return
    out = console()
    wide = wide or not out.is_terminal or out.width >= ENOUGH
    row = _wide_row if wide else _row
    rows = [row(node) for node in nodes["items"]]
    columns = WIDE_COLUMNS if wide else COLUMNS
    rows += [(name, "pending", *[UNKNOWN] * (len(columns) - 2)) for name in waiting]
    print_list(table_of(columns, rows))
    for node in nodes["items"]:
        if node.get("problem"):
            say(f"{node['name']} gets no work: {node['problem']}")
    if waiting:
        say(f"Let it take part with: tenuto node approve {waiting[0]}")


def _row(node: Json) -> tuple[str, ...]:
    return (*_usage(node), ", ".join(_called(job, node) for job in node["jobs"]) or UNKNOWN)


def _wide_row(node: Json) -> tuple[str, ...]:
    kinds = Counter("CPU" if slot["kind"] == "cpu" else str(slot["kind"]) for slot in node["slots"])
    labels = ", ".join(f"{key}={value}" for key, value in node["labels"].items())
    slots = f"{node['used']}/{node['total']}"
    first, jobs = _row(node)[:-1], _row(node)[-1]
    return (*first, slots, ", ".join(kinds), node["address"], labels or UNKNOWN, jobs)


def _usage(node: Json) -> tuple[str, ...]:
    usage, occupied = node["usage"] or {}, node["occupied"]
    nothing = UNKNOWN if node["state"] == "offline" else NO_DATA
    return (
        node["name"],
        node["state"].upper(),
        _percent(usage["cpu"]) if usage else nothing,
        f"{occupied['cpu']}/{occupied['cpu_total']}",
        size(usage.get("ram_free")),
        size(usage.get("received")),
        size(usage.get("sent")),
        _gpu(usage),
        f"{occupied['gpu']}/{occupied['gpu_total']}",
        size(usage.get("vram_free")),
    )


def _gpu(usage: Json) -> str:
    """How busy the GPUs are, and what is the matter with them."""
    if usage.get("gpu_problem"):
        return "no answer"
    lost = f", {usage['gpus_lost']} lost" if usage.get("gpus_lost") else ""
    return f"{_percent(usage.get('gpu'))}{lost}"


def _percent(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.0f}%"


def _called(job: str, node: Json) -> str:
    """A job, and whether it is somebody's guest there."""
    guest = any(job in slot["guests"] for slot in node["slots"])
    return f"{job} (guest)" if guest else job


def show_node(name: NameArgument, server: ServerOption = None, as_json: JsonOption = False) -> None:
    """Show what a node is doing: cores, memory, disks, network, GPUs and who uses them."""
    with connect(server) as client:
        node = client.node(name)
        told = None
        if node["usage"] is not None:
            with suppress(NotFound):
                told = client.node_sample(name)
    if as_json:
        print_json({**node, "sample": None if told is None else told["sample"]})
        return
    out = console()
    for line in node_lines(node, told, out.width):
        out.print(line, no_wrap=True, end="\n")


def gpustat(
    name: NameArgument,
    show_cmd: Annotated[bool, typer.Option("--show-cmd", "-c", help="The commands of processes.")] = False,
    show_user: Annotated[bool, typer.Option("--show-user", "-u", help="Whose processes they are.")] = False,
    show_pid: Annotated[bool, typer.Option("--show-pid", "-p", help="Their process ids.")] = False,
    show_fan: Annotated[bool, typer.Option("--show-fan-speed", "-F", help="The speed of fans.")] = False,
    show_power: Annotated[bool, typer.Option("--show-power", "-P", help="Power and its limit.")] = False,
    show_all: Annotated[bool, typer.Option("--show-all", "-a", help="All of that.")] = False,
    header: Annotated[bool, typer.Option("--header/--no-header", help="The line above the GPUs.")] = True,
    processes: Annotated[bool, typer.Option("--processes/--no-processes", help="Who uses them.")] = True,
    color: Annotated[
        bool | None, typer.Option("--color/--no-color", help="Colours; else only in a terminal.")
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option("--interval", "-i", min=0.1, max=3600.0, help="Again after so many seconds."),
    ] = None,
    server: ServerOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="gpustat's JSON.")] = False,
) -> None:
    """Print a node's GPUs as gpustat does there, without logging in."""
    if as_json and interval is not None:
        raise InputInvalid("JSON is printed once", remedy="Leave out --json or --interval", field="interval")
    shown = Shown(
        header=header,
        command=show_cmd,
        user=show_user,
        pid=show_pid,
        fan=show_fan,
        power=show_power,
        processes=processes,
    )
    with connect(server) as client:
        if as_json:
            print_json(_stat(client, name), indent=4)
            return
        out = Console(
            highlight=False, force_terminal=color or None, no_color=color is False or None, width=WIDE
        )

        def draw() -> list[Text]:
            return gpustat_lines(_stat(client, name), shown.all() if show_all else shown)

        _print(out, draw, interval)


def _stat(client: PlainClient, name: str) -> Json:
    told = client.node_sample(name)
    if told["age"] > OLD:
        say(f"The last sample of {name} is {span(told['age'])} old.")
    if told["sample"]["gpu_problem"]:
        say(f"{name}: {told['sample']['gpu_problem']}")
    return as_gpustat(told)


def _print(out: Console, draw: Callable[[], list[Text]], interval: float | None) -> None:
    """Once, or again and again in place until somebody presses Ctrl-C."""
    if interval is None:
        for line in draw():
            out.print(line, soft_wrap=True)
        return
    from rich.live import Live  # only those who watch need it

    with Live(console=console(), auto_refresh=False) as live, suppress(KeyboardInterrupt):
        while True:
            live.update(Text("\n").join(draw()), refresh=True)
            time.sleep(interval)
