"""Two results side by side: which numbers differ, and which deadlines only one of them met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from tenuto.errors import InputInvalid, Place
from tenuto.lab.cell import Cell
from tenuto.lab.folder import read_contents
from tenuto.lab.report import NUMBERS
from tenuto.lab.results import Jobs, Result, load_result


@dataclass(frozen=True, slots=True)
class JobPair:
    """A job of both results whose fate differs."""

    job_id: str
    met: tuple[bool, bool]
    admitted: tuple[bool, bool]
    finished: tuple[float | None, float | None]


@dataclass(frozen=True)
class Comparison:
    """What differs between two results."""

    first: Result
    second: Result
    numbers: dict[str, tuple[Any, Any]]
    """Those of the summary, whether they differ or not."""
    only_first: tuple[str, ...]
    """Jobs whose deadline only the first one met."""
    only_second: tuple[str, ...]
    jobs: tuple[JobPair, ...]
    """All jobs of both that were met, admitted or finished differently."""
    strangers: int
    """Jobs that only one of the results has."""


def results_at(path: Path) -> tuple[Result, ...]:
    """One result if the path is that of a cell, else those of an experiment."""
    result = load_result(path)
    if result is not None:
        return (result,)
    if not path.is_dir():
        raise InputInvalid(
            "there is no such directory",
            remedy="Name the directory of a cell or of an experiment",
            place=Place(str(path)),
        )
    return read_contents(path).results


def compare(first: Result, second: Result) -> Comparison:
    """Put two results side by side, job by job."""
    one, other = asdict(first.summary), asdict(second.summary)
    pairs, strangers = _pairs(first.jobs(), second.jobs())
    return Comparison(
        first=first,
        second=second,
        numbers={name: (one[name], other[name]) for name in NUMBERS},
        only_first=tuple(pair.job_id for pair in pairs if pair.met == (True, False)),
        only_second=tuple(pair.job_id for pair in pairs if pair.met == (False, True)),
        jobs=tuple(pairs),
        strangers=strangers,
    )


def partners(firsts: Sequence[Result], seconds: Sequence[Result]) -> list[tuple[Result, Result]]:
    """The cells of two experiments that have the same trace, policy, cluster and parameters."""
    if len(firsts) == len(seconds) == 1:
        return [(firsts[0], seconds[0])]
    by_kind = {_kind(result): result for result in seconds}
    return [(result, by_kind[_kind(result)]) for result in firsts if _kind(result) in by_kind]


def _kind(result: Result) -> tuple[Any, ...]:
    cell = {field.name: getattr(result.cell, field.name) for field in fields(Cell)}
    cell |= {name: Path(cell[name]).stem for name in ("profiles", "overhead")}
    cell |= {
        "trace": result.summary.trace,
        "cluster": result.summary.cluster,
        "policy": result.summary.policy,
    }
    return tuple(cell.values())


def _pairs(first: Jobs, second: Jobs) -> tuple[list[JobPair], int]:
    place = {job: row for row, job in enumerate(second.ids)}
    pairs = []
    common = 0
    for row, job in enumerate(first.ids):
        other = place.get(job)
        if other is None:
            continue
        common += 1
        pair = JobPair(
            job,
            (bool(first.met[row]), bool(second.met[other])),
            (bool(first.admitted[row]), bool(second.admitted[other])),
            (_time(first.finished[row]), _time(second.finished[other])),
        )
        if any(one != another for one, another in (pair.met, pair.admitted, pair.finished)):
            pairs.append(pair)
    return pairs, len(first) + len(second) - 2 * common


def _time(value: np.float64) -> float | None:
    return None if np.isnan(value) else float(value)
