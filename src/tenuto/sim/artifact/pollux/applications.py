"""The measured applications of Pollux's simulator: how fast each steps, and how far each step takes it.

The tables come with tenuto. `speeds.csv` has a row for each placement and local batch that was timed,
`statistics.csv` one for each epoch of a whole training at each batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

import numpy as np

from tenuto.model.columns import Floats, Ints, frozen
from tenuto.sim.table import Table, parse_table, read_text, require_columns

Nodes = tuple[int, ...]
"""A placement: how many GPUs on each node that has any."""

SPEEDS = ("application", "nodes", "replicas", "placement", "local_batch", "step_s", "sync_s")
STATISTICS = ("application", "batch", "epoch", "progress", "iterations", "grad_sqr", "grad_var")

_MOST_LOCAL = {"yolov3": 8}
"""Larger local batches were timed on few nodes only; the reference does not use them."""


@dataclass(frozen=True)
class Timings:
    """Seconds of a step, and of the synchronisation in it, by local batch."""

    local_batch: Ints
    step: Floats
    sync: Floats

    def at(self, local_batch: float) -> tuple[float, float]:
        """Interpolate between two local batches; beyond the measured ones take the nearest."""
        step = np.interp(local_batch, self.local_batch, self.step)
        return float(step), float(np.interp(local_batch, self.local_batch, self.sync))


@dataclass(frozen=True, eq=False)
class Application:
    """One model and everything that was measured of it."""

    name: str
    placements: Mapping[Nodes, Timings]
    """By the smallest rotation of the placement."""
    shapes: Mapping[int, Mapping[int, Timings]]
    """By nodes and replicas, however these are spread."""
    local_batches: tuple[int, int]
    """The smallest and the largest that an agent may choose."""
    batches: tuple[int, ...]
    """The global batches of which whole trainings were recorded, ascending."""
    progress: Floats
    """At the end of each epoch: the least that any of the trainings had reached."""
    iterations: Mapping[int, int]
    """Of the whole training at each batch."""
    grad_sqr: Floats
    """By batch and epoch."""
    grad_var: Floats

    @property
    def initial_batch(self) -> int:
        """The batch that progress is counted in."""
        return self.batches[0]

    @property
    def largest_batch(self) -> int:
        """The largest batch at which training is known to succeed."""
        return self.batches[-1]

    @property
    def epochs(self) -> int:
        """How many there are in a training."""
        return len(self.progress)


@cache
def applications() -> Mapping[str, Application]:
    """Everything that comes with tenuto, by name."""
    directory = Path(str(resources.files("tenuto"))) / "data" / "pollux"
    return read_applications(directory / "speeds.csv", directory / "statistics.csv")


def read_applications(speeds: Path, statistics: Path) -> Mapping[str, Application]:
    """Read both tables. Refuse them unless each application has both, complete and in order."""
    timed = parse_table(read_text(speeds), str(speeds))
    trained = parse_table(read_text(statistics), str(statistics))
    require_columns(timed, SPEEDS, f"Write {','.join(SPEEDS)}")
    require_columns(trained, STATISTICS, f"Write {','.join(STATISTICS)}")
    timings, trainings = _timings(timed), _trainings(trained)
    for name, row in trainings.first_row.items():
        if name not in timings:
            trained.refuse(
                f"{name} has no row in {speeds.name}", "Add its timings", row=row, column="application"
            )
    return {name: _application(name, timings[name], trainings) for name in trainings.first_row}


def _application(name: str, timings: _Timed, trainings: _Trainings) -> Application:
    batches = tuple(sorted(trainings.batches[name]))
    columns = [trainings.batches[name][batch] for batch in batches]
    locals_seen = [batch for rows in timings.placements.values() for batch in rows]
    most = _MOST_LOCAL.get(name, max(locals_seen))
    return Application(
        name=name,
        placements={nodes: _sorted(rows) for nodes, rows in timings.placements.items()},
        shapes=_shapes(timings),
        local_batches=(min(locals_seen), most),
        batches=batches,
        progress=frozen(np.min([column["progress"] for column in columns], axis=0)),
        iterations={
            batch: int(column["iterations"][-1]) for batch, column in zip(batches, columns, strict=True)
        },
        grad_sqr=frozen(np.array([column["grad_sqr"] for column in columns])),
        grad_var=frozen(np.array([column["grad_var"] for column in columns])),
    )


_Rows = dict[int, tuple[float, float]]
"""Step and synchronisation by local batch."""


@dataclass(frozen=True)
class _Timed:
    """The timings of one application as they stand in the table."""

    placements: dict[Nodes, _Rows]
    spreads: dict[tuple[int, int], _Rows]


def _timings(table: Table) -> dict[str, _Timed]:
    nodes, replicas = table.whole_numbers("nodes").tolist(), table.whole_numbers("replicas").tolist()
    local = table.whole_numbers("local_batch").tolist()
    step, sync = table.numbers("step_s"), table.numbers("sync_s")
    table.require((step > sync) & (step > 0), "step_s", "s is no longer than its part", "Check both times")
    table.require(sync >= 0, "sync_s", "s is negative", "Check the time")
    timed: dict[str, _Timed] = {}
    for row, (name, code) in enumerate(
        zip(table.column("application"), table.column("placement"), strict=True)
    ):
        of_name = timed.setdefault(name, _Timed({}, {}))
        if code:
            placement = _placement(table, row, code, (nodes[row], replicas[row]))
            rows = of_name.placements.setdefault(placement, {})
        else:
            rows = of_name.spreads.setdefault((nodes[row], replicas[row]), {})
        if local[row] in rows:
            table.refuse("this was timed already", "Keep one of the two rows", row=row, column="local_batch")
        rows[local[row]] = float(step[row]), float(sync[row])
    for row, name in enumerate(table.column("application")):
        if not timed[name].placements:
            table.refuse(f"{name} was timed on no placement", "Add one", row=row, column="placement")
    return timed


def _placement(table: Table, row: int, code: str, shape: tuple[int, int]) -> Nodes:
    if not (code.isascii() and code.isdigit()) or "0" in code:
        table.refuse(
            f"{code!r} is no placement", "Write the GPUs on each node, as 112", row=row, column="placement"
        )
    placement = tuple(map(int, code))
    if (len(placement), sum(placement)) != shape:
        table.refuse(
            f"placement {code} has {len(placement)} nodes and {sum(placement)} replicas",
            "Let the columns agree",
            row=row,
            column="placement",
        )
    return smallest_rotation(placement)


def smallest_rotation(placement: Nodes) -> Nodes:
    """Name placements alike that differ only by which node of the ring comes first."""
    return min(placement[first:] + placement[:first] for first in range(len(placement)))


def _shapes(timed: _Timed) -> dict[int, dict[int, Timings]]:
    """Put both kinds of timings together, the mean where placements have the same nodes and replicas."""
    merged: dict[tuple[int, int], list[_Rows]] = {}
    for placement, rows in timed.placements.items():
        merged.setdefault((len(placement), sum(placement)), []).append(rows)
    for shape, rows in timed.spreads.items():
        merged.setdefault(shape, []).append(rows)
    shapes: dict[int, dict[int, Timings]] = {}
    for (nodes, replicas), tables in sorted(merged.items()):
        shapes.setdefault(nodes, {})[replicas] = _sorted(_mean(tables))
    return shapes


def _mean(tables: list[_Rows]) -> _Rows:
    everywhere: dict[int, list[tuple[float, float]]] = {}
    for rows in tables:
        for local, times in rows.items():
            everywhere.setdefault(local, []).append(times)
    return {
        local: (sum(step for step, _ in times) / len(times), sum(sync for _, sync in times) / len(times))
        for local, times in everywhere.items()
    }


def _sorted(rows: _Rows) -> Timings:
    local = sorted(rows)
    return Timings(
        frozen(np.array(local, dtype=np.int64)),
        frozen(np.array([rows[batch][0] for batch in local])),
        frozen(np.array([rows[batch][1] for batch in local])),
    )


@dataclass(frozen=True)
class _Trainings:
    """The whole trainings of every application."""

    first_row: dict[str, int]
    batches: dict[str, dict[int, dict[str, Floats]]]


def _trainings(table: Table) -> _Trainings:
    batch, epoch = table.whole_numbers("batch").tolist(), table.whole_numbers("epoch").tolist()
    columns = {name: table.numbers(name) for name in STATISTICS[3:]}
    for name, column in columns.items():
        table.require(column >= 0, name, "is negative", "Check the measurement")
    rows: dict[str, dict[int, list[int]]] = {}
    for row, name in enumerate(table.column("application")):
        of_batch = rows.setdefault(name, {}).setdefault(batch[row], [])
        of_batch.append(row)
        if epoch[row] != len(of_batch):
            table.refuse(
                f"epoch {epoch[row]} follows epoch {len(of_batch) - 1}",
                "Give all epochs in order",
                row=row,
                column="epoch",
            )
    _require_equal_lengths(table, rows)
    return _Trainings(
        {name: min(map(min, of_name.values())) for name, of_name in rows.items()},
        {
            name: {
                size: {key: column[numbers] for key, column in columns.items()}
                for size, numbers in of_name.items()
            }
            for name, of_name in rows.items()
        },
    )


def _require_equal_lengths(table: Table, rows: dict[str, dict[int, list[int]]]) -> None:
    for name, of_name in rows.items():
        longest = max(map(len, of_name.values()))
        for numbers in of_name.values():
            if len(numbers) < longest:
                table.refuse(
                    f"{name} has {longest} epochs at another batch",
                    "Give as many epochs at every batch",
                    row=numbers[-1],
                    column="epoch",
                )
