"""Load or compile every kernel before the clock of a replay starts."""

from __future__ import annotations

import numpy as np

from tenuto.model.cluster import Cluster
from tenuto.model.columns import frozen
from tenuto.model.curve import Curve, Profiles
from tenuto.sim.artifact.order import Revision
from tenuto.sim.artifact.replay import replay
from tenuto.sim.trace import Trace
from tenuto.sim.workload import resolve


def warm_up(policy: str) -> None:
    """Replay a small workload under a policy, so that every kernel is called once."""
    curve = Curve({1: 1.0, 2: 1.5})
    curves = {("toy", 32): curve, ("ncf", 32768): curve}
    workload = resolve(_trace(), Profiles("warm-up", "warm-up", curves), _CLUSTER)
    replay(workload, policy, slot=60.0, revision=Revision.HEAD, layouts=True)


_CLUSTER = Cluster.regular("warm-up", nodes=2, slots=2)


def _trace() -> Trace:
    """Six jobs for four GPUs: they arrive together and apart, in time and late, with and without deadline.

    The last one has time enough to be promised something even where estimates are generous, and is an application
    that Pollux knows by measurements.
    """
    submitted = np.array([0.0, 0.0, 10.0, 400.0, 400.0, 900.0])
    patience = np.array([1000.0, 1000.0, 1000.0, 1000.0, np.inf, 4000.0])
    count = len(submitted)
    return Trace(
        name="warm-up",
        source="warm-up",
        ids=tuple(map(str, range(count))),
        models=("toy",) * 5 + ("ncf",),
        batch=frozen(np.array([32] * 5 + [32768])),
        submitted=frozen(submitted),
        steps=frozen(np.array([900.0, 900.0, 900.0, 900.0, 300.0, 1548.0])),
        deadline=frozen(submitted + patience),
        best_effort=frozen(patience == np.inf),
        requested=frozen(np.ones(count, dtype=np.int64)),
        duration=frozen(np.full(count, 900.0)),
        position=frozen(np.arange(count)),
        line=frozen(np.arange(count) + 2),
    )
