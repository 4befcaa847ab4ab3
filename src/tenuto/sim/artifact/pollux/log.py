"""The log of Pollux' rounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tenuto.model.columns import Ints, frozen
from tenuto.sim.artifact.pollux.jobs import Job
from tenuto.sim.outcome import Events
from tenuto.sim.workload import Workload


class Log:
    """One row for each round."""

    def __init__(self, workload: Workload, *, layouts: bool) -> None:
        self._workload = workload
        self._rows: list[tuple[float, float, int, int, int]] = []
        self._layouts: list[Ints] | None = [] if layouts else None

    def note(self, now: float, placed: Sequence[Job]) -> None:
        """Write down a round's allocations."""
        cluster = self._workload.cluster
        running = [job for job in placed if job.replicas]
        speed = sum(job.training.speedup(job.placement) for job in running)
        busy = sum(job.replicas for job in running)
        self._rows.append((now, speed / cluster.total, busy, len(running), len(placed) - len(running)))
        if self._layouts is not None:
            self._layouts.append(self._layout(running))

    def _layout(self, running: Sequence[Job]) -> Ints:
        """Fill each node from its first slot on."""
        cluster = self._workload.cluster
        layout = np.full(cluster.total, -1, dtype=np.int64)
        free = cluster.first_slot[:-1].copy()
        for job in running:
            for node in np.flatnonzero(job.allocation).tolist():
                count = int(job.allocation[node])
                layout[free[node] : free[node] + count] = self._workload.trace.position[job.number]
                free[node] += count
        return frozen(layout)

    def events(self) -> Events:
        """All rounds, in columns."""
        time, efficiency, busy, running, waiting = zip(*self._rows, strict=True)
        return Events(
            time=frozen(np.array(time)),
            efficiency=frozen(np.array(efficiency)),
            busy=frozen(np.array(busy, dtype=np.int64)),
            running=frozen(np.array(running, dtype=np.int64)),
            waiting=frozen(np.array(waiting, dtype=np.int64)),
            layouts=None if self._layouts is None else tuple(self._layouts),
        )
