"""Judges of the live platform: they know records, events and what really runs, and nothing of the controller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from tenuto.engines.fake import FakeEngine
from tenuto.engines.launch import member_ids
from tenuto.model.event import Event
from tenuto.model.job import Job
from tenuto.model.node import Node, NodeState
from tenuto.model.phase import ENDED, NEXT, OPEN_PROMISES, PLACED, Phase
from tenuto.wire.worker import CrewOrder, WorkerId, WorkerState


def assert_no_slot_is_held_twice(jobs: Sequence[Job], engine: FakeEngine) -> None:
    """Neither in the records nor by running workers, except by jobs that have agreed to share it."""
    held = Counter(slot for job in jobs for slot in _slots(job.slots))
    used: dict[tuple[str, int], list[str]] = {}
    for node in engine._everywhere():
        for seen in node.workers.values():
            if seen.slot is not None and seen.state in (WorkerState.RUNNING, WorkerState.STOPPING):
                used.setdefault((seen.node, seen.slot), []).append(seen.id.job)
    assert not [place for place, count in held.items() if count > 1], "in the records"
    consent = {job.id for job in jobs if job.spec.share}
    for place, there in used.items():
        assert len(there) == 1 or (len(set(there)) == len(there) and consent >= set(there)), (place, there)


def assert_guests_are_welcome(jobs: Sequence[Job], most: int) -> None:
    """Only on slots of jobs that share and were promised nothing, and never too many."""
    owners = {slot: job for job in jobs for slot in _slots(job.slots)}
    guests = [(slot, job) for job in jobs if job.is_guest for slot in _slots(job.seats)]
    for slot, job in guests:
        assert job.spec.share
        assert not job.slots
        if slot in owners:
            assert owners[slot].spec.share, f"{job.id} on {slot} of {owners[slot].id}"
            assert owners[slot].promise not in OPEN_PROMISES, f"{job.id} on {slot} of {owners[slot].id}"
    count = Counter(slot for slot, _ in guests) + Counter(owners.keys())
    assert max(count.values(), default=0) <= most


def assert_places_without_gpus_are_had_once(jobs: Iterable[Job], each: int) -> None:
    """So many on each node, and never a slot."""
    lone = [job for job in jobs if job.spec.cpu_only]
    assert not any(job.slots for job in lone)
    places = Counter(place for job in lone for place in _slots(job.seats))
    assert max(places.values(), default=0) <= 1
    assert max(Counter(node for node, _ in places).values(), default=0) <= each


def assert_no_more_run_without_gpus(jobs: Iterable[Job], engine: FakeEngine, each: int) -> None:
    """Workers, of those jobs, that run or are stopping on one node."""
    lone = {job.id for job in jobs if job.spec.cpu_only}
    for node in engine._everywhere():
        assert sum(worker.job in lone for worker in node.living()) <= each


def assert_nobody_waits_beside_an_open_place(
    jobs: Sequence[Job], nodes: Iterable[Node], each: int, most: int
) -> None:
    """At rest: who needs one place and may be anywhere waits only if there is none."""
    usable = {node.name for node in nodes if node.state is NodeState.ONLINE}
    waiting = [job for job in jobs if job.phase is Phase.QUEUED]
    taken = sum(len(job.seats.get(node, ())) for job in jobs if job.spec.cpu_only for node in usable)
    alone = [job for job in waiting if job.spec.cpu_only]
    if all(job.spec.min_workers == 1 for job in alone):
        assert not alone or taken >= each * len(usable)
    count = Counter(slot for job in jobs if not job.spec.cpu_only for slot in _slots(job.places))
    shared = [job for job in jobs if job.spec.share and job.deadline is None and job.phase is Phase.RUNNING]
    open_ = [slot for job in shared for slot in _slots(job.slots) if count[slot] < most]
    hopeful = [
        job
        for job in waiting
        if job.spec.share and job.deadline is None and job.pin is None and not job.curve
    ]
    assert not open_ or not [job for job in hopeful if job.spec.min_workers == 1]


def _slots(places: Mapping[str, tuple[int, ...]]) -> Iterable[tuple[str, int]]:
    return ((node, number) for node, numbers in places.items() for number in numbers)


def assert_no_worker_is_started_twice(engine: FakeEngine) -> None:
    assert len(set(engine.started)) == len(engine.started)


def assert_generations_follow_each_other(jobs: Iterable[Job], engine: FakeEngine) -> None:
    """Never two at once, and nobody outlives his job, except where workers were given up with their node.

    A job that rescales in place has workers of many births at once, but none from before its last start as a whole
    beside those that were born since.
    """
    for job in jobs:
        living = {worker.generation for worker in engine.living(job.id)}
        assert max(living, default=0) <= job.generation
        if job.losses:
            continue
        if job.spec.in_place:
            assert len({born < job.since for born in living}) <= 1, f"{job.id}: {living} at {job.since}"
        else:
            assert len(living) <= 1, f"{job.id}: generations {living}"
        assert not living or job.phase not in ENDED, f"{job.id} is {job.phase}"


def assert_members_are_the_slots(jobs: Iterable[Job]) -> None:
    """Who rescales in place has one member for each place; nobody else has any."""
    for job in jobs:
        held = Counter(_slots(job.places))
        assert Counter((member.node, member.slot) for member in job.members) == (
            held if job.spec.in_place else Counter()
        )
        assert len(set(member_ids(job))) == len(job.members)


class Crews:
    """Follows the jobs that rescale in place from step to step."""

    def __init__(self) -> None:
        self._before: dict[str, Job] = {}
        self._running: set[WorkerId] = set()
        self._orders: dict[str, CrewOrder] = {}

    def look(self, jobs: Iterable[Job], engine: FakeEngine) -> None:
        """Compare with what was seen before."""
        running = {
            seen.id
            for node in engine._everywhere()
            for seen in node.workers.values()
            if seen.state is WorkerState.RUNNING
        }
        now = {job.id: job for job in jobs if job.spec.in_place}
        for name, job in now.items():
            if (before := self._before.get(name)) is not None:
                assert job.generation >= before.generation, f"{name} goes back"
                if job.since == before.since:
                    self._assert_survivors_stay(before, job, self._running & running)
        self._assert_orders_are_newer(engine._together)
        self._before, self._running = now, running

    def _assert_survivors_stay(self, before: Job, job: Job, alive: set[WorkerId]) -> None:
        places = dict(zip(job.members, member_ids(job), strict=True))
        held = {(member.node, member.slot): worker for member, worker in places.items()}
        for member, worker in zip(before.members, member_ids(before), strict=True):
            if worker in alive and (member.node, member.slot) in held:
                assert held[member.node, member.slot] == worker, f"{worker} was replaced though it runs"

    def _assert_orders_are_newer(self, orders: Iterable[CrewOrder]) -> None:
        told = {order.job: order for order in orders}
        for job in told.keys() & self._orders.keys():
            old, new = self._orders[job], told[job]
            assert (new.plan, new.members) == (old.plan, old.members) or new.plan > old.plan, job
        self._orders |= told


def assert_records_make_sense(jobs: Iterable[Job]) -> None:
    """Who has ended or rests holds nothing, and retries stay within limits."""
    for job in jobs:
        assert not (job.slots and job.seats), f"{job.id} is on {job.slots} and {job.seats}"
        if job.phase not in PLACED:
            assert not job.places, f"{job.id} is {job.phase} and is on {job.places}"
        if job.phase in ENDED:
            assert job.ended_at is not None
            assert job.ending is None
        over = job.phase in ENDED or job.ending is not None
        assert job.failures <= job.spec.retry.failures + over
        assert job.lost_in_a_row <= job.spec.retry.losses + over


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
