"""One job, a profile of free capacity, and both planners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tenuto.sim.artifact.ask import Ask, Sketch, ask_for
from tenuto.sim.artifact.capacity import Capacity
from tenuto.sim.artifact.elastic_plan import Desk, Stretch, desk_for, plan_jobs
from tenuto.sim.artifact.in_full import plan_growth, plan_in_full
from tenuto.sim.artifact.plans import Plans, plans_for, record
from tenuto.sim.artifact.queues import append
from tenuto.sim.artifact.sheet import Sheet, copy_in, copy_out
from tenuto.sim.artifact.state import JOB, NEVER, Rows, Rules, queue_for

RESNET50_128 = (
    3.6553729658054332,
    6.619528678370847,
    11.224201427896464,
    16.53414011075494,
    20.15564728008105,
    20.291015806510305,
    21.070922780581487,
)


@dataclass(frozen=True)
class Job:
    """A job to be planned at time 0."""

    left: float
    deadline: float = NEVER
    limit: int = 6
    rate: tuple[float, ...] = RESNET50_128


class Planned(NamedTuple):
    """A plan and what it leaves."""

    shares: dict[int, int]
    real_end: float
    end: float
    free: dict[int, int]


@dataclass
class Table:
    """Where one job is planned."""

    rules: Rules
    rows: Rows
    desk: Desk
    plans: Plans

    def ask(self) -> Ask:
        return ask_for(self.rules, self.rows, 0, 0.0)

    def planned(self) -> Planned:
        """Plan as a replay does."""
        queue = queue_for(1)
        append(queue, 0)
        self.plans, _ = plan_jobs(
            self.rules, self.rows, queue, Stretch(0, 1, False), self.desk, self.plans, 0.0
        )
        return self._read(float(self.rows[0]["real_end"]), float(self.rows[0]["end"]))

    def planned_in_full(self) -> Planned:
        """Plan on a sheet, whatever the deadline is."""
        sheet = self._sheet()
        return self._written(sheet, plan_in_full(sheet, self.ask()))

    def grown(self, level: int) -> Planned:
        """Plan with a level that is given at once."""
        sheet = self._sheet()
        return self._written(sheet, plan_growth(sheet, self.ask(), level))

    def _sheet(self) -> Sheet:
        copy_out(self.desk.capacity, self.desk.sheet)
        return self.desk.sheet

    def _written(self, sheet: Sheet, sketch: Sketch) -> Planned:
        self.plans = record(self.plans, self.rows, 0, sheet.steps, sketch.steps)
        copy_in(sheet, sketch.end, self.desk.capacity)
        return self._read(sketch.real_end, sketch.end)

    def _read(self, real_end: float, end: float) -> Planned:
        row, capacity = self.rows[0], self.desk.capacity
        own = self.plans.steps[row["plan"] : row["plan_end"]]
        left = capacity.steps[: capacity.size[0]]
        return Planned(
            dict(zip(own["time"].astype(int).tolist(), own["gpus"].tolist(), strict=True)),
            real_end,
            end,
            dict(zip(left["time"].astype(int).tolist(), left["free"].tolist(), strict=True)),
        )


def a_table(job: Job, free: Mapping[int, int], *, total: int, slot: float = 60.0) -> Table:
    """Lay out a job and the free capacity from time 0 on."""
    rows: Rows = np.zeros(1, dtype=JOB)
    rows["deadline"], rows["left"], rows["limit"], rows["rate"] = job.deadline, job.left, job.limit, job.rate
    table = Table(Rules(total, 8, slot, True), rows, desk_for(40, total), plans_for(1))
    fill(table.desk.capacity, free)
    return table


def fill(capacity: Capacity, free: Mapping[int, int]) -> None:
    """Set a profile."""
    capacity.steps["time"][: len(free)] = list(free)
    capacity.steps["free"][: len(free)] = list(free.values())
    capacity.size[0] = len(free)
