"""What a round decides on: if none of it has changed and nobody wanted to be woken, there is no need for another."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from tenuto.live.mirror import Records
from tenuto.model.job import Job
from tenuto.model.node import Node
from tenuto.model.phase import PLANNED, Phase

Stakes: TypeAlias = tuple[Any, ...]
"""Compared with those of the last round, never looked into."""


def stakes(jobs: Iterable[Job], nodes: Iterable[Node], records: Records) -> Stakes:
    """Everything about the records that a round could decide differently for; not how workers come up."""
    return (
        records.scheduling,
        dict(records.tuning),
        ground(nodes),
        [_stake(job) for job in jobs if job.phase in PLANNED and job.ending is None],
    )


def ground(nodes: Iterable[Node]) -> Stakes:
    """The slots that there are."""
    return tuple((node.name, node.state, len(node.slots)) for node in nodes)


def _stake(job: Job) -> Stakes:
    return (
        job.number,
        job.phase is Phase.SUBMITTED,
        job.slots,
        job.deadline,
        job.urgent,
        job.pin,
        job.curve,
        None if job.contract is None else (job.contract.reply, job.contract.promised),
    )
