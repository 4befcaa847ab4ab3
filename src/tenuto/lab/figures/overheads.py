"""Figure 12: what profiling and rescaling cost, as it was measured here, beside the paper's values."""

from __future__ import annotations

import csv
import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from tenuto.errors import InputInvalid, Place
from tenuto.lab.figures.draw_overheads import draw_profiling, draw_scaling
from tenuto.lab.figures.numbers import Panel, Point, Series

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

RESCALES_FILE = "rescales.csv"
"""Written by `tenuto bench`."""
PROFILING: Mapping[str, float] = MappingProxyType(
    {
        "resnet50": 549.759,
        "vgg16": 550.011,
        "inception3": 366.84,
        "gpt2": 336.054,
        "bert": 305.462,
        "deepspeech2": 337.726,
    }
)
"""Seconds."""
SCALING: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {
        "resnet50": (1.884, 1.659, 1.666, 1.787, 0.887),
        "vgg16": (1.820, 1.629, 2.407, 2.354, 3.209),
        "inception3": (1.819, 1.099, 1.738, 1.733, 0.690),
        "gpt2": (2.344, 3.101, 3.203, 3.198, 2.119),
        "bert": (3.904, 2.611, 4.239, 4.222, 3.191),
    }
)
"""Seconds, in the order of the first five cases; DeepSpeech2 has BERT's values in the script and is left out."""
MOVE = "migrate"
CASES = ("1→2", "2→1", "8→16", "16→8", MOVE, "2→4", "4→2")
_KNOWN_FIELDS = ("model", "case", "pause_ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredFigure:
    """One picture that is drawn from measurements instead of runs."""

    name: str
    title: str
    measured_by: str
    """The command whose files it needs."""
    tabulate: Callable[[Path | None], Panel]
    draw: Callable[[Canvas, Sequence[Panel], bool], None]
    size: tuple[float, float]
    remarks: tuple[str, ...]


def scaling(directory: Path | None) -> Panel:
    """Figure 12(b): seconds that training pauses."""
    found = _pauses(directory)
    known = {model: dict(zip(CASES, values, strict=False)) for model, values in SCALING.items()}
    cases = tuple(dict.fromkeys((*CASES, *(case for pauses in found.values() for case in pauses))))
    series = []
    for model in dict.fromkeys((*known, *found)):
        mine = {case: statistics.median(each) for case, each in found.get(model, {}).items()}
        series.append(
            Series(
                model,
                tuple(
                    Point(case, mine.get(case), known.get(model, {}).get(case), _count(found, model, case))
                    for case in cases
                ),
            )
        )
    return Panel(
        name="",
        title="",
        x_label="workers before and after",
        y_label="pause of training in seconds",
        series=tuple(series),
        missing=() if found else (RESCALES_FILE,),
    )


def profiling(directory: Path | None) -> Panel:
    """Figure 12(a): seconds that profiling a model takes."""
    found = _profiling_times(directory)
    series = [
        Series(model, (Point(model, found.get(model), PROFILING.get(model)),))
        for model in dict.fromkeys((*PROFILING, *found))
    ]
    return Panel(
        name="",
        title="",
        x_label="",
        y_label="time to profile in seconds",
        series=tuple(series),
        missing=() if found else ("the JSON file of a profile",),
    )


MEASURED: Mapping[str, MeasuredFigure] = MappingProxyType(
    {
        "12a": MeasuredFigure(
            name="12a",
            title="Figure 12(a): what profiling costs",
            measured_by="tenuto profile job.yaml --out DIR/NAME.csv",
            tabulate=profiling,
            draw=draw_profiling,
            size=(9.0, 4.8),
            remarks=(
                "Ours: small stand-ins on CPU slots of this machine. Published: up to 64 A100, mostly fixed waits.",
            ),
        ),
        "12b": MeasuredFigure(
            name="12b",
            title="Figure 12(b): what a rescale costs",
            measured_by="tenuto bench rescale --out DIR and tenuto bench migrate --out DIR",
            tabulate=scaling,
            draw=draw_scaling,
            size=(13.0, 5.2),
            remarks=(
                "Ours: CPU slots of this machine, gloo; medians. Published: A100; the move is one of 8 workers.",
            ),
        ),
    }
)


def _pauses(directory: Path | None) -> dict[str, dict[str, list[float]]]:
    """Seconds by model and case; nothing if there is no file."""
    path = None if directory is None else directory / RESCALES_FILE
    if path is None or not path.exists():
        return {}
    found: dict[str, dict[str, list[float]]] = {}
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        if not set(_KNOWN_FIELDS) <= set(rows.fieldnames or ()):
            raise _not_ours(path, 1, f"it has no columns {', '.join(_KNOWN_FIELDS)}")
        for row in rows:
            case = MOVE if row["case"].startswith(MOVE) else row["case"]
            try:
                seconds = float(row["pause_ms"]) / 1000
            except (TypeError, ValueError):
                raise _not_ours(path, rows.line_num, f"{row['pause_ms']!r} is no number") from None
            found.setdefault(row["model"], {}).setdefault(case, []).append(seconds)
    return found


def _profiling_times(directory: Path | None) -> dict[str, float]:
    """Seconds by model, from the newest file of each."""
    files = (
        [] if directory is None else sorted(directory.glob("*.json"), key=lambda path: path.stat().st_mtime)
    )
    found = {}
    for path in files:
        try:
            told = json.loads(path.read_bytes())
            found[str(told["model"])] = float(told["seconds"])
        except (ValueError, KeyError, TypeError):
            continue  # some other JSON file
    return found


def _count(found: Mapping[str, Mapping[str, Sequence[float]]], model: str, case: str) -> str:
    times = len(found.get(model, {}).get(case, ()))
    return f"median of {times}" if times else ""


def _not_ours(path: Path, line: int, what: str) -> InputInvalid:
    return InputInvalid(
        f"this is no file of tenuto bench: {what}",
        remedy="Measure anew with tenuto bench rescale --out DIR",
        place=Place(str(path), line),
    )
