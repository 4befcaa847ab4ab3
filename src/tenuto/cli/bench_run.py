"""Runs measurements on a platform and tells what came out: tables, CSV, JSON."""

from __future__ import annotations

import csv
import os
import platform as machine
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from tenuto.bench.overhead import write_overhead
from tenuto.bench.play import Player
from tenuto.bench.rescales import PHASES, Case, Measured, Rescales, medians
from tenuto.bench.scenario import Scenario
from tenuto.cli.console import Console
from tenuto.cli.printing import console, print_json
from tenuto.client.plain import PlainClient
from tenuto.errors import Conflict, InputInvalid, Place

RESCALES_FILE = "rescales.csv"
"""What `tenuto lab figure 12b` reads."""
OVERHEAD_FILE = "overhead.json"
"""What `tenuto replay --overhead` reads."""
_WORDS = {
    "warm_up_ms": "warm-up, off the training path",
    "agree_ms": "agree on a step",
    "form_ms": "form the group",
    "transfer_ms": "hand over state",
    "first_step_ms": "first step",
    "pause_ms": "training paused for",
}
_JOIN = 60.0
"""Seconds in which nodes must be there."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be measured, and where the numbers go."""

    job: dict[str, Any]
    cases: Sequence[Case]
    out: Path | None
    as_json: bool
    quiet: bool


def await_slots(client: PlainClient, slots: int) -> None:
    """Wait until the nodes are there; refuse a platform that is too small."""
    give_up = time.monotonic() + _JOIN
    while (usable := client.cluster()["slots"]["usable"]) < slots:
        if time.monotonic() > give_up:
            raise Conflict(
                f"{slots} slots are needed, and {usable} can be used", remedy="Add nodes, or ask for less"
            )
        time.sleep(0.1)


def run_cases(client: PlainClient, wanted: Wanted) -> None:
    """Measure, tell and write."""
    if wanted.out is not None:
        make_directory(wanted.out)
    nodes = sorted(node["name"] for node in client.nodes()["items"])
    model = str(wanted.job["name"]).removeprefix("bench-")
    rescales = Rescales(client, wanted.job, nodes)
    found: list[Measured] = []
    try:
        with _progress(len(wanted.cases), quiet=wanted.quiet) as advance:
            for one in rescales.measure(wanted.cases):
                found.append(one)
                advance(one.case.name)
    finally:
        if wanted.out is not None:
            write_rescales(wanted.out / RESCALES_FILE, model, found)  # also what there was before a Ctrl-C
            write_overhead(wanted.out / OVERHEAD_FILE, wanted.out / RESCALES_FILE)
        rescales.end()
    if wanted.as_json:
        print_json({"model": model, "machine": _machine(), "median_ms": medians(found)})
    else:
        print_table(model, found, wanted.out)


def print_table(model: str, found: Sequence[Measured], out: Path | None) -> None:
    """One column for each case, one line for each phase, as in the paper's Figure 12(b)."""
    table = Table(title=f"{model}: milliseconds, medians", title_justify="left")
    table.add_column("phase")
    cases = medians(found)
    for name in cases:
        table.add_column(name, justify="right")
    for phase in PHASES:
        last = phase == PHASES[-1]
        table.add_row(
            _WORDS[phase], *(f"{cases[name][phase]:,.1f}" for name in cases), style="bold" if last else ""
        )
    console().print(table)
    console().print(_machine(), markup=False)
    if out is not None:
        console().print(f"Every measurement: {out / RESCALES_FILE}", markup=False)
        console().print(f"For tenuto replay --overhead: {out / OVERHEAD_FILE}", markup=False)


def write_rescales(path: Path, model: str, found: Iterable[Measured]) -> None:
    """Add to the file, so that several models come together in one."""
    new = not path.exists() or path.stat().st_size == 0
    with path.open("a", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        if new:
            rows.writerow(["model", "case", *PHASES, "moved_bytes"])
        rows.writerows(
            [model, one.case.name, *(f"{one.milliseconds[phase]:.3f}" for phase in PHASES), one.moved_bytes]
            for one in found
        )


def play(client: PlainClient, scenario: Scenario, file: str, *, as_json: bool, quiet: bool) -> None:
    """Play a scenario and tell how long it took."""
    player = Player(client, scenario, file)
    begun, played = time.monotonic(), []
    try:
        with _progress(len(scenario.commands), quiet=quiet) as advance:
            for one in player.play():
                played.append(one)
                advance(f"line {one.line}: {one.verb}")
    finally:
        player.end()
    total = time.monotonic() - begun
    if as_json:
        commands = [{"line": one.line, "verb": one.verb, "seconds": round(one.seconds, 3)} for one in played]
        print_json({"seconds": round(total, 3), "commands": commands})
        return
    waited = sum(one.seconds for one in played if one.verb == "Wait")
    console().print(f"{total:.1f} s for {len(played)} commands, {waited:.1f} s of them waits.", markup=False)


def tell_scenario(scenario: Scenario, *, as_json: bool) -> None:
    """What is in a scenario."""
    verbs = Counter(type(command.verb).__name__ for command in scenario.commands)
    if as_json:
        print_json({"nodes": scenario.nodes, "slots": scenario.slots, "commands": dict(verbs)})
        return
    told = ", ".join(f"{count} x {verb}" for verb, count in verbs.items())
    console().print(
        f"{scenario.nodes} nodes of {scenario.slots} slots; {told or 'no commands'}.", markup=False
    )


def make_directory(directory: Path) -> None:
    """See to it that files can be written there, before anything is measured."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with (directory / RESCALES_FILE).open("a", encoding="utf-8"):
            pass
    except OSError as error:
        raise InputInvalid(
            f"nothing can be written there ({error.strerror})",
            remedy="Let --out name a directory in which you may write",
            place=Place(str(directory)),
        ) from None


@contextmanager
def _progress(total: int, *, quiet: bool) -> Iterator[Any]:
    """A bar on standard error; what is called after each part."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), disable=quiet, transient=True) as bar:
        task = bar.add_task("starting", total=total)
        yield lambda what: bar.update(task, advance=1, description=what)


def _machine() -> str:
    return f"{os.cpu_count()} processors ({machine.machine()}), CPU workers of one thread each, gloo"
