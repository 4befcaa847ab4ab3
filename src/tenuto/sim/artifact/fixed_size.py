"""What the reference's policies with fixed sizes take from a workload: one size per job, and its speed there."""

from __future__ import annotations

import numpy as np

from tenuto.errors import InputInvalid, Place
from tenuto.model.columns import Floats
from tenuto.sim.artifact.levels import LEVELS
from tenuto.sim.artifact.limits import rates_by_level
from tenuto.sim.workload import Workload

ENTRY = np.dtype(
    [
        ("time", np.float64),
        ("efficiency", np.float64),
        ("busy", np.int64),
        ("running", np.int64),
        ("waiting", np.int64),
    ]
)
"""A row of the log."""


def speeds(workload: Workload) -> tuple[Floats, Floats]:
    """Give each job's iterations per second on the GPUs that it asks for, and on one."""
    trace, rate = workload.trace, rates_by_level(workload)
    level = np.log2(trace.requested)
    for job in np.flatnonzero((level != np.floor(level)) | (level >= LEVELS)).tolist():
        raise InputInvalid(
            f"the job asks for {int(trace.requested[job])} slots",
            remedy="The reference knows 1, 2, 4, ... 64 only: change num_gpu, or replay without --compat",
            place=Place(trace.source, int(trace.line[job]), "num_gpu"),
        )
    for job in np.flatnonzero(rate[:, 0] == 0).tolist():
        raise InputInvalid(
            f"{trace.models[job]} was not measured on 1 slot, which the reference compares speeds with",
            remedy="Add the column 1 to its profile, or replay without --compat",
            place=Place(trace.source, int(trace.line[job]), "model_name"),
        )
    return rate[np.arange(len(trace)), level.astype(np.int64)], rate[:, 0]
