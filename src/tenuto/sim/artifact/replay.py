"""Replays with the reference's own loops, clock and quirks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from tenuto.errors import InputInvalid
from tenuto.sim.artifact.chronus import replay_chronus, replay_chronus_greedily
from tenuto.sim.artifact.edf_loop import handle_edf, handle_edf_admission
from tenuto.sim.artifact.elastic import elastic
from tenuto.sim.artifact.elasticflow_loop import handle_elasticflow
from tenuto.sim.artifact.gandiva import replay_gandiva
from tenuto.sim.artifact.limits import column_limits, elasticflow_limits
from tenuto.sim.artifact.no_admission_loop import handle_no_admission
from tenuto.sim.artifact.order import Order, Progress, Revision
from tenuto.sim.artifact.pollux import replay_pollux
from tenuto.sim.artifact.themis import replay_themis
from tenuto.sim.artifact.tiresias import replay_tiresias
from tenuto.sim.outcome import Outcome
from tenuto.sim.workload import Workload


@dataclass(frozen=True, slots=True)
class Policy:
    """One of the reference's policies."""

    reference_name: str
    replay: Callable[[Workload, Order], Outcome]


POLICIES: Mapping[str, Policy] = MappingProxyType(
    {
        "elasticflow": Policy("ef-accessctrl", elastic(handle_elasticflow, elasticflow_limits)),
        "elasticflow-no-admission": Policy("ef", elastic(handle_no_admission, elasticflow_limits)),
        "edf": Policy("edf", elastic(handle_edf, column_limits)),
        "edf-admission": Policy("edf-accessctrl", elastic(handle_edf_admission, column_limits)),
        "gandiva": Policy("gandiva", replay_gandiva),
        "tiresias": Policy("dlas-gpu", replay_tiresias),
        "themis": Policy("themis", replay_themis),
        "chronus": Policy("time-aware-with-lease", replay_chronus),
        "chronus-greedy": Policy("chronus", replay_chronus_greedily),
        "pollux": Policy("pollux", replay_pollux),
    }
)


def replay(
    workload: Workload,
    policy: str,
    *,
    slot: float,
    revision: Revision,
    layouts: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> Outcome:
    """Replay a workload under one of the policies; `progress` is told how many of all jobs are done."""
    if policy not in POLICIES:
        raise InputInvalid(
            f"the reference's {policy!r} is not reproduced", remedy=f"Choose one of {', '.join(POLICIES)}"
        )
    order = Order(slot=slot, revision=revision, layouts=layouts, seed=seed, progress=progress)
    begun = time.process_time()
    outcome = POLICIES[policy].replay(workload, order)
    return replace(outcome, cpu_s=time.process_time() - begun)
