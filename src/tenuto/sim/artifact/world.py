"""The world of one replay: its clock, its jobs and its log. The loops of the policies are written on it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tenuto.model.columns import Ints
from tenuto.sim.artifact.capacity import Capacity, capacity_for
from tenuto.sim.artifact.elastic_plan import Desk, desk_for
from tenuto.sim.artifact.events import arrivals, drop_due_alarms, next_event
from tenuto.sim.artifact.overhead import Costs, charge, costs_of
from tenuto.sim.artifact.plans import Plans, plans_for
from tenuto.sim.artifact.progress import end_jobs, work_off
from tenuto.sim.artifact.ranks import Groups, groups_of, release_jobs, write_layout
from tenuto.sim.artifact.state import Alarms, Queue, Roster, Rows, Rules, roster_for, rows_of
from tenuto.sim.artifact.survey import survey
from tenuto.sim.workload import Workload


@dataclass(frozen=True, slots=True)
class Entry:
    """One scheduling event in the log."""

    time: float
    efficiency: float
    busy: int
    running: int
    waiting: int
    layout: Ints | None


@dataclass(slots=True)
class World:
    """Everything that a policy's loop works on."""

    rules: Rules
    rows: Rows
    roster: Roster
    groups: Groups
    costs: Costs
    desk: Desk
    saved: Capacity
    """The free capacity before the first newcomer was planned."""
    plans: Plans
    now: float
    """Time of the present event; infinity when nothing is left to happen."""
    layouts: bool
    elapsed: float = 0.0
    """Whole seconds since the previous event."""
    reach: float = 0.0
    """Events up to this time were merged into the present one."""
    arrived: int = 0
    """Jobs whose submission was handled."""
    rounds: int = 0
    done: int = 0
    """Jobs that ended or were declined."""
    log: list[Entry] = field(default_factory=list)

    def settle(self, *, by_real_end: bool) -> None:
        """Let jobs do their work up to the present event."""
        work_off(self.rows, self.roster.queue, self.now, self.elapsed, by_real_end)
        drop_due_alarms(self.roster.alarms, self.reach)

    def release_and_end(self, *, by_real_end: bool, only_holding: bool) -> None:
        """Release all GPUs and end the jobs whose time has come."""
        release_jobs(self.rules, self.rows, self.roster.queue, self.groups, self.reach)
        self.done += end_jobs(self.rows, self.roster.queue, self.reach, by_real_end, only_holding)

    def newcomers(self) -> range:
        """Take the jobs that are submitted now."""
        first = self.arrived
        self.arrived = arrivals(self.rows, first, self.reach)
        return range(first, self.arrived)

    def write_log(self) -> None:
        """Log the present event."""
        efficiency, busy, running, waiting = survey(self.rules, self.rows, self.roster.queue)
        layout = None
        if self.layouts:
            layout = np.full(self.rules.total, -1, dtype=np.int64)
            write_layout(self.rules, self.rows, self.roster.queue, self.groups, layout)
        self.log.append(Entry(self.now, efficiency, busy, running, waiting, layout))

    def charge(self, payers: Queue) -> None:
        """Charge this round's overhead. All jobs restart after as many rounds as the slot has *seconds* (Q5)."""
        restart = self.rounds > 0 and self.rounds % self.rules.slot == 0
        self.rounds += 1
        charge(self.costs, self.rows, self.roster, payers, restart)

    def advance(self) -> None:
        """Move the clock to the next event."""
        when, self.reach = next_event(self.rows, self.roster, self.arrived, self.now, self.rules.slot)
        self.elapsed = float(int(when - self.now)) if when < np.inf else 0.0
        self.now = when

    def make_room_for_alarms(self) -> None:
        """Make sure that every job of the queue can set an alarm at this event."""
        alarms, needed = self.roster.alarms, self.roster.queue.size[0] + 1
        if alarms.size[0] + needed > len(alarms.time):
            longer = np.concatenate([alarms.time, np.zeros(len(alarms.time) + needed)])
            self.roster = self.roster._replace(alarms=Alarms(longer, alarms.size))


def world_of(workload: Workload, limits: Ints, rules: Rules, *, layouts: bool) -> World:
    """Set up a replay, with the clock at the first submission."""
    jobs, first = len(workload.trace), float(workload.trace.submitted[0])
    return World(
        rules=rules,
        rows=rows_of(workload, limits),
        roster=roster_for(jobs),
        groups=groups_of(workload.cluster),
        costs=costs_of(rules.total),
        desk=desk_for(jobs, rules.total),
        saved=capacity_for(jobs, rules.total),
        plans=plans_for(jobs),
        now=first,
        reach=first,
        layouts=layouts,
    )
