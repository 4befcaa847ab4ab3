"""What would help a job that waits or gets no promise, each proven: the round, with that one thing changed, gives it.

Every trial is one picture and one round, and there are only so many of them; the cheapest changes are tried first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tenuto.forecast.changes import as_a_newcomer
from tenuto.forecast.contract import written
from tenuto.forecast.picture import Scene, picture
from tenuto.forecast.whatif import as_nodes, with_nodes, without_jobs
from tenuto.model.job import Contract, Job
from tenuto.model.phase import ENDED, PLACED
from tenuto.model.plan import Answer
from tenuto.policy.base import Policy
from tenuto.rounds.round import run_round

MORE_SLOTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Numbers of further slots that are tried."""
MOST_JOBS = 5
"""Jobs of which it is tried whether their leaving would help, the largest first."""
MOST_POLICIES = 3


@dataclass(frozen=True, slots=True)
class Remedy:
    """One change that would help."""

    kind: str
    """`deadline`, `work`, `workers`, `pin`, `priority`, `slots`, `job`, `policy`; or `do`: it need not be tried."""
    sentence: str
    command: str = ""
    """How to do it, or to look closer at it; empty if no command does."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A job, and whether a round would give it what it lacks."""

    scene: Scene
    job: Job
    policy: Policy
    promise: bool
    """What it lacks is a promise; else slots."""

    @property
    def gain(self) -> str:
        """What it would get, in words."""
        return "its deadline could be promised" if self.promise else "it would begin now"

    def works(self, scene: Scene | None = None, job: Job | None = None, policy: Policy | None = None) -> bool:
        """Whether it would get it with something changed."""
        scene, job, policy = scene or self.scene, job or self.job, policy or self.policy
        asking = as_a_newcomer(job) if self.promise else job
        others = [other for other in scene.jobs if other.id != job.id]
        taken = picture(replace(scene, jobs=[*others, asking], promises=policy.promises))
        decided = run_round(taken.snapshot, policy)
        if self.promise:
            verdict = decided.verdicts.get(job.number)
            return verdict is not None and verdict.answer is Answer.ADMITTED
        return bool((decided.plan.layout == job.number).any())


def by_offers(contract: Contract, job: Job, now: float) -> Iterator[Remedy]:
    """The counter-offers of an answer, which were proven when it was made."""
    offers, unit = contract.offers, "epochs" if job.spec.epochs else "steps"
    if offers.earliest is not None:
        when = written(offers.earliest, now)
        ended = job.phase in ENDED
        command = _again(job, f"deadline={when}") if ended else f"tenuto update {job.id} --deadline {when}"
        yield Remedy("deadline", f"the deadline {when} could be promised", command)
    if offers.steps is not None:
        total = f"total={{{unit}: {offers.steps:.15g}}}"
        yield Remedy(
            "work", f"{offers.steps:.15g} {unit} could be promised by that deadline", _again(job, total)
        )


def by_itself(trial: Trial) -> Iterator[Remedy]:
    """What its owner can change: its pin, how few workers it takes, or how urgent it is."""
    job = trial.job
    if job.pin is not None and trial.works(job=replace(job, pin=None)):
        yield Remedy("pin", f"without its pin, {trial.gain}", f"tenuto scale {job.id} auto")
    fewer = job.spec.min_workers // 2
    while fewer >= 1 and job.pin is None:
        spec = replace(job.spec, min_workers=fewer)
        if trial.works(job=replace(job, spec=spec)):
            sizes = f"workers={fewer}..{spec.max_workers}"
            yield Remedy(
                "workers", f"with {fewer} {_workers(fewer)} at least, {trial.gain}", _again(job, sizes)
            )
            break
        fewer //= 2
    if not trial.promise and not job.urgent and trial.works(job=replace(job, urgent=True)):
        yield Remedy(
            "priority", f"as an urgent job, {trial.gain}", f"tenuto update {job.id} --priority urgent"
        )


def by_slots(trial: Trial) -> Iterator[Remedy]:
    """The smallest number of further slots that suffices, on nodes like those that there are."""
    for count in MORE_SLOTS:
        if trial.works(scene=with_nodes(trial.scene, as_nodes(trial.scene, count))):
            slots = "slot" if count == 1 else "slots"
            yield Remedy(
                "slots",
                f"with {count} more {slots}, {trial.gain}",
                f"tenuto whatif --add-slots {count}",
            )
            return


def by_leaving(trial: Trial, known: Sequence[str] = ()) -> Iterator[Remedy]:
    """Jobs, each of which alone would make enough room by leaving; `known` are ids of which that is known already."""
    by_id = {job.id: job for job in trial.scene.jobs}
    holders = sorted(
        (job for job in trial.scene.jobs if job.phase in PLACED and job.slots and job.id != trial.job.id),
        key=lambda job: (-sum(map(len, job.slots.values())), job.number),
    )
    tried = [by_id[id_] for id_ in known if id_ in by_id] or [
        job for job in holders[:MOST_JOBS] if trial.works(scene=without_jobs(trial.scene, [job.id]))
    ]
    for job in tried[:MOST_JOBS]:
        yield Remedy(
            "job", f"without {job.spec.name} ({job.id}), {trial.gain}", f"tenuto whatif --cancel {job.id}"
        )


def by_policy(trial: Trial, others: Sequence[Policy]) -> Iterator[Remedy]:
    """Policies under which it would be so; what else they would change is another question."""
    for policy in [one for one in others if one.promises or not trial.promise][:MOST_POLICIES]:
        if trial.works(scene=replace(trial.scene, memory=None), policy=policy):
            yield Remedy(
                "policy",
                f"under the policy {policy.name}, {trial.gain}",
                f"tenuto whatif --policy {policy.name}",
            )


def _again(job: Job, change: str) -> str:
    return f"tenuto resubmit {job.id} --set '{change}'"


def _workers(count: int) -> str:
    return "worker" if count == 1 else "workers"
