"""Replay a workload as the reference simulator would, with its own loops, clock and quirks."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tenuto.model.columns import Ints
from tenuto.sim.artifact.edf_loop import run_edf, run_edf_admission
from tenuto.sim.artifact.elasticflow_loop import run_elasticflow
from tenuto.sim.artifact.limits import column_limits, elasticflow_limits
from tenuto.sim.artifact.no_admission_loop import run_without_admission
from tenuto.sim.artifact.world import World
from tenuto.sim.workload import Workload


class Revision(enum.Enum):
    """Which state of the reference is meant."""

    HEAD = "head"
    R2022 = "2022-12"


@dataclass(frozen=True)
class Policy:
    run: Callable[[World, int], None]
    limits: Callable[[Workload], Ints]


POLICIES: Mapping[str, Policy] = MappingProxyType(
    {
        "elasticflow": Policy(run_elasticflow, elasticflow_limits),
        "elasticflow-no-admission": Policy(run_without_admission, elasticflow_limits),
        "edf": Policy(run_edf, column_limits),
        "edf-admission": Policy(run_edf_admission, column_limits),
    }
)
