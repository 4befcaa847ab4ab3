"""Profiles as users name them: the built-in `a100` and `t4`, a file, or the reference's directory of files.

Our format is long, one measurement per line, so that a gap needs no placeholder:
`model,global_batch,slots,steps_per_second`. The reference has one wide file per model, named after it:
`global_batch_size,1,2,4,...`.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tenuto.errors import InputInvalid, Place
from tenuto.model.curve import Curve, Profiles
from tenuto.sim.table import Table, parse_table, read_text, require_columns
from tenuto.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

BUILT_IN = ("a100", "t4")

OURS = ("model", "global_batch", "slots", "steps_per_second")
WIDE_BATCH = "global_batch_size"

# How the reference's files say that a model cannot run at a size, or was not measured there.
NOT_RUNNABLE = ("", "nan")


class _Cell(NamedTuple):
    """One measurement and where it stands."""

    model: str
    batch: int
    slots: int
    rate: float
    place: Place


def load_profiles(text: str) -> Profiles:
    """Find the profiles that a user means."""
    if text.lower() in BUILT_IN:
        name = text.lower()
        return _profiles(name, Path(str(resources.files("tenuto"))) / "data" / "profiles" / f"{name}.csv")
    path = Path(text)
    if path.exists() or path.suffix == ".csv" or path.name != text:
        return _profiles(path.stem, path)
    raise InputInvalid(
        f"{text!r} names no profiles, no file and no directory",
        remedy=f"{did_you_mean(text.lower(), BUILT_IN)}Known are {' and '.join(BUILT_IN)}; "
        "or give a CSV file, or a directory of them",
    )


def _profiles(name: str, path: Path) -> Profiles:
    tables = [parse_table(read_text(file), str(file)) for file in _files(path)]
    rates: dict[tuple[str, int], dict[int, float]] = {}
    seen: dict[tuple[str, int, int], Place] = {}
    for cell in (cell for table in tables for cell in _cells(table)):
        where = seen.setdefault((cell.model, cell.batch, cell.slots), cell.place)
        if where is not cell.place:
            raise InputInvalid(
                f"{cell.model} at batch {cell.batch} on {cell.slots} slots was already given in {where}",
                remedy="Keep one of the two",
                place=cell.place,
            )
        if cell.rate > 0:
            rates.setdefault((cell.model, cell.batch), {})[cell.slots] = cell.rate
    source = " ".join(comment for table in tables for comment in table.comments)
    return Profiles(name, source or str(path), {key: Curve(rate) for key, rate in rates.items()})


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(path.glob("*.csv"))
    if not files:
        raise InputInvalid(
            "the directory holds no CSV file",
            remedy="Put one file per model there, named after the model",
            place=Place(str(path)),
        )
    return files


def _cells(table: Table) -> Iterator[_Cell]:
    return _wide_cells(table) if table.has(WIDE_BATCH) else _long_cells(table)


def _long_cells(table: Table) -> Iterator[_Cell]:
    require_columns(table, OURS, f"Write {','.join(OURS)}, or the reference's {WIDE_BATCH},1,2,4,...")
    model_column, batch_column, slots_column, rate_column = OURS
    models = table.column(model_column)
    batches = table.whole_numbers(batch_column).tolist()
    sizes = table.whole_numbers(slots_column).tolist()
    for row, cell in enumerate(table.column(rate_column)):
        if not models[row]:
            table.refuse("the model has no name", "Write the model's name", row=row, column=model_column)
        place = Place(table.file, table.lines[row], rate_column)
        yield _Cell(models[row], batches[row], sizes[row], _rate(table, row, rate_column, cell), place)


def _wide_cells(table: Table) -> Iterator[_Cell]:
    model = Path(table.file).stem
    sizes = [column for column in table.header if column != WIDE_BATCH]
    for size in sizes:
        if not (size.isascii() and size.isdigit() and int(size) >= 1):
            table.refuse(
                f"{size!r} is not a number of slots", f"Write {WIDE_BATCH},1,2,4,...", column=size or None
            )
    batches = table.whole_numbers(WIDE_BATCH).tolist()
    for size in sizes:
        for row, cell in enumerate(table.column(size)):
            place = Place(table.file, table.lines[row], size)
            yield _Cell(model, batches[row], int(size), _rate(table, row, size, cell), place)


def _rate(table: Table, row: int, column: str, cell: str) -> float:
    if cell.lower() in NOT_RUNNABLE:
        return 0.0
    rate = table.number(row, column, cell)
    if rate < 0:
        table.refuse(
            f"{cell!r} steps per second is negative",
            "Write a speed above 0, or leave the cell empty if the model cannot run there",
            row=row,
            column=column,
        )
    return rate
