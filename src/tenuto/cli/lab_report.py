"""`tenuto lab report` and `tenuto lab compare`: what came out of experiments."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from tenuto.cli.console import Console
from tenuto.cli.lab_tables import print_comparison, print_rows
from tenuto.cli.printing import print_json, say, write_data
from tenuto.errors import InputInvalid, Place
from tenuto.lab.compare import Comparison, partners, results_at
from tenuto.lab.compare import compare as compare_results
from tenuto.lab.files import TEXTS, Format, format_for, write_rows
from tenuto.lab.folder import read_contents
from tenuto.lab.report import averaged, rows_of
from tenuto.sim.whole_file import whole_file

REPORT_EXAMPLE = "Example: tenuto lab report runs --by trace,policy --out table.csv"
COMPARE_EXAMPLE = "Example: tenuto lab compare before after --jobs"


def report(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The directory of an experiment.")],
    form: Annotated[
        Format | None, typer.Option("--format", help="How it is written; else as the file's name tells.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write here, not to standard output.")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="COLUMNS", help="Means over all cells that are alike in these columns."),
    ] = None,
    timings: Annotated[
        bool, typer.Option("--timings", help="Also how long it took; that differs from run to run.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", "-f", help="Overwrite the file.")] = False,
) -> None:
    """Report an experiment: a row for each cell, with everything that varies and everything that came out."""
    chosen = format_for(out, form)
    _check_target(out, chosen, force=force)
    contents = read_contents(directory)
    rows = rows_of(contents.results, timings=timings)
    if by is not None:
        rows = averaged(rows, [name.strip() for name in by.split(",")])
    if contents.missing:
        say(f"{contents.missing} cells are not finished; `tenuto lab run` goes on with them.")
    if out is not None:
        if chosen is Format.TABLE:
            with whole_file(out) as stream:
                print_rows(Console(file=stream), rows, contents.name)
        else:
            write_rows(rows, out, chosen)
        say(f"Wrote {len(rows)} rows to {out}.")
    elif chosen is Format.TABLE:
        print_rows(Console(), rows, contents.name)
    else:
        write_data(TEXTS[chosen](rows))


def _check_target(out: Path | None, form: Format, *, force: bool) -> None:
    if form is Format.PARQUET and out is None:
        raise InputInvalid("Parquet is not for reading", remedy="Say where to write it with --out FILE")
    if out is not None and out.exists() and not force:
        raise InputInvalid(
            "the file exists",
            remedy="Choose another name, or overwrite it with --force",
            place=Place(str(out)),
        )


def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="The directory of a cell or of an experiment.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another one.")],
    jobs: Annotated[bool, typer.Option("--jobs", help="List every job whose fate differs.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON only (on standard output).")] = False,
) -> None:
    """Compare two cells, or the cells that two experiments have in common."""
    firsts, seconds = results_at(first), results_at(second)
    pairs = partners(firsts, seconds)
    if not pairs:
        raise InputInvalid(
            "no cell of one has the trace, cluster, policy and parameters of a cell of the other",
            remedy="Name two cells, or two runs of one experiment",
        )
    comparisons = [compare_results(*pair) for pair in pairs]
    if as_json:
        rows = [_as_row(comparison, jobs=jobs) for comparison in comparisons]
        print_json(rows)
        return
    console = Console()
    for comparison in comparisons:
        print_comparison(console, comparison, jobs=jobs)
    alone = len(firsts) + len(seconds) - 2 * len(pairs)
    if alone:
        say(f"{alone} cells are in only one of the two.")


def _as_row(comparison: Comparison, *, jobs: bool) -> dict[str, object]:
    row: dict[str, object] = {
        "a": str(comparison.first.folder),
        "b": str(comparison.second.folder),
        "numbers": {name: {"a": one, "b": other} for name, (one, other) in comparison.numbers.items()},
        "only_a_met": list(comparison.only_first),
        "only_b_met": list(comparison.only_second),
        "jobs_in_only_one": comparison.strangers,
    }
    return row | ({"jobs": [asdict(pair) for pair in comparison.jobs]} if jobs else {})
