"""Plays a trace on a stage: jobs are submitted over REST, stand-ins work, and the clock jumps from event to event."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from math import inf

from tenuto.model.event import Event
from tenuto.model.phase import ENDED, Phase
from tenuto.rehearsal.score import Score
from tenuto.rehearsal.stage import Stage
from tenuto.rehearsal.stand_ins import StandIns
from tenuto.rehearsal.walk import SCALED, Walk, live_walk
from tenuto.settings import Scheduling

Tell = Callable[[int, int], None]
"""Told now and then how many of all jobs have ended."""
RUN = ("stand-in",)
"""What the jobs run, if anybody looked."""


class FastForward:
    """One trace on one stage."""

    def __init__(self, stage: Stage, score: Score, scheduling: Scheduling) -> None:
        self.stage, self.score = stage, score
        self._start_cost, self._rescale_cost = scheduling.start_cost, scheduling.rescale_cost
        self._arrivals = score.workload.trace.submitted.tolist()
        self.ids: list[str] = []
        """Of the jobs that have arrived, in the order of the trace."""
        self.at_work: dict[str, StandIns] = {}
        """The workers of every job that has not ended."""

    def play(self, tell: Tell = lambda _done, _all: None) -> list[Walk]:
        """Play everything, and tell what became of it."""
        while (due := self.next_event()) < inf:
            self.jump(due)
            tell(len(self.ids) - len(self.at_work), len(self.score))
        return self.walks()

    def next_event(self) -> float:
        """When something happens next: an arrival, a job's end, or the policy's own wish; `inf` for never."""
        now, arrived = self.stage.clock.now, len(self.ids)
        arrival = self._arrivals[arrived] if arrived < len(self._arrivals) else inf
        if arrival == inf and not self.at_work:
            return inf
        ends = min((workers.end(now) for workers in self.at_work.values()), default=inf)
        return min(arrival, ends, self.stage.wake_at)

    def jump(self, then: float) -> None:
        """Let the stand-ins work, end the finished, submit the arrived; then wait until all is at rest."""
        now, self.stage.clock.now = self.stage.clock.now, then
        for job in [job for job, workers in self.at_work.items() if workers.work(now, then)]:
            self.stage.engine.end_job(job)
            del self.at_work[job]
        first = len(self.ids)
        while len(self.ids) < len(self._arrivals) and self._arrivals[len(self.ids)] <= then:
            self._submit(len(self.ids))
        self.stage.settle()
        for job in self.ids[first:]:
            if self.stage.job(job).phase in REFUSED:
                del self.at_work[job]
        self._notice_changes()

    def walks(self) -> list[Walk]:
        """What has become of the jobs."""
        scaled: dict[str, list[Event]] = defaultdict(list)
        for event in self.stage.events(SCALED):
            scaled[event.job].append(event)
        names = self.score.workload.trace.ids
        return [
            live_walk(name, self.stage.job(job), scaled[job])
            for name, job in zip(names, self.ids, strict=True)
        ]

    def _submit(self, row: int) -> None:
        job = self.stage.client.submit(self.score.form(row, RUN))["id"]
        self.ids.append(job)
        steps = float(self.score.workload.trace.steps[row])
        self.at_work[job] = StandIns(steps, self.score.curve(row))

    def _notice_changes(self) -> None:
        """Workers that were started just now have their costs before them."""
        now, engine = self.stage.clock.now, self.stage.engine
        for job, workers in self.at_work.items():
            living = engine.living(job)
            generation = max((worker.generation for worker in living), default=0)
            if living and generation != workers.generation:
                workers.ready = now + (self._rescale_cost if workers.size else self._start_cost)
                workers.generation = generation
            workers.size = len(living)


REFUSED = ENDED | {Phase.UNSCHEDULABLE}
"""Nobody will ever work for these."""
