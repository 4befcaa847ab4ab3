"""Jobs that nobody has submitted, as records to be thought about; checked as if they were submitted now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tenuto.errors import InputInvalid
from tenuto.forecast.measured import Known
from tenuto.forecast.without_gpu import answer_without_gpu
from tenuto.model.job import After, Condition, Contract, Job
from tenuto.model.node import Node, NodeState
from tenuto.model.phase import ENDED, Phase
from tenuto.server import wishes
from tenuto.server.platform import Platform
from tenuto.server.submit import curve_of
from tenuto.server.wishes import Asker, Submission
from tenuto.store.base import Tx
from tenuto.wire.api import JobIn

HELD, SUBMITTED = str(Phase.HELD), str(Phase.SUBMITTED)


@dataclass(frozen=True, slots=True)
class Thought:
    """A job in thought, and what it would be told if no round decides about it."""

    job: Job
    reply: str = ""
    """Empty if a round answers it."""
    message: str = ""
    contract: Contract | None = None
    """The answer to a job without GPUs, which needs no round."""


def thoughts(here: Platform, asker: Asker, asked: Sequence[JobIn], field: str) -> list[Thought]:
    """The records that these jobs would be; what is wrong with one names its place below `field`."""
    curves = [curve_of(here, job.spec()) for job in asked]

    def look(tx: Tx) -> list[Thought]:
        found = _records(tx, asker, list(zip(asked, curves, strict=True)), field)
        return [_without_gpu(one, tx.nodes(), here.settings.nodes.cpu_jobs, asker.now) for one in found]

    return here.store.read(look)


def _without_gpu(thought: Thought, nodes: Sequence[Node], each: int, now: float) -> Thought:
    spec = thought.job.spec
    if not spec.cpu_only or thought.reply:
        return thought
    usable = [node for node in nodes if node.state is NodeState.ONLINE and spec.node in ("", node.name)]
    contract = answer_without_gpu(spec, each * len(usable), now)
    return replace(thought, reply=str(contract.reply), message=contract.message, contract=contract)


def _records(tx: Tx, asker: Asker, asked: Sequence[tuple[JobIn, Known]], field: str) -> list[Thought]:
    first = max((job.number for job in tx.live_jobs()), default=0) + 1
    found: list[Thought] = []
    for place, (form, curve) in enumerate(asked):
        earlier = {thought.job.spec.name: thought.job for thought in found}
        try:
            thought = _record(tx, asker, (form, curve), earlier)
        except InputInvalid as error:
            raise InputInvalid(
                error.problem, remedy=error.remedy, field=f"{field}.{place}.{error.field}"
            ) from None
        found.append(replace(thought, job=replace(thought.job, id=f"new-{place + 1}", number=first + place)))
    return found


def _record(tx: Tx, asker: Asker, asked: tuple[JobIn, Known], earlier: dict[str, Job]) -> Thought:
    form, curve = asked
    spec, deadline = form.to_spec(asker.now)
    before = earlier.get(spec.after.job) if spec.after is not None else None
    if before is not None:
        spec = replace(spec, after=None)
    job = wishes.record_of(tx, asker, Submission(spec, deadline, curve), "")
    if before is not None:
        return _held(job, f"waits for {before.spec.name}, and is answered when that has ended")
    return _after(tx, job)


def _after(tx: Tx, job: Job) -> Thought:
    """A job that would wait for one that is there already, or for none."""
    after = job.spec.after
    before = None if after is None else tx.job(after.job)
    if after is None or before is None:
        return Thought(job)
    called = f"{before.spec.name} ({before.id})"
    if before.phase not in ENDED:
        return _held(job, f"waits for {called}, and is answered when that has ended")
    if _fits(after, before.phase):
        return Thought(job)
    return _held(job, f"fails at once: {called} has ended as {before.phase}, which is not what it waits for")


def _fits(after: After, end: Phase) -> bool:
    fitting = {
        Condition.ANY: ENDED,
        Condition.OK: {Phase.SUCCEEDED},
        Condition.FAIL: {Phase.FAILED, Phase.LOST},
    }
    return end in fitting[after.condition]


def unanswered(thought: Thought, sentence: str) -> Thought:
    """A job that nobody would answer for now, for a reason that is not its own."""
    if thought.reply == HELD:
        return thought
    return Thought(replace(thought.job, phase=Phase.HELD), SUBMITTED, f"{SUBMITTED}: {sentence}")


def _held(job: Job, waits: str) -> Thought:
    return Thought(replace(job, phase=Phase.HELD), HELD, f"{HELD}: {waits}")
