"""Records as the API shows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite

from tenuto.forecast.rates import interpolated
from tenuto.model.event import Event
from tenuto.model.job import Contract, Job, Progress
from tenuto.model.node import Node
from tenuto.model.phase import ENDED, PLACED, Phase
from tenuto.store.base import Attempt, Tx
from tenuto.wire.quantities import rfc3339
from tenuto.wire.replies import (
    AttemptOut,
    ContractOut,
    CpuPlacesOut,
    EventOut,
    JobOut,
    MemberOut,
    NodeOut,
    OccupiedOut,
    OffersOut,
    PinOut,
    ProgressOut,
    PromiseOut,
    RestartsOut,
    SlotOut,
)
from tenuto.wire.spec_form import form_of
from tenuto.wire.worker import WORKER, WorkerId


def moment(seconds: float | None) -> str | None:
    """A time; nothing if there is none, or none that a calendar has."""
    if seconds is None or not isfinite(seconds):
        return None
    try:
        return rfc3339(seconds)
    except (OverflowError, ValueError, OSError):
        return None


def shown_jobs(tx: Tx, jobs: Iterable[Job], now: float) -> list[JobOut]:
    """Jobs with everything about them that other records tell."""
    jobs = list(jobs)
    spread = any(len(job.slots) > 1 for job in jobs)
    order = {node.name: node.number for node in tx.nodes()} if spread else {}
    return [shown_job(job, order, workers_now(tx, job), now) for job in jobs]


def shown(tx: Tx, job: Job, now: float) -> JobOut:
    """One job."""
    return shown_jobs(tx, [job], now)[0]


@dataclass(frozen=True, slots=True)
class WorkersNow:
    """What is known of the workers that a job has now."""

    ready: Mapping[str, str]
    """How many processes of each role run, of how many."""
    members: Sequence[MemberOut] = ()


def shown_job(job: Job, order: Mapping[str, int], workers: WorkersNow, now: float) -> JobOut:
    """One job; `order` tells in which order its nodes stand."""
    places = sorted(job.places.items(), key=lambda item: (order.get(item[0], 1 << 60), item[0]))
    numbers = {name: list(there) for name, there in places}
    return JobOut(
        id=job.id,
        number=job.number,
        name=job.spec.name,
        owner=job.owner,
        state=str(job.phase),
        why=job.why,
        message=job.message,
        submitted_at=rfc3339(job.submitted_at),
        started_at=moment(job.started_at),
        ended_at=moment(job.ended_at),
        deadline=moment(job.deadline),
        priority="urgent" if job.urgent else "normal",
        workers=job.workers,
        min_workers=job.spec.min_workers,
        max_workers=job.spec.max_workers,
        pin=None if job.pin is None else PinOut(workers=job.pin.workers, nodes=dict(job.pin.nodes)),
        slots=numbers if job.slots else {},
        seats=numbers if job.seats else {},
        guest=job.is_guest,
        allocation=",".join(f"{name}:{len(there)}" for name, there in places if there),
        idle_since=moment(job.idle_since),
        shrunk=job.shrunk,
        generation=job.generation,
        members=list(workers.members),
        ready=dict(workers.ready),
        restarts=_restarts(job),
        promise=PromiseOut(state=str(job.promise), breach=job.breach),
        contract=None if job.contract is None else shown_contract(job.contract),
        progress=_progress(job, now),
        curve={str(size): rate for size, rate in sorted(job.curve.items())},
        curve_from=job.curve_from,
        interpolated=list(interpolated(job)),
        exit_code=job.exit_code,
        elapsed=_elapsed(job, now),
        wish="cancel" if job.cancel else "pause" if job.pause else "",
        after=None
        if job.spec.after is None
        else {"job": job.spec.after.job, "condition": str(job.spec.after.condition)},
        resubmitted_from=job.resubmitted_from,
        labels=dict(job.spec.labels),
        revision=job.revision,
        spec=form_of(job.spec),
    )


def _restarts(job: Job) -> RestartsOut:
    """How often it was started again: the failure or loss that ended it was followed by no start."""
    end = job.phase if job.ending is None else job.ending.phase
    failed = end is Phase.FAILED and job.why in ("worker_failed", "out_of_memory")
    return RestartsOut(failures=job.failures - failed, losses=job.losses - (end is Phase.LOST))


def workers_now(tx: Tx, job: Job) -> WorkersNow:
    """Who is there; only a job that is not whole, or has members, has to be looked at closely."""
    if job.phase not in PLACED:
        return WorkersNow({})
    if job.spec.in_place:
        return _members_now(job, {_worker(one): one for one in tx.attempts(job.id)})
    wanted = {WORKER: job.workers} | {name: role.count for name, role in job.spec.roles.items()}
    if job.phase is Phase.RUNNING and not job.spec.roles:
        return WorkersNow({WORKER: f"{job.workers}/{job.workers}"})
    running = [one for one in tx.attempts(job.id) if one.generation == job.generation and _runs(one)]
    return WorkersNow(
        {
            role: f"{sum(attempt.role == role for attempt in running)}/{count}"
            for role, count in wanted.items()
        }
    )


def _members_now(job: Job, attempts: Mapping[WorkerId, Attempt]) -> WorkersNow:
    members = []
    for rank, member in enumerate(job.members):
        worker = WorkerId(job.id, member.born, WORKER, member.rank)
        attempt = attempts.get(worker)
        members.append(
            MemberOut(
                rank=rank,
                worker=str(worker),
                node=member.node,
                slot=member.slot,
                stage=_stage(attempt),
                generation=0 if attempt is None else attempt.joined,
            )
        )
    training = sum(member.stage in ("training", "finished") for member in members)
    return WorkersNow({WORKER: f"{training}/{len(members)}"}, members)


def _stage(attempt: Attempt | None) -> str:
    if attempt is None or attempt.started_at is None:
        return "waiting"
    return "ended" if attempt.ended_at is not None else attempt.stage or "starting"


def _worker(attempt: Attempt) -> WorkerId:
    return WorkerId(attempt.job, attempt.generation, attempt.role, attempt.rank)


def _runs(attempt: Attempt) -> bool:
    return attempt.started_at is not None and attempt.ended_at is None


def shown_contract(contract: Contract) -> ContractOut:
    """The answer to a submission."""
    offers = contract.offers
    return ContractOut(
        reply=str(contract.reply),
        why=contract.why,
        message=contract.message,
        answered_at=rfc3339(contract.answered_at),
        promised=moment(contract.promised),
        expected=moment(contract.expected),
        share=contract.share,
        firm_at=moment(contract.firm_at),
        offers=OffersOut(
            earliest=moment(offers.earliest), steps=offers.steps, in_the_way=list(offers.in_the_way)
        ),
    )


def left_now(progress: Progress, now: float) -> float:
    """The work that is left if the job has gone at its speed since it was looked at."""
    worked = max(now - max(progress.as_of, progress.ready_at), 0.0) * progress.speed
    return max(progress.left - worked, 0.0)


def done_share(job: Job, now: float) -> float | None:
    """Which share of its work is done, 0 to 1; None if nobody knows how much there is."""
    if not job.total:
        return None
    left = 0.0 if job.phase is Phase.SUCCEEDED else left_now(job.progress, job.ended_at or now)
    return min(max(1 - left / job.total, 0.0), 1.0)


def _progress(job: Job, now: float) -> ProgressOut:
    total = job.total
    left = None
    if total:
        at = now if job.ended_at is None else job.ended_at
        left = 0.0 if job.phase is Phase.SUCCEEDED else left_now(job.progress, at)
    return ProgressOut(
        left=left,
        total=total or None,
        done=None if left is None or not total else max(total - left, 0.0),
        speed=job.progress.speed if job.phase in PLACED else 0.0,
        step=job.progress.step,
        unit="steps" if job.spec.epochs is None else "epochs",
    )


def _elapsed(job: Job, now: float) -> float:
    """Seconds with slots, over all generations."""
    since = job.progress.changed_at
    runs = job.phase in PLACED and isfinite(since)
    return job.ran_for + (max(now - since, 0.0) if runs else 0.0)


def shown_attempt(attempt: Attempt) -> AttemptOut:
    """One start of a worker."""
    return AttemptOut(
        job=attempt.job,
        worker=str(_worker(attempt)),
        generation=attempt.generation,
        role=attempt.role,
        rank=attempt.rank,
        node=attempt.node,
        slot=attempt.slot,
        pid=attempt.pid,
        started_at=moment(attempt.started_at),
        ended_at=moment(attempt.ended_at),
        exit_code=attempt.exit_code,
        reason=attempt.reason,
        message=attempt.message,
    )


@dataclass
class _Occupants:
    """Who is on one node."""

    holders: dict[int, str] = field(default_factory=dict)
    guests: dict[int, list[str]] = field(default_factory=dict)
    without_gpu: list[str] = field(default_factory=list)
    """One entry for each place."""

    def add(self, job: Job, node: str) -> None:
        """Put a job where it is."""
        self.holders.update(dict.fromkeys(job.slots.get(node, ()), job.id))
        seats = job.seats.get(node, ())
        if job.spec.cpu_only:
            self.without_gpu += [job.id] * len(seats)
            return
        for slot in seats:
            self.guests.setdefault(slot, []).append(job.id)

    @property
    def jobs(self) -> list[str]:
        """All of them."""
        return sorted(
            {
                *self.holders.values(),
                *self.without_gpu,
                *(job for there in self.guests.values() for job in there),
            }
        )


def shown_nodes(nodes: Iterable[Node], live: Iterable[Job], cpu_jobs: int) -> list[NodeOut]:
    """Nodes with those who are there; each has so many places for workers without a GPU."""
    occupants: dict[str, _Occupants] = {}
    for job in live:
        if job.phase not in ENDED:
            for name in job.places:
                occupants.setdefault(name, _Occupants()).add(job, name)
    return [_shown_node(node, occupants.get(node.name, _Occupants()), cpu_jobs) for node in nodes]


def _shown_node(node: Node, there: _Occupants, cpu_jobs: int) -> NodeOut:
    return NodeOut(
        name=node.name,
        number=node.number,
        state=str(node.state),
        problem=node.problem,
        address=node.address,
        total=len(node.slots),
        used=len(there.holders.keys() | there.guests.keys()),
        slots=[
            SlotOut(
                index=index,
                device=slot.device,
                kind=slot.kind,
                job=there.holders.get(index),
                guests=there.guests.get(index, []),
            )
            for index, slot in enumerate(node.slots)
        ],
        cpu=CpuPlacesOut(total=cpu_jobs, used=len(there.without_gpu), jobs=sorted(set(there.without_gpu))),
        jobs=there.jobs,
        joined_at=rfc3339(node.joined_at),
        heard_at=rfc3339(node.heard_at),
        labels=dict(node.labels),
        occupied=_occupied(node, there, cpu_jobs),
    )


def _occupied(node: Node, there: _Occupants, cpu_jobs: int) -> OccupiedOut:
    gpus = {index for index, slot in enumerate(node.slots) if slot.device}
    used = there.holders.keys() | there.guests.keys()
    return OccupiedOut(
        cpu=len(used - gpus) + len(there.without_gpu),
        cpu_total=len(node.slots) - len(gpus) + cpu_jobs,
        gpu=len(used & gpus),
        gpu_total=len(gpus),
    )


def shown_event(event: Event) -> EventOut:
    """Something that happened."""
    return EventOut(
        id=event.id,
        kind=event.kind,
        at=rfc3339(event.at),
        actor=event.actor,
        job=event.job,
        node=event.node,
        before=event.before,
        after=event.after,
        reason=event.reason,
        data=dict(event.data),
    )
