"""`tenuto lab figure`: the pictures of the ElasticFlow paper, drawn anew from runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from tenuto.cli.printing import print_json, say, write_text
from tenuto.cli.replay import Compat
from tenuto.errors import InputInvalid
from tenuto.lab.figures.catalogue import FIGURES
from tenuto.lab.figures.figure import GREEDY, Figure
from tenuto.lab.figures.make import Drawn, Order, draw_figures, draw_measured, find_traces
from tenuto.lab.figures.overheads import MEASURED, MeasuredFigure
from tenuto.suggest import did_you_mean

ALL = "all"
KNOWN = (*FIGURES, *MEASURED)
EXAMPLES = (
    "Examples: tenuto lab figure 10 · tenuto lab figure 8a 9 10 11 --compat artifact --data traces "
    "--without pollux"
)


def figure(
    names: Annotated[list[str], typer.Argument(metavar="FIGURE", help=f"{', '.join(KNOWN)} or {ALL}.")],
    compat: Annotated[
        Compat | None, typer.Option("--compat", help="Reproduce the reference simulator, quirks included.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="DIR", help="Where the public traces lie, at any depth."),
    ] = None,
    measured: Annotated[
        Path, typer.Option("--measured", metavar="DIR", help="What tenuto bench and profile wrote, for 12.")
    ] = Path("bench"),
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Pictures, numbers and runs go here.")
    ] = Path("figures"),
    processes: Annotated[
        int | None, typer.Option("--processes", min=1, help="Runs at a time; as many as there are cores.")
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option("--without", metavar="POLICY", help="Leave a policy out; repeatable.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON only (on standard output).")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error.")] = False,
) -> None:
    """Draw figures of the ElasticFlow paper, running whatever has not been run yet.

    Each figure is written as PNG, SVG and, with all its numbers, CSV. Public traces are looked for below --data
    and among those added with `tenuto trace add`; without them their part of a picture stays empty. Figure 12 is
    drawn from what was measured on this machine.
    """
    figures, from_measurements = _figures(names)
    order = Order(
        figures=figures,
        out=out,
        compat=None if compat is None else compat.value,
        data=data,
        without=_left_out(without or (), figures),
        processes=processes,
        show_progress=not quiet,
    )
    files = find_traces(order)
    for remark in files.remarks:
        _say(remark)
    drawn = draw_figures(order, files) if figures else []
    drawn += draw_measured(from_measurements, measured, out)
    for one in drawn:
        if isinstance(one.figure, MeasuredFigure) and one.missing:
            _say(f"nothing was measured for figure {one.figure.name}; do so with {one.figure.measured_by}")
    _print(drawn, as_json=as_json)


def _say(remark: str) -> None:
    say(f"tenuto: {remark}")


def _figures(names: Sequence[str]) -> tuple[tuple[Figure, ...], tuple[MeasuredFigure, ...]]:
    """Find the named figures, each once; `8(a)` is 8a, and 8 is 8a and 8b. All are those that can be simulated."""
    found: list[str] = []
    for name in names:
        plain = name.lower().replace("(", "").replace(")", "")
        meant = list(FIGURES) if plain == ALL else [one for one in KNOWN if plain in (one, one.rstrip("ab"))]
        if not meant:
            raise InputInvalid(
                f"there is no figure {name!r}",
                remedy=f"{did_you_mean(plain, KNOWN)}Known are {', '.join(KNOWN)} and {ALL}",
            )
        found += meant
    simulated = tuple(FIGURES[name] for name in dict.fromkeys(found) if name in FIGURES)
    return simulated, tuple(MEASURED[name] for name in dict.fromkeys(found) if name in MEASURED)


def _left_out(names: Iterable[str], figures: Sequence[Figure]) -> frozenset[str]:
    names_of = (policy.removesuffix(GREEDY) for figure in figures for policy in figure.policies)
    known = list(dict.fromkeys(names_of))
    wanted = frozenset(part.strip() for name in names for part in name.split(","))
    for name in sorted(wanted):
        if name not in known:
            raise InputInvalid(
                f"no figure asked for has the policy {name!r}",
                remedy=f"{did_you_mean(name, known)}They have {', '.join(known)}",
            )
    for one in figures:
        if needed := wanted & set(one.indispensable):
            raise InputInvalid(
                f"figure {one.name} is told relative to {', '.join(sorted(needed))}",
                remedy="Do not leave it out",
            )
    return wanted


def _print(drawn: Sequence[Drawn], *, as_json: bool) -> None:
    if as_json:
        rows = [
            {
                "figure": one.figure.name,
                "files": [str(path) for path in one.files],
                "missing": list(one.missing),
            }
            for one in drawn
        ]
        print_json(rows)
        return
    for one in drawn:
        absent = f" (not there: {', '.join(one.missing)})" if one.missing else ""
        write_text(f"{one.figure.title}{absent}\n")
        for path in one.files:
            write_text(f"  {path}\n")
