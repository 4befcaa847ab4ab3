"""`tenuto lab demo`: ten jobs, one server, every policy."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from tenuto.cli.console import Console
from tenuto.cli.printing import print_json, say, write_text
from tenuto.cli.replay import Compat
from tenuto.lab.cell import Cell
from tenuto.lab.choose_policies import ALL, choose
from tenuto.lab.run import run_cells
from tenuto.sim.report import Summary

TRACE, CLUSTER, SLOT = "demo-10", "n1g8", 240.0


def demo(
    compat: Annotated[
        Compat | None, typer.Option("--compat", help="Reproduce the reference simulator, quirks included.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON only (on standard output).")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error.")] = False,
) -> None:
    """Replay ten jobs on one server of eight slots under every policy, and count the deadlines met."""
    semantics = None if compat is None else compat.value
    choice = choose(ALL, compat=compat is not None)
    for remark in choice.remarks:
        say(remark)
    cells = [
        Cell(trace=TRACE, cluster=CLUSTER, slot=SLOT, policy=policy.name, compat=semantics)
        for policy in choice.policies
    ]
    with tempfile.TemporaryDirectory() as out:
        # So little work is done before other processes would have started.
        results = run_cells(cells, Path(out), processes=1, show_progress=not quiet)
    _print([result.summary for result in results], as_json=as_json)


def _print(summaries: Sequence[Summary], *, as_json: bool) -> None:
    if as_json:
        rows = [
            {"policy": one.policy, "accepted": one.accepted, "declined": one.not_accepted}
            for one in summaries
        ]
        print_json(rows)
        return
    first = summaries[0]
    semantics = "" if first.compat is None else f", --compat {first.compat}"
    write_text(f"{TRACE} on {CLUSTER}, slot {SLOT:g} s{semantics}\n")
    table = Table(box=None, pad_edge=False)
    table.add_column("policy")
    for name in ("accepted", "declined"):
        table.add_column(name, justify="right")
    for one in summaries:
        table.add_row(one.policy, str(one.accepted), str(one.not_accepted))
    Console().print(table)
