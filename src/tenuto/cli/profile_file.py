"""The files that `tenuto profile` writes: measurements in our profile format, and beside them what measuring took."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenuto.errors import InputInvalid, Place
from tenuto.sim.read_profiles import OURS, load_profiles
from tenuto.sim.whole_file import whole_file


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One measurement."""

    batch: int
    """The global batch; 1 if the job names none."""
    workers: int
    rate: float
    """Steps per second."""
    seconds: float
    """Of training that it rests on."""
    spent: float
    """Seconds it took in all: waiting for workers, starting, training."""


def check_profile(path: Path) -> None:
    """Refuse a file that is there and is no profile, before anything is measured."""
    if path.is_dir() or not path.parent.is_dir():
        raise InputInvalid(
            "this is no place for a file",
            remedy="Name a file in a directory that exists",
            place=Place(str(path)),
        )
    if path.exists():
        _known(path)


def write_profile(path: Path, model: str, points: Sequence[Point]) -> None:
    """Write or update a profile: what was measured now takes the place of what stood there, all else stays."""
    known = _known(path) if path.exists() else {}
    known |= {(model, point.batch, point.workers): point.rate for point in points}
    comments = _comments(path) or ["# Measured by tenuto profile."]
    with whole_file(path) as stream:
        stream.writelines(f"{comment}\n" for comment in comments)
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(OURS)
        for (name, batch, slots), rate in sorted(known.items()):
            table.writerow([name, batch, slots, f"{rate:.6g}"])


def write_facts(path: Path, facts: dict[str, Any]) -> Path:
    """Write what measuring took beside the profile; returns where."""
    beside = path.with_suffix(".json")
    with whole_file(beside) as stream:
        stream.write(json.dumps(facts, indent=2, ensure_ascii=False) + "\n")
    return beside


def _known(path: Path) -> dict[tuple[str, int, int], float]:
    """What stands in a profile."""
    curves = load_profiles(str(path.absolute())).curves
    return {
        (model, batch, slots): rate
        for (model, batch), curve in curves.items()
        for slots, rate in curve.rate.items()
    }


def _comments(path: Path) -> list[str]:
    """The lines at the head of a profile that tell where it is from."""
    if not path.exists():
        return []
    return list(_until_other(path.read_text(encoding="utf-8").splitlines()))


def _until_other(lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        if not line.startswith("#"):
            return
        yield line
