"""The loop around the elastic policies of the reference: one event after the other, until none is left."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tenuto.model.columns import Ints, frozen
from tenuto.sim.artifact.order import Order, Revision
from tenuto.sim.artifact.state import DECLINED, rules_for
from tenuto.sim.artifact.world import Entry, World, world_of
from tenuto.sim.outcome import Events, Outcome
from tenuto.sim.workload import Workload


def elastic(
    handle: Callable[[World], None], limits: Callable[[Workload], Ints]
) -> Callable[[Workload, Order], Outcome]:
    """Make a replay of a policy that handles one event at a time and scales jobs up to a limit."""

    def replay(workload: Workload, order: Order) -> Outcome:
        rules = rules_for(workload.cluster, order.slot, refresh=order.revision is Revision.HEAD)
        world = world_of(workload, limits(workload), rules, layouts=order.layouts)
        told = 0
        while world.now < np.inf:
            handle(world)
            told = order.tell(world.done, told, len(workload.trace))
        return _outcome(workload, world)

    return replay


def _outcome(workload: Workload, world: World) -> Outcome:
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
