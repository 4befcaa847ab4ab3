"""Curves that runs have left behind, by what was run: reused by later jobs of the same kind, refined by every one.

A curve belongs to the name of its profile, or else to command, model and global batch; and to the kind of device. Each
stretch of steps at one size adds one rate; what counts is the median of the newest ones, so that neither an old
version of the code nor one bad hour weighs for long.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from tenuto.model.curve import is_usable_rate
from tenuto.model.job import JobSpec

CURVES = "curves"
"""The store's name for them."""
MOST_CURVES = 300
"""The ones that were refined longest ago are forgotten."""
MOST_SIZES = 64
KEPT_RATES = 15

Paces = Mapping[str, Mapping[str, float]]
"""Steps and seconds of a job that is being measured, by size, as its records tell them."""
Stored = Mapping[str, Mapping[str, Any]]
"""As JSON has it: key -> {name, kind, at, sizes: {size: {count, rates}}}."""


@dataclass(frozen=True, slots=True)
class Known:
    """A stored curve that fits a job."""

    curve: Mapping[int, float]
    source: str
    """Where it comes from, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Steps that were done at one size."""

    size: int
    rate: float
    """Steps per second."""
    at: float


@dataclass(frozen=True, slots=True)
class SizeKnown:
    """What is known about one size."""

    rate: float
    spread: float
    """Between the fastest and the slowest of the newest rates, relative to the median."""
    count: int
    """Stretches that were ever measured."""


def paces_key(job: str) -> str:
    """The store's name for the paces of a job: the server writes them, the controller reads them."""
    return f"paces/{job}"


def key_of(spec: JobSpec, kind: str) -> str:
    """The same for jobs that are as fast as each other on devices of a kind."""
    what: list[Any]
    if spec.profile:
        what = ["profile", spec.profile]
    else:
        model = spec.params.get("model")
        what = ["run", list(spec.run), spec.workdir, spec.environment, str(model), spec.global_batch]
    text = json.dumps([*what, bool(spec.epochs), kind], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def refined(stored: Stored, spec: JobSpec, kind: str, stretches: Iterable[Stretch]) -> dict[str, Any]:
    """The stored curves with what a run has shown."""
    key = key_of(spec, kind)
    entry = stored.get(key, {})
    sizes: dict[str, Any] = dict(entry.get("sizes", {}))
    at = float(entry.get("at", 0.0))
    for stretch in stretches:
        if not is_usable_rate(stretch.rate) or stretch.size <= 0:
            continue
        known = sizes.get(str(stretch.size), {"count": 0, "rates": []})
        rates = [*known["rates"], float(f"{stretch.rate:.6g}")][-KEPT_RATES:]
        sizes[str(stretch.size)] = {"count": known["count"] + 1, "rates": rates}
        at = max(at, stretch.at)
    if not sizes or len(sizes) > MOST_SIZES:
        return dict(stored)
    others = [(name, other) for name, other in stored.items() if name != key]
    newest = sorted(others, key=lambda item: item[1]["at"])[-(MOST_CURVES - 1) :]
    name = spec.profile or spec.name
    return {**dict(newest), key: {"name": name, "kind": kind, "at": at, "sizes": sizes}}


def sizes_known(entry: Mapping[str, Any]) -> dict[int, SizeKnown]:
    """What an entry knows, by size."""
    found = {}
    for size, known in sorted(entry["sizes"].items(), key=lambda item: int(item[0])):
        middle = median(known["rates"])
        spread = (max(known["rates"]) - min(known["rates"])) / middle
        found[int(size)] = SizeKnown(middle, spread, known["count"])
    return found


def known_curve(
    stored: Stored, spec: JobSpec, kinds: Collection[str], needed: Collection[int]
) -> Known | None:
    """The curve that earlier runs left for such a job; None if they did not visit all the needed sizes.

    Where the job may come to devices of several kinds, the slowest counts.
    """
    entries = [stored[key] for kind in sorted(kinds) if (key := key_of(spec, kind)) in stored]
    if not entries or len(entries) < len(set(kinds)):
        return None
    known = [sizes_known(entry) for entry in entries]
    common = set.intersection(*(set(one) for one in known))
    if not needed or not common >= set(needed):
        return None
    curve = {size: min(one[size].rate for one in known) for size in sorted(common)}
    count = sum(one[size].count for one in known for size in common)
    return Known(curve, f"measured by earlier runs of {entries[0]['name']} ({count} stretches)")
