"""The files that `tenuto metrics export` writes: CSV, Parquet, lines for InfluxDB, or event files for TensorBoard.

They appear whole or not at all, and hold one subject at a time in memory, a few thousand points of it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tenuto.cli.whole_directory import directory_beside
from tenuto.errors import InputInvalid, Place
from tenuto.model.series import Points, Subject
from tenuto.monitor.influx.lines import lines_of_points
from tenuto.sim.whole_file import whole_file, written_beside
from tenuto.wire.series import unit_of
from tenuto.wire.series_csv import HEADER, rows_of, written

CSV, PARQUET, TENSORBOARD, INFLUX = "csv", "parquet", "tensorboard", "influx"
_EVENTS = "events"
"""With what the names of TensorBoard's files begin."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Some points of one subject, oldest first; the pieces of a subject follow each other."""

    kind: str
    name: str
    part: str
    at: Sequence[float]
    values: Mapping[str, Sequence[float | None]]

    @property
    def subject(self) -> tuple[str, str, str]:
        """Whose they are."""
        return self.kind, self.name, self.part

    @property
    def known(self) -> int:
        """How many values are known."""
        return sum(value is not None for column in self.values.values() for value in column)


class Sink(Protocol):
    """Takes what is to be written."""

    def add(self, piece: Piece) -> None:
        """Write some points."""
        ...


def check_free(out: Path, form: str, *, force: bool) -> None:
    """Refuse a place that is taken, before anything is asked."""
    if str(out) == "-":
        raise InputInvalid(
            "an export is a file that appears whole",
            remedy="Name a file; /api/v1/metrics/export gives CSV as a stream",
            field="out",
        )
    taken = out.is_dir() and any(out.iterdir()) if form == TENSORBOARD else out.exists()
    if form == TENSORBOARD and out.exists() and not out.is_dir():
        raise InputInvalid("this is a file", remedy="Name a directory", place=Place(str(out)))
    if form != TENSORBOARD and out.is_dir():
        raise InputInvalid("this is a directory", remedy="Name a file", place=Place(str(out)))
    if taken and not force:
        raise InputInvalid(
            "there is something already",
            remedy="Choose another --out, or overwrite it with --force",
            place=Place(str(out)),
        )
    if form == TENSORBOARD and not all(_is_event_file(path) for path in out.rglob("*") if not path.is_dir()):
        raise InputInvalid(
            "this directory has more than event files, which would be lost",
            remedy="Choose a directory that is for them alone",
            place=Place(str(out)),
        )


def _is_event_file(path: Path) -> bool:
    return path.name.startswith(_EVENTS) and "tfevents" in path.name


@contextmanager
def opened(out: Path, form: str, job: str = "") -> Iterator[Sink]:
    """A sink whose files take their place only if the block ends well. `job`: what the job is called."""
    if form == TENSORBOARD:
        with directory_beside(out, anew=True) as part:
            yield EventFiles(part)
    elif form == PARQUET:
        with written_beside(out) as file, ParquetFile(file) as sink:
            yield sink
    elif form == INFLUX:
        with whole_file(out) as stream:
            yield LineFile(stream, job)
    else:
        with whole_file(out) as stream:
            stream.write(written([HEADER]))
            yield CsvFile(stream)


class CsvFile:
    """A line for each value that is known, as `GET /metrics/export` has it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def add(self, piece: Piece) -> None:
        """Write some lines."""
        self._stream.write(written(rows_of(piece.subject, piece.at, piece.values)))


class LineFile:
    """What an InfluxDB would have been sent, for one that was away for too long."""

    def __init__(self, stream: Any, job: str) -> None:
        self._stream = stream
        self._job = job

    def add(self, piece: Piece) -> None:
        """Write some lines."""
        points = Points(subject=Subject(*piece.subject), at=piece.at, values=piece.values)
        self._stream.writelines(f"{line}\n" for line in lines_of_points([points], lambda _: self._job))


class ParquetFile:
    """The same rows with their types."""

    def __init__(self, file: Path) -> None:
        try:
            import pyarrow as arrow
            from pyarrow import parquet
        except ImportError:
            raise _missing("pyarrow, which writes Parquet,", "lab") from None
        self._arrow = arrow
        text = arrow.string()
        types = {"at": arrow.timestamp("ms", tz="UTC"), "value": arrow.float64()}
        self._schema = arrow.schema([(name, types.get(name, text)) for name in HEADER])
        self._writer = parquet.ParquetWriter(file, self._schema)

    def __enter__(self) -> ParquetFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()

    def add(self, piece: Piece) -> None:
        """Write a group of rows."""
        rows = [
            (round(at * 1000), *piece.subject, name, float(value), unit_of(piece.part, name))
            for index, at in enumerate(piece.at)
            for name, column in piece.values.items()
            if (value := column[index]) is not None
        ]
        if rows:
            columns = dict(zip(HEADER, map(list, zip(*rows, strict=True)), strict=True))
            self._writer.write_table(self._arrow.table(columns, schema=self._schema))


class EventFiles:
    """A directory with a run for each subject; its steps are those of the job where there are any.

    Elsewhere they are whole seconds since the beginning. Wall times are the moments themselves.
    """

    def __init__(self, directory: Path) -> None:
        try:
            from tensorboardX import event_file_writer
            from tensorboardX.proto import event_pb2, summary_pb2
        except ImportError:
            raise _missing("tensorboardX, which writes TensorBoard's event files,", "tensorboard") from None
        self._open, self._event, self._summary = event_file_writer.EventsWriter, event_pb2, summary_pb2
        self._directory = directory
        self._runs: dict[tuple[str, str, str], Path] = {}
        self._course: list[tuple[float, int]] = []
        """The steps of the job, by moment."""
        self._begin: float | None = None

    def add(self, piece: Piece) -> None:
        """Write some scalars; each piece of a run is a file of its own."""
        if not piece.at:
            return
        steps = self._steps(piece)
        run = self._run(piece)
        run.mkdir(parents=True, exist_ok=True)
        # Files of a run are read by their names; within a second they would have the same.
        number = f".{len(list(run.iterdir())):06d}"
        writer = self._open(str(run / _EVENTS), number)
        try:
            for index, at in enumerate(piece.at):
                told = {name: column[index] for name, column in piece.values.items() if name != "step"}
                writer.write_event(self._scalars(at, steps[index], told))
        finally:
            writer.close()

    def _scalars(self, at: float, step: int, told: Mapping[str, float | None]) -> Any:
        values = [
            self._summary.Summary.Value(tag=name, simple_value=value)
            for name, value in told.items()
            if value is not None
        ]
        return self._event.Event(wall_time=at, step=step, summary=self._summary.Summary(value=values))

    def _steps(self, piece: Piece) -> list[int]:
        if self._begin is None:
            self._begin = piece.at[0]
        if piece.kind != "job":
            return [max(int(at - self._begin), 0) for at in piece.at]
        own = piece.values.get("step")
        if own is not None and piece.part == "":
            self._course += [
                (at, int(step)) for at, step in zip(piece.at, own, strict=True) if step is not None
            ]
        if own is not None and piece.part.startswith("worker:"):
            return [0 if step is None else int(step) for step in own]
        return [self._step_at(at) for at in piece.at]

    def _step_at(self, at: float) -> int:
        place = bisect_right(self._course, at, key=lambda one: one[0])
        return self._course[place - 1][1] if place else 0

    def _run(self, piece: Piece) -> Path:
        key = piece.subject
        if key not in self._runs:
            name = re.sub(r"[^\w.-]", "_", piece.part) or piece.kind
            whose = re.sub(r"[^\w-]", "_", piece.name)
            run = self._directory / (f"{whose}.{name}" if piece.kind == "node" else name)
            while run in self._runs.values():
                run = run.with_name(f"{run.name}_")
            self._runs[key] = run
        return self._runs[key]


def _missing(what: str, extra: str) -> InputInvalid:
    return InputInvalid(
        f"{what} is not installed",
        remedy=f"Install it: pip install 'tenuto[{extra}]', or choose another --format",
        field="format",
    )
