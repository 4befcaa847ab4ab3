"""What a round decides on: if none of it has changed and nobody wanted to be woken, there is no need for another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tenuto.live.mirror import Records
from tenuto.model.job import Job
from tenuto.model.node import Node
from tenuto.model.phase import PLANNED, Phase

Ground: TypeAlias = tuple[Any, ...]
"""The slots that there are; compared, never looked into."""


@dataclass(frozen=True, slots=True)
class Stakes:
    """The records that a round has decided on, or would."""

    rules: tuple[Any, ...]
    ground: Ground
    jobs: Sequence[Job]


def stakes(jobs: Iterable[Job], nodes: Iterable[Node], records: Records) -> Stakes:
    """Everything that a round looks at."""
    return Stakes(
        (records.scheduling, dict(records.tuning)),
        ground(nodes),
        [job for job in jobs if job.phase in PLANNED and job.ending is None and not job.spec.cpu_only],
    )


def same(now: Stakes, then: Stakes) -> bool:
    """Whether a round would decide as before: how workers come up, for instance, is nothing to it."""
    if len(now.jobs) != len(then.jobs) or (now.rules, now.ground) != (then.rules, then.ground):
        return False
    return all(
        job is before or _stake(job) == _stake(before)
        for job, before in zip(now.jobs, then.jobs, strict=True)
    )


def ground(nodes: Iterable[Node]) -> Ground:
    """The slots that there are."""
    return tuple((node.name, node.state, len(node.slots)) for node in nodes)


def _stake(job: Job) -> tuple[Any, ...]:
    return (
        job.number,
        job.phase is Phase.SUBMITTED,
        job.slots,
        job.deadline,
        job.urgent,
        job.pin,
        job.shrunk,
        job.curve,
        None if job.contract is None else (job.contract.reply, job.contract.promised),
    )
