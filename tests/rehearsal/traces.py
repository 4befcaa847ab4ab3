"""Workloads for rehearsals: jobs of the bundled trace, on clusters that are too small for all of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tenuto.model.columns import frozen
from tenuto.sim.library import find_trace
from tenuto.sim.read_cluster import load_cluster
from tenuto.sim.read_profiles import load_profiles
from tenuto.sim.read_trace import read_trace
from tenuto.sim.trace import Trace, in_order_of_submission
from tenuto.sim.workload import Workload, resolve


def a_workload_of(count: int, cluster: str, trace: str = "lab-200") -> Workload:
    """The first jobs of a trace that fit on a cluster. Their curves know larger sizes than it has."""
    site, whole = load_cluster(cluster), read_trace(find_trace(trace))
    rows = np.flatnonzero(whole.requested <= site.total)[:count]
    return resolve(_picked(whole, rows.tolist()), load_profiles("a100"), site)


def _picked(trace: Trace, rows: list[int]) -> Trace:
    columns = ("batch", "submitted", "steps", "deadline", "best_effort", "requested", "duration", "line")
    few = replace(
        trace,
        ids=tuple(trace.ids[row] for row in rows),
        models=tuple(trace.models[row] for row in rows),
        position=frozen(np.arange(len(rows), dtype=np.int64)),
        **{name: getattr(trace, name)[rows] for name in columns},
    )
    return in_order_of_submission(few)
