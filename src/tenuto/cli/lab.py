"""`tenuto lab`: experiments of many replays, what came out of them, and pictures."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from tenuto.cli import lab_demo, lab_figure, lab_report
from tenuto.cli.console import Console
from tenuto.cli.lab_tables import print_rows
from tenuto.cli.printing import print_json, say, write_data
from tenuto.errors import CellsFailed
from tenuto.lab.experiment import Experiment
from tenuto.lab.files import as_json as rows_as_json
from tenuto.lab.folder import check_experiment, read_contents, settle_experiment
from tenuto.lab.read_experiment import read_experiment
from tenuto.lab.report import rows_of
from tenuto.lab.results import load_result
from tenuto.lab.run import Prepared, alone_in, run_prepared

app = typer.Typer(
    name="lab",
    help="Experiments of many replays, what came out of them, and pictures.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
STOPPED = 130
"""What a shell says of a program that ended by Ctrl-C."""


@app.command(epilog="Example: tenuto lab run experiment.yaml --processes 2")
def run(
    experiment: Annotated[Path, typer.Argument(metavar="EXPERIMENT.yaml", help="What is to be replayed.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Where the results go; else as the file says."),
    ] = None,
    processes: Annotated[
        int | None, typer.Option("--processes", min=1, help="Replays at a time; as many as there are cores.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything, list the cells, run nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON only (on standard output).")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error.")] = False,
    force: Annotated[bool, typer.Option("--force", "-f", help="Run finished cells again, too.")] = False,
) -> None:
    """Run an experiment: every combination of its traces, clusters, policies, parameters and seeds.

    Stop it whenever you like: what is finished is never run again, and the same command goes on with the rest.
    """
    plan = read_experiment(experiment).at(out)
    for remark in plan.remarks:
        say(remark)
    prepared = check_experiment(plan)
    if dry_run:
        _print_plan(plan, prepared, as_json=as_json)
        return
    with alone_in(plan.out):
        prepared = settle_experiment(plan, prepared)
        failure = _run(prepared, processes=processes, quiet=quiet, force=force)
    if any(load_result(task.folder) for task in prepared.tasks):
        rows = rows_of(read_contents(plan.out).results)
        if as_json:
            write_data(rows_as_json(rows))
        else:
            print_rows(Console(), rows, plan.name)
            say(f"The results are in {plan.out}.")
    if failure is not None:
        raise failure


def _run(prepared: Prepared, *, processes: int | None, quiet: bool, force: bool) -> CellsFailed | None:
    """Run what is to be run; say how to go on if somebody presses Ctrl-C."""
    try:
        run_prepared(prepared, processes=processes, show_progress=not quiet, again=force)
    except KeyboardInterrupt:
        done = sum(load_result(task.folder) is not None for task in prepared.tasks)
        say(
            f"Stopped: {done} of {len(prepared.tasks)} cells are done. The same command goes on with the rest."
        )
        raise typer.Exit(STOPPED) from None
    except CellsFailed as failure:
        return failure
    return None


def _print_plan(plan: Experiment, prepared: Prepared, *, as_json: bool) -> None:
    """List the cells and what would become of them."""
    states = {
        str(task.cell): "to run" if load_result(task.folder) is None else "done" for task in prepared.tasks
    }
    states |= {name: f"impossible: {reason}" for name, reason in prepared.refused.items()}
    if as_json:
        rows = [{"cell": name, "state": state} for name, state in states.items()]
        print_json(rows)
        return
    console = Console(soft_wrap=True)
    for name, state in states.items():
        console.print(Text(f"{name}: {state}"))
    counts = Counter(state.partition(":")[0] for state in states.values())
    told = ", ".join(f"{count} {state}" for state, count in counts.items())
    console.print(Text(f"{plan.name}: {len(states)} cells, {told}; results in {plan.out}"))


# Help lists the commands in the order in which one meets them.
app.command(epilog=lab_report.REPORT_EXAMPLE)(lab_report.report)
app.command(epilog=lab_report.COMPARE_EXAMPLE)(lab_report.compare)
app.command()(lab_demo.demo)
app.command(epilog=lab_figure.EXAMPLES)(lab_figure.figure)
