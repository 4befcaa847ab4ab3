"""What is measured over time, and its values at some moments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

NODE, JOB, CLUSTER = "node", "job", "cluster"
_DAY = 86_400.0
_STEPS = (
    0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200,
)  # fmt: skip
"""Seconds between two points that people are used to."""


def step_of(least: float) -> float:
    """The shortest usual step that is not below this; whole days beyond them."""
    return next((float(step) for step in _STEPS if step >= least), -(-least // _DAY) * _DAY)


@dataclass(frozen=True, slots=True, order=True)
class Subject:
    """What is measured. Its values are always told together.

    ("node", NAME, "")            cpu load ram_used ram_total swap_used swap_total
    ("node", NAME, "cores")       0 1 2 …
    ("node", NAME, "gpu:0")       utilisation memory_used memory_total power power_limit temperature fan
    ("node", NAME, "net:eth0")    received sent
    ("node", NAME, "disk:/")      used total read written
    ("job", ID, "")               step samples samples_per_second workers generation
    ("job", ID, "values")         the scalars that its first worker reports, under their names
    ("job", ID, "worker:1.worker.0")  step seconds (of one) samples_per_second, and its scalars as `values.NAME`
    ("job", ID, "node:NAME")      samples_per_second workers
    ("job", ID, "rescale")        warm_up_ms agree_ms form_ms transfer_ms first_step_ms pause_ms before
                                  after moved_bytes
    ("cluster", "", "")           slots slots_used nodes nodes_online queue …
    """

    kind: str
    name: str = ""
    part: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """Some moments of one subject: `values[name][i]` is its value at `at[i]`; None or NaN is unknown."""

    subject: Subject
    at: Sequence[float]
    values: Mapping[str, Sequence[float | None]]
