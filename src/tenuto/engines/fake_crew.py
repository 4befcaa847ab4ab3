"""What a leading supervisor does for the workers of a job that rescales in place, without processes.

The rules are those of the real one, with nothing in between: newcomers are waited for, leavers and losses are not; a
worker that ended with 0 finishes with its whole group; every group has a higher number than the last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf

from tenuto.engines.fake_node import FakeWorld
from tenuto.wire.worker import CrewOrder, WorkerId, WorkerSeen, WorkerState

FORMING, TRAINING = "forming", "training"
PATIENCE = 30.0
"""Seconds for which the old workers of a job that moves as a whole train on while the new ones are not ready."""


@dataclass
class _Crew:
    """One job, as its leading node knows it."""

    order: CrewOrder
    generation: int = 0
    members: tuple[WorkerId, ...] = ()
    """Who trains together now, or is about to."""
    trains_at: float = inf
    """When the group will have formed."""
    waits_until: float = inf
    """When patience ends with those who are to take over from everybody."""


class FakeCrews:
    """All jobs that rescale in place. Not thread-safe: the engine's lock is held."""

    def __init__(self, world: FakeWorld) -> None:
        self._world = world
        self._crews: dict[str, _Crew] = {}
        self.forming_takes = 0.0
        world.goes_on = self._goes_on

    def obey(self, orders: Iterable[CrewOrder], hears: Callable[[str], bool]) -> None:
        """Take over the orders whose leading node hears them, and forget the jobs of which nothing is told any more."""
        told = {order.job: order for order in orders}
        for job in self._crews.keys() - told.keys():
            del self._crews[job]
        for job, order in told.items():
            if hears(order.lead):
                crew = self._crews.setdefault(job, _Crew(order))
                if order.plan > crew.order.plan:
                    crew.order, crew.waits_until = order, self._world.clock() + PATIENCE

    def settle(self) -> bool:
        """Let every job have the group that it can have now; tells whether anything is new."""
        changed = [self._regroup(crew) or self._train(crew) for crew in self._crews.values()]
        return any(changed)

    def finish_forming(self) -> None:
        """Whoever forms a group has formed it."""
        for crew in self._crews.values():
            crew.trains_at = -inf

    def next_due(self) -> float | None:
        """When the next group will have formed, as far as is known."""
        due = [crew.trains_at for crew in self._crews.values() if self._is_forming(crew)]
        due += [crew.waits_until for crew in self._crews.values() if any(map(self._goes_on, crew.members))]
        return min((at for at in due if at != inf), default=None)

    def _goes_on(self, worker: WorkerId) -> bool:
        crew = self._crews.get(worker.job)
        if crew is None or worker not in crew.members or not self._runs(worker):
            return False
        moves = bool(crew.order.members) and not any(one in crew.order.members for one in crew.members)
        return moves and self._world.clock() < crew.waits_until

    # one job

    def _regroup(self, crew: _Crew) -> bool:
        changed = False
        while (group := self._next(crew)) is not None:
            crew.generation = max(crew.generation + 1, crew.order.plan)
            crew.members, changed = group, True
            crew.trains_at = self._world.clock() + self.forming_takes
            self._show(group, generation=crew.generation, stage=FORMING)
        if changed:
            self._train(crew)
        return changed

    def _next(self, crew: _Crew) -> tuple[WorkerId, ...] | None:
        """The group that should follow; None if there is none better than the present one."""
        wanted = crew.order.members
        if any(self._ended_well(worker) for worker in crew.members if worker in wanted):
            return None
        survivors = tuple(worker for worker in crew.members if worker in wanted and self._runs(worker))
        if survivors and survivors != crew.members:
            return survivors
        newcomers = [worker for worker in wanted if worker not in crew.members and not self._gone(worker)]
        if not newcomers or not all(map(self._runs, newcomers)):
            return None
        return (*survivors, *newcomers)

    def _train(self, crew: _Crew) -> bool:
        if not self._is_forming(crew) or self._world.clock() < crew.trains_at:
            return False
        self._show(crew.members, stage=TRAINING)
        return True

    def _is_forming(self, crew: _Crew) -> bool:
        return any((seen := self._seen(worker)) and seen.stage == FORMING for worker in crew.members)

    def _show(self, workers: Sequence[WorkerId], **fields: object) -> None:
        for worker in workers:
            if self._runs(worker):
                node = self._world.where[worker.job][worker]
                node.put(replace(node.workers[worker], **fields))  # type: ignore[arg-type]

    def _seen(self, worker: WorkerId) -> WorkerSeen | None:
        node = self._world.where.get(worker.job, {}).get(worker)
        return None if node is None else node.workers[worker]

    def _runs(self, worker: WorkerId) -> bool:
        seen = self._seen(worker)
        return seen is not None and seen.state is WorkerState.RUNNING

    def _gone(self, worker: WorkerId) -> bool:
        seen = self._seen(worker)
        return seen is not None and seen.state is WorkerState.EXITED

    def _ended_well(self, worker: WorkerId) -> bool:
        seen = self._seen(worker)
        return seen is not None and seen.state is WorkerState.EXITED and seen.exit_code == 0
