"""The numbers behind a picture: what is drawn is exactly what the CSV file beside it says."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tenuto.sim.whole_file import whole_file

HEADER = ("panel", "series", "x", "value", "published", "note")


@dataclass(frozen=True, slots=True)
class Point:
    """One value of a picture, and what the paper has in its place."""

    x: str | float
    value: float | None
    """Nothing where the runs are missing."""
    published: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """One bar of each group, or one line: usually a policy, under its own name."""

    name: str
    points: tuple[Point, ...]

    def known(self) -> tuple[list[float], list[float]]:
        """Every x that has a value, and the values."""
        pairs = [(float(point.x), point.value) for point in self.points if point.value is not None]
        return [x for x, _ in pairs], [value for _, value in pairs]

    def published(self) -> tuple[list[float], list[float]]:
        """Every x that has a published value, and those."""
        pairs = [(float(point.x), point.published) for point in self.points if point.published is not None]
        return [x for x, _ in pairs], [value for _, value in pairs]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One pair of axes."""

    name: str
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    missing: tuple[str, ...] = ()
    """Traces that were not there."""

    @property
    def places(self) -> tuple[str | float, ...]:
        """Every x of the panel, in order."""
        return tuple(dict.fromkeys(point.x for one in self.series for point in one.points))


def csv_text(panels: Sequence[Panel]) -> str:
    """All numbers of a picture, one per line."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows(_rows(panels))
    return stream.getvalue()


def write_csv(panels: Sequence[Panel], path: Path) -> None:
    """Write the numbers of a picture; the file appears whole or not at all."""
    with whole_file(path) as stream:
        stream.write(csv_text(panels))


def _rows(panels: Sequence[Panel]) -> Iterator[tuple[object, ...]]:
    for panel in panels:
        for one in panel.series:
            for point in one.points:
                yield (panel.name, one.name, point.x, point.value, point.published, point.note)
