"""Judges of the live platform: they know records, events and what really runs, and nothing of the controller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tenuto.engines.fake import FakeEngine
from tenuto.model.event import Event
from tenuto.model.job import Job
from tenuto.model.phase import ENDED, NEXT, PLACED, Phase
from tenuto.wire.worker import WorkerState


def assert_no_slot_is_held_twice(jobs: Iterable[Job], engine: FakeEngine) -> None:
    """Neither in the records nor by running workers."""
    held = Counter((node, slot) for job in jobs for node, slots in job.slots.items() for slot in slots)
    used = Counter(
        (seen.node, seen.slot)
        for node in engine._everywhere()
        for seen in node.workers.values()
        if seen.slot is not None and seen.state in (WorkerState.RUNNING, WorkerState.STOPPING)
    )
    assert not [place for place, count in held.items() if count > 1], "in the records"
    assert not [place for place, count in used.items() if count > 1], "by running workers"


def assert_no_worker_is_started_twice(engine: FakeEngine) -> None:
    assert len(set(engine.started)) == len(engine.started)


def assert_generations_follow_each_other(jobs: Iterable[Job], engine: FakeEngine) -> None:
    """Never two at once, and nobody outlives his job, except where workers were given up with their node."""
    for job in jobs:
        living = {worker.generation for worker in engine.living(job.id)}
        assert max(living, default=0) <= job.generation
        if job.losses == 0:
            assert len(living) <= 1, f"{job.id}: generations {living}"
            assert not living or job.phase not in ENDED, f"{job.id} is {job.phase}"


def assert_records_make_sense(jobs: Iterable[Job]) -> None:
    """Who has ended or rests holds nothing, and retries stay within limits."""
    for job in jobs:
        if job.phase not in PLACED:
            assert not job.slots, f"{job.id} is {job.phase} and holds {job.slots}"
        if job.phase in ENDED:
            assert job.ended_at is not None
            assert job.ending is None
        over = job.phase in ENDED or job.ending is not None
        assert job.failures <= job.spec.retry.failures + over
        assert job.losses <= job.spec.retry.losses + over


class Chronicle:
    """Follows the events: no gap between them, and one for every step that a job takes."""

    def __init__(self) -> None:
        self.last = 0
        self.offline = False
        """Whether a node was ever given up."""
        self._phases: dict[str, Phase] = {}

    def read(self, news: Sequence[Event]) -> None:
        """Go on with what was added."""
        assert [event.id for event in news] == list(range(self.last + 1, self.last + 1 + len(news)))
        self.last += len(news)
        for event in news:
            self.offline |= event.after == "offline"
            if event.kind == "phase":
                before, after = Phase(event.before), Phase(event.after)
                assert self._phases.get(event.job, Phase.SUBMITTED) is before
                assert after in NEXT[before]
                self._phases[event.job] = after

    def assert_tells_all(self, jobs: Iterable[Job]) -> None:
        for job in jobs:
            assert self._phases.get(job.id, Phase.SUBMITTED) is job.phase
