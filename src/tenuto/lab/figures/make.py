"""From an order to files: find the traces, run what is missing, tabulate, draw, and write everything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap

from tenuto.lab.cell import Cell
from tenuto.lab.figures.figure import Figure, Runs
from tenuto.lab.figures.marks import DARK
from tenuto.lab.figures.numbers import Panel, csv_text, write_csv
from tenuto.lab.figures.overheads import MeasuredFigure
from tenuto.lab.figures.sources import Found, GeneratedTrace, check_data, find_public, write_generated
from tenuto.lab.run import Onlooker, run_cells
from tenuto.sim.picture import blank_figure, check_drawing, save

LETTERS_PER_INCH = 14
"""Of a footnote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What the user wants drawn, from what, and where to."""

    figures: tuple[Figure, ...]
    out: Path
    compat: str | None = None
    data: Path | None = None
    without: frozenset[str] = frozenset()
    """Policies to leave out."""
    processes: int | None = None
    show_progress: bool = True
    onlooker: Onlooker | None = None

    def policies(self, figure: Figure) -> tuple[str, ...]:
        """The policies of a figure that the user wants."""
        return figure.wanted(self.compat, self.without)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A figure that was drawn."""

    figure: Figure | MeasuredFigure
    panels: tuple[Panel, ...]
    files: tuple[Path, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Files:
    """The traces of an order: their files, and what the user should know about them."""

    paths: Mapping[str, Path]
    remarks: tuple[str, ...]


def find_traces(order: Order) -> Files:
    """Find or draw the traces of all figures, unless they could not be made into pictures."""
    check_drawing()
    check_data(order.data)
    found: dict[str, Found] = {}
    for trace in (group.trace for figure in order.figures for group in figure.groups):
        if trace.name in found:
            continue
        if isinstance(trace, GeneratedTrace):
            found[trace.name] = Found(write_generated(trace, order.out / "traces"))
        else:
            found[trace.name] = find_public(trace, order.data)
    paths = {name: one.path for name, one in found.items() if one.path is not None}
    return Files(paths, tuple(one.remark for one in found.values() if one.remark))


def draw_figures(order: Order, files: Files) -> list[Drawn]:
    """Run what has not been run yet, then draw every figure."""
    wanted = [_cells_of(figure, order, files) for figure in order.figures]
    # Figures share runs; each cell is asked for once.
    cells = list(dict.fromkeys(cell for own in wanted for cell in own.values()))
    done = run_cells(
        cells,
        order.out,
        processes=order.processes,
        show_progress=order.show_progress,
        onlooker=order.onlooker,
    )
    results = dict(zip(cells, done, strict=True))
    drawn = []
    for figure, own in zip(order.figures, wanted, strict=True):
        found = {where: results[cell] for where, cell in own.items()}
        drawn.append(_draw(order, Runs(figure, order.policies(figure), order.compat, found)))
    return drawn


def draw_measured(figures: Iterable[MeasuredFigure], measured: Path, out: Path) -> list[Drawn]:
    """Draw figures from the files of measurements in a directory, always beside the published values."""
    check_drawing()
    drawn = []
    for figure in figures:
        panel = figure.tabulate(measured if measured.is_dir() else None)
        files = _write(
            figure, (panel,), out / f"figure-{figure.name}", " ".join(figure.remarks), published=True
        )
        drawn.append(Drawn(figure, (panel,), files, panel.missing))
    return drawn


def _cells_of(figure: Figure, order: Order, files: Files) -> dict[tuple[str, str], Cell]:
    """The runs that a figure needs, by place on the x axis and policy."""
    return {
        (group.place, policy): figure.cell(group, policy, str(files.paths[group.trace.name]), order.compat)
        for group in figure.groups
        if group.trace.name in files.paths
        for policy in order.policies(figure)
    }


def _draw(order: Order, runs: Runs) -> Drawn:
    figure = runs.figure
    panels = figure.tabulate(runs)
    stem = order.out / f"figure-{figure.name}{'' if order.compat is None else '-' + order.compat}"
    files = _write(figure, panels, stem, _footnote(order, figure), published=order.compat is not None)
    return Drawn(figure, panels, files, runs.missing)


def _write(
    figure: Figure | MeasuredFigure, panels: tuple[Panel, ...], stem: Path, footnote: str, *, published: bool
) -> tuple[Path, ...]:
    """Write the numbers and the pictures; where they are."""
    files = tuple(stem.with_name(stem.name + suffix) for suffix in (".csv", ".png", ".svg"))
    numbers, *pictures = files
    numbers.parent.mkdir(parents=True, exist_ok=True)
    write_csv(panels, numbers)
    canvas = blank_figure(pictures[0], figure.size)
    figure.draw(canvas, panels, published)
    canvas.suptitle(figure.title, fontsize="large")
    lines = wrap(footnote, int(LETTERS_PER_INCH * figure.size[0]))
    canvas.supxlabel("\n".join(lines), fontsize="small", color=DARK)
    for picture in pictures:
        save(canvas, picture, data=csv_text(panels))
    return files


def _footnote(order: Order, figure: Figure) -> str:
    whose = (
        "tenuto's own semantics, deadlines by the actual finish"
        if order.compat is None
        else f"the reference's semantics (--compat {order.compat})"
    )
    left_out = [policy for policy in figure.policies if policy in order.without]
    without = [f"Without {', '.join(left_out)}."] if left_out else []
    setting = f"Slot {figure.slot:g} s, {whose}."
    return " ".join([setting, *figure.remarks, *without])
