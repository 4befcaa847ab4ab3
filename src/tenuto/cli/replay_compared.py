"""How the live platform and the simulator are compared on paper: tables, JSON, and a CSV file of every job."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from tenuto.cli.printing import console, print_json, print_list
from tenuto.cli.replay_table import duration
from tenuto.rehearsal.rehearse import Rehearsed
from tenuto.rehearsal.walk import Walk, ends
from tenuto.sim.whole_file import whole_file

if TYPE_CHECKING:
    from tenuto.cli.replay_wanted import Wanted
    from tenuto.lab.choose_policies import Choice

FILE = "live.csv"
SHOWN = 5
"""Differences that are told on a terminal; `--json` has all."""
_COLUMNS = ("verdict", "why", "promised", "started", "finished")


def walk_of(walk: Walk) -> dict[str, Any]:
    """A job's walk for programs; times in seconds of the trace."""
    told: dict[str, Any] = {name: getattr(walk, name) for name in _COLUMNS}
    return told | {"jct": walk.duration, "rescales": len(walk.changes)}


def write_walks(path: Path, pairs: Iterable[tuple[Walk, Walk]], more: Mapping[str, Sequence[object]]) -> None:
    """One line for each job, what the simulator says beside what the platform did."""
    names = (*_COLUMNS, "jct", "rescales")
    header = ["job_id", *(f"{name}_{whose}" for name in names for whose in ("simulated", "live")), *more]
    with whole_file(path) as stream:
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(header)
        for row, (simulated, live) in enumerate(pairs):
            one, other = walk_of(simulated), walk_of(live)
            told = [value for name in names for value in (one[name], other[name])]
            rows.writerow([simulated.job, *told, *(column[row] for column in more.values())])


def write_rehearsals(
    wanted: Wanted, choice: Choice, done: Sequence[Rehearsed], arguments: Mapping[str, object]
) -> None:
    """The simulator's result files, as `replay` writes them, and beside them what the platform did."""
    wanted.outputs.write([one.replay for one in done], choice, arguments)
    if (out := wanted.outputs.out) is None:
        return
    for one in done:
        target = out / one.replay.summary.trace / one.replay.summary.policy / FILE
        write_walks(target, zip(one.simulated, one.live, strict=True), {})


def print_rehearsals(wanted: Wanted, done: Sequence[Rehearsed]) -> None:
    """One line for each trace and policy, and what differs, if anything does."""
    if wanted.as_json:
        print_json([_json(one) for one in done])
        return
    out, first = console(), done[0].replay.summary
    table = Table(
        title=Text(
            f"On {first.cluster}, slot {first.slot:g} s, in fast-forward; the simulator beside the live platform"
        ),
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    for name in ("trace", "policy"):
        table.add_column(name)
    for name in ("jobs", "declined", "finished", "rescales", "mean JCT", "rounds", "live s", "differences"):
        table.add_column(name, justify="right")
    for one in done:
        table.add_row(*_cells(one))
    print_list(table)
    for one in done:
        for line in _told(one):
            out.print(line, markup=False, soft_wrap=True)


def _cells(one: Rehearsed) -> tuple[str, ...]:
    summary, (declined, finished) = one.replay.summary, ends(one.live)
    return (
        summary.trace,
        summary.policy,
        f"{len(one.live):,}",
        f"{declined:,}",
        f"{finished:,}",
        f"{sum(len(walk.changes) for walk in one.live):,}",
        duration(mean_jct(one.live)),
        f"{summary.rounds:,}",
        f"{one.seconds:.1f}",
        f"{len(one.differences):,}" if one.differences else "none",
    )


def mean_jct(walks: Sequence[Walk]) -> float | None:
    """Mean seconds from submission to finish, over all that have finished."""
    known = [walk.duration for walk in walks if walk.duration is not None]
    return sum(known) / len(known) if known else None


def _told(one: Rehearsed) -> list[str]:
    if not one.differences:
        return []
    summary = one.replay.summary
    jobs = len({difference.job for difference in one.differences})
    lines = [f"{summary.trace}, {summary.policy}: {jobs} of {len(one.live)} jobs differ."]
    if one.trouble:
        lines.append(f"The policy failed on the platform: {one.trouble}.")
    lines.append(f"{one.parting}.")
    return [*lines, *(f"  {difference}" for difference in one.differences[:SHOWN])]


def _json(one: Rehearsed) -> dict[str, Any]:
    summary, (declined, finished) = one.replay.summary, ends(one.live)
    return {
        "trace": summary.trace,
        "policy": summary.policy,
        "cluster": summary.cluster,
        "slot": summary.slot,
        "same": not one.differences,
        "jobs": len(one.live),
        "declined": declined,
        "finished": finished,
        "mean_jct": mean_jct(one.live),
        "rounds": summary.rounds,
        "seconds": round(one.seconds, 3),
        "trouble": one.trouble,
        "parting": None if one.parting is None else str(one.parting),
        "differences": [str(difference) for difference in one.differences],
        "items": [
            {"job": live.job, "simulated": walk_of(simulated), "live": walk_of(live)}
            for simulated, live in zip(one.simulated, one.live, strict=True)
        ],
    }
