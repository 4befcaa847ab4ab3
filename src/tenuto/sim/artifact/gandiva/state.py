"""Gandiva's floor: jobs, node sets, and a list of sets for every size of jobs.

Nodes of a set, jobs of a set and idle nodes are chains: each element knows the next one. A set is known by its
first node, so there are never more sets than nodes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tenuto.model.columns import Ints
from tenuto.sim.artifact.fixed_size import speeds
from tenuto.sim.artifact.levels import LEVELS
from tenuto.sim.artifact.overhead import costs_of
from tenuto.sim.artifact.state import Rules
from tenuto.sim.workload import Workload

NONE = -1
"""The end of a chain."""

JOB = np.dtype(
    [
        ("kind", np.int64),  # its level
        ("duration", np.float64),
        ("price", np.float64, (2,)),  # overhead on an ordinary and on a restart round
        ("speedup", np.float64),
        ("executed", np.float64),
        ("overhead", np.float64),  # seconds to be lost before more is executed
        ("delayed", np.bool_),  # found no room when it arrived
        ("next", np.int64),  # job behind it in its set
        ("set", np.int64),  # where it held GPUs after the previous visit
        ("started", np.float64),
        ("finished", np.float64),
        ("changes", np.int64),
        ("preempted", np.int64),
    ],
    align=True,
)
SET = np.dtype(
    [
        ("last_node", np.int64),
        ("first_job", np.int64),
        ("last_job", np.int64),
        ("jobs", np.int64),
        ("used", np.int64),  # jobs that were put there, even those that have ended since (Q12)
    ],
    align=True,
)
KIND = np.dtype(
    [
        ("gpus", np.int64),
        ("nodes", np.int64),  # of each set
        ("capacity", np.int64),  # jobs of a set that run at a time
        ("sets", np.int64),
        ("demand", np.int64),  # GPUs that all jobs of this size want
        ("occupied", np.int64),  # GPUs that they have
    ],
    align=True,
)
TALLY = np.dtype(
    [
        ("first_idle", np.int64),
        ("last_idle", np.int64),
        ("idle", np.int64),
        ("per_node", np.int64),
        ("total", np.int64),  # GPUs of the cluster
        ("arrived", np.int64),
        ("pending", np.int64),
        ("ended", np.int64),
    ],
    align=True,
)


class Floor(NamedTuple):
    """Everything that a visit works on."""

    jobs: NDArray[np.void]
    sets: NDArray[np.void]
    """By first node."""
    kinds: NDArray[np.void]
    """One row per size."""
    lists: Ints
    """For each size its sets in order."""
    next_node: Ints
    pending: Ints
    """Jobs that found no room."""
    tally: NDArray[np.void]
    """One row of counts."""


def floor_of(workload: Workload, rules: Rules) -> Floor:
    """Set up an idle cluster and jobs of the future."""
    nodes = len(workload.cluster.slots)
    kinds = np.zeros(LEVELS, dtype=KIND)
    kinds["gpus"] = 1 << np.arange(LEVELS)
    kinds["nodes"] = -(-kinds["gpus"] // rules.per_node)
    kinds["capacity"] = kinds["nodes"] * rules.per_node // kinds["gpus"]
    tally = np.zeros(1, dtype=TALLY)
    tally["last_idle"] = nodes - 1
    tally["idle"] = nodes
    tally["per_node"] = rules.per_node
    tally["total"] = rules.total
    return Floor(
        jobs=_jobs_of(workload, rules),
        sets=np.zeros(nodes, dtype=SET),
        kinds=kinds,
        lists=np.zeros((LEVELS, nodes), dtype=np.int64),
        next_node=np.append(np.arange(1, nodes), NONE),
        pending=np.zeros(len(workload.trace), dtype=np.int64),
        tally=tally,
    )


def _jobs_of(workload: Workload, rules: Rules) -> NDArray[np.void]:
    trace = workload.trace
    speed, alone = speeds(workload)
    jobs: NDArray[np.void] = np.zeros(len(trace), dtype=JOB)
    jobs["kind"] = np.log2(trace.requested)
    jobs["duration"] = trace.duration
    jobs["price"] = costs_of(rules.total).fresh[:, jobs["kind"]].T
    jobs["speedup"] = speed / alone
    jobs["next"] = NONE
    jobs["set"] = NONE
    jobs["started"] = np.nan
    jobs["finished"] = np.nan
    return jobs
