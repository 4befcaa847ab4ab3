"""Traces that an experiment draws for itself."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenuto.lab.written import Written
from tenuto.sim.generate import GeneratorOptions, generate
from tenuto.sim.read_profiles import load_profiles
from tenuto.sim.trace import Trace
from tenuto.sim.write_trace import Form, write_trace

NUMBERS = ("interarrival", "min_tightness", "max_tightness", "best_effort")
COUNTS = ("jobs", "seed", "max_slots")
KEYS = ("name", *COUNTS, *NUMBERS, "profiles")
"""The options of `tenuto trace generate`, and a name."""
NEEDED = ("jobs", "interarrival")

# Where the options have other names than the command line's.
FIELDS = {"interarrival": "mean_interarrival", "best_effort": "best_effort_share"}


@dataclass(frozen=True, slots=True)
class Generated:
    """A trace that has been drawn, but not written yet."""

    name: str
    trace: Trace

    def write(self, directory: Path) -> Path:
        """Write the trace into a file of its name."""
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / f"{self.name}.csv"
        write_trace(self.trace, path, Form.TENUTO)
        return path


def read_generated(written: Written) -> list[Generated]:
    """Draw one trace for each combination of the listed values."""
    entries = written.mapping(KEYS)
    for needed in NEEDED:
        if needed not in entries:
            written.refuse(
                f"a generated trace needs {needed}", "Write generate: {jobs: 100, interarrival: 900}"
            )
    listed = [key for key, entry in entries.items() if len(entry.each()) > 1]
    combinations = itertools.product(*(entry.each() for entry in entries.values()))
    drawn = []
    for values in combinations:
        chosen = dict(zip(entries, values, strict=True))
        drawn.append(Generated(_name(chosen, listed), _drawn(written, chosen)))
    return drawn


def _drawn(written: Written, chosen: Mapping[str, Written]) -> Trace:
    options: dict[str, Any] = {
        FIELDS.get(key, key): value.whole() if key in COUNTS else value.number()
        for key, value in chosen.items()
        if key in COUNTS + NUMBERS
    }
    profiles = chosen["profiles"].text() if "profiles" in chosen else "a100"
    with written.blamed():
        return generate(GeneratorOptions(**options), load_profiles(profiles))


def _name(chosen: Mapping[str, Written], listed: list[str]) -> str:
    """The given name, or one after the number of jobs; and whatever differs between the entry's traces."""
    name = chosen["name"].text() if "name" in chosen else f"generated-{chosen['jobs'].text()}"
    return "-".join((name, *(f"{key}-{chosen[key].text()}" for key in listed if key not in ("name", "jobs"))))
