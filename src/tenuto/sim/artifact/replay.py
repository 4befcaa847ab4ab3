"""Replay a workload as the reference simulator would, with its own loops, clock and quirks."""

from __future__ import annotations

import enum
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from tenuto.errors import InputInvalid
from tenuto.model.columns import Ints, frozen
from tenuto.sim.artifact.edf_loop import handle_edf, handle_edf_admission
from tenuto.sim.artifact.elasticflow_loop import handle_elasticflow
from tenuto.sim.artifact.limits import column_limits, elasticflow_limits
from tenuto.sim.artifact.no_admission_loop import handle_no_admission
from tenuto.sim.artifact.state import DECLINED, rules_for
from tenuto.sim.artifact.world import Entry, World, world_of
from tenuto.sim.outcome import Events, Outcome
from tenuto.sim.workload import Workload


class Revision(enum.Enum):
    """Which state of the reference is meant."""

    HEAD = "head"
    R2022 = "2022-12"


@dataclass(frozen=True, slots=True)
class Policy:
    """One of the reference's policies."""

    reference_name: str
    handle: Callable[[World], None]
    limits: Callable[[Workload], Ints]


POLICIES: Mapping[str, Policy] = MappingProxyType(
    {
        "elasticflow": Policy("ef-accessctrl", handle_elasticflow, elasticflow_limits),
        "elasticflow-no-admission": Policy("ef", handle_no_admission, elasticflow_limits),
        "edf": Policy("edf", handle_edf, column_limits),
        "edf-admission": Policy("edf-accessctrl", handle_edf_admission, column_limits),
    }
)

_REPORTS = 200
"""How often progress is reported at most."""


def replay(
    workload: Workload,
    policy: str,
    *,
    slot: float,
    revision: Revision,
    layouts: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Outcome:
    """Replay a workload under one of the policies; `progress` is told how many of all jobs are done."""
    if policy not in POLICIES:
        raise InputInvalid(
            f"the reference's {policy!r} is not reproduced", remedy=f"Choose one of {', '.join(POLICIES)}"
        )
    chosen = POLICIES[policy]
    rules = rules_for(workload.cluster, slot, refresh=revision is Revision.HEAD)
    world = world_of(workload, chosen.limits(workload), rules, layouts=layouts)
    jobs = len(workload.trace)
    reported = 0
    begin = time.process_time()
    while world.now < np.inf:
        chosen.handle(world)
        if progress is not None and (world.done - reported) * _REPORTS >= jobs:
            progress(world.done, jobs)
            reported = world.done
    return _outcome(workload, world, time.process_time() - begin)


def _outcome(workload: Workload, world: World, cpu_s: float) -> Outcome:
    rows = world.rows
    declined = rows["phase"] == DECLINED
    return Outcome(
        admitted=frozen(~declined),
        started=frozen(rows["started"].copy()),
        finished=frozen(rows["finished"].copy()),
        met=frozen(rows["met"].copy()),
        promised=frozen(np.where(declined, np.nan, rows["promised"])),
        last_size=frozen(rows["last_size"].copy()),
        changes=frozen(rows["changes"].copy()),
        preempted=frozen(rows["preempted"].copy()),
        reason=tuple("deadline_infeasible" if refused else "" for refused in declined.tolist()),
        events=_events(world.log, workload.trace.position),
        cpu_s=cpu_s,
    )


def _events(log: list[Entry], position: Ints) -> Events:
    layouts = None
    if log and log[0].layout is not None:
        layouts = tuple(
            frozen(np.where(entry.layout >= 0, position[entry.layout], -1))
            for entry in log
            if entry.layout is not None
        )
    return Events(
        time=frozen(np.array([entry.time for entry in log])),
        efficiency=frozen(np.array([entry.efficiency for entry in log])),
        busy=frozen(np.array([entry.busy for entry in log], dtype=np.int64)),
        running=frozen(np.array([entry.running for entry in log], dtype=np.int64)),
        waiting=frozen(np.array([entry.waiting for entry in log], dtype=np.int64)),
        layouts=layouts,
    )
