"""What is written down during a replay: one row per event, and at the end one per job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Floats, Ints, frozen
from tenuto.sim.outcome import Events, Outcome
from tenuto.sim.world import World

REPORTS = 200
"""How often progress is told, at most."""


@dataclass
class Journal:
    """Watches a world and never changes it."""

    world: World
    layouts: bool
    progress: Callable[[int, int], None] | None
    _rows: list[tuple[float, float, int, int, int]] = field(default_factory=list)
    _layouts: list[Ints] = field(default_factory=list)
    _told: int = 0

    def note(self) -> None:
        """Write down the present event."""
        world = self.world
        efficiency, busy, running = _usage(
            world.live, world.held, world.speed, world.workload.rate, world.workload.sizes
        )
        waiting = len(world.live) - running
        self._rows.append((world.now, efficiency / world.workload.cluster.total, busy, running, waiting))
        if self.layouts:
            self._layouts.append(world.layout)
        if self.progress is not None:
            self._tell(self.progress)

    def _tell(self, progress: Callable[[int, int], None]) -> None:
        world, jobs = self.world, len(self.world.workload.trace)
        done = world.arrived - len(world.live)
        if (done - self._told) * REPORTS >= jobs or done == jobs != self._told:
            self._told = done
            progress(done, jobs)

    def outcome(self, cpu_s: float) -> Outcome:
        """Sum up the replay."""
        world, trace = self.world, self.world.workload.trace
        return Outcome(
            admitted=frozen(~world.refused & (np.arange(len(trace)) < world.arrived)),
            started=frozen(world.started),
            finished=frozen(world.finished),
            met=frozen((world.finished <= trace.deadline) & ~trace.best_effort),
            promised=frozen(world.promised),
            last_size=frozen(world.last_size),
            changes=frozen(world.changes),
            preempted=frozen(world.preempted),
            reason=tuple(world.reason),
            events=self._events(),
            cpu_s=cpu_s,
        )

    def _events(self) -> Events:
        time, efficiency, busy, running, waiting = zip(*self._rows, strict=True) if self._rows else ((),) * 5
        return Events(
            time=frozen(np.array(time, dtype=np.float64)),
            efficiency=frozen(np.array(efficiency, dtype=np.float64)),
            busy=frozen(np.array(busy, dtype=np.int64)),
            running=frozen(np.array(running, dtype=np.int64)),
            waiting=frozen(np.array(waiting, dtype=np.int64)),
            layouts=self._positions() if self.layouts else None,
        )

    def _positions(self) -> tuple[Ints, ...]:
        """Layouts name jobs by their position in the trace's file."""
        position = self.world.workload.trace.position
        return tuple(frozen(np.where(layout >= 0, position[layout], layout)) for layout in self._layouts)


@compiled
def _usage(live: Ints, held: Ints, speed: Floats, rate: Floats, sizes: Ints) -> tuple[float, int, int]:
    """Sum the running jobs' speeds relative to one slot, their slots, and the jobs themselves."""
    efficiency, busy, running = 0.0, 0, 0
    for job in live:
        if held[job] == 0:
            continue
        running += 1
        busy += held[job]
        for level in range(len(sizes)):
            if rate[job, level] > 0.0:  # the smallest size the job can run at stands for single slots
                efficiency += speed[job] * sizes[level] / rate[job, level]
                break
    return efficiency, busy, running
