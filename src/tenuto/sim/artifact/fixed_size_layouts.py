"""Where the reference puts running jobs of fixed sizes: packed afresh at every event, the largest first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tenuto.model.columns import Ints, frozen
from tenuto.sim.artifact import state
from tenuto.sim.artifact.limits import column_limits
from tenuto.sim.artifact.queues import sort_by_size
from tenuto.sim.artifact.ranks import Groups, groups_of, place_by_size, release_jobs, write_layout
from tenuto.sim.workload import Workload


@dataclass(slots=True)
class Layouts:
    """The layouts of all events so far; equal neighbours are one column."""

    rules: state.Rules
    rows: state.Rows
    sizes: Ints
    """The GPUs that each job asks for."""
    queue: state.Queue
    spare: Ints
    groups: Groups
    position: Ints
    columns: list[Ints]

    def place(self, chosen: Ints) -> None:
        """Place the jobs that run after one event."""
        release_jobs(self.rules, self.rows, self.queue, self.groups, 0.0)
        self.rows["gpus"][self.queue.jobs[: self.queue.size[0]]] = 0
        self.queue.jobs[: len(chosen)] = chosen
        self.queue.size[0] = len(chosen)
        self.rows["gpus"][chosen] = self.sizes[chosen]
        sort_by_size(self.queue, self.rows, self.spare)
        place_by_size(self.rules, self.rows, self.queue, self.groups)
        cells = np.full(self.rules.total, -1, dtype=np.int64)
        write_layout(self.rules, self.rows, self.queue, self.groups, cells)
        cells = np.where(cells >= 0, self.position[cells], -1)
        same = bool(self.columns) and np.array_equal(self.columns[-1], cells)
        self.columns.append(self.columns[-1] if same else frozen(cells))


def layouts_of(workload: Workload, rules: state.Rules) -> Layouts:
    """Begin with an empty cluster."""
    jobs = len(workload.trace)
    return Layouts(
        rules=rules,
        rows=state.rows_of(workload, column_limits(workload)),
        sizes=workload.trace.requested,
        queue=state.queue_for(jobs),
        spare=np.zeros(jobs, dtype=np.int64),
        groups=groups_of(workload.cluster),
        position=workload.trace.position,
        columns=[],
    )
