"""Records to JSON text and back, without loss: infinities, Unicode and tuples come out as they went in.

A value of the wrong kind (a list for a tuple, a NumPy number) is refused when it is written, not found out when
somebody reads it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Generic, TypeVar

from pydantic import ConfigDict, TypeAdapter

from tenuto.model.event import Event
from tenuto.model.job import Job
from tenuto.model.node import Node
from tenuto.model.phase import ENDED
from tenuto.store.base import Attempt
from tenuto.store.matching import composed, folded

R = TypeVar("R")

_CONFIG = ConfigDict(ser_json_inf_nan="constants")


class Codec(Generic[R]):
    """Writes and reads one kind of record."""

    def __init__(self, kind: type[R]) -> None:
        # pydantic takes no configuration for a dataclass itself, but for a tuple of one it does.
        one: Any = tuple[kind]  # type: ignore[valid-type]
        self._adapter: TypeAdapter[tuple[R]] = TypeAdapter(one, config=_CONFIG)

    def encode(self, record: R) -> str:
        """The record as JSON."""
        return self._adapter.dump_json((record,), warnings="error").decode()

    def decode(self, text: str) -> R:
        """What `encode` was given."""
        return self._adapter.validate_json(text)[0]


JOB = Codec(Job)
NODE = Codec(Node)
EVENT = Codec(Event)
ATTEMPT = Codec(Attempt)


# A round looks at every live job, of which few have changed. Equal text is an equal record (it holds the
# revision), and records are never changed, so one reading serves everybody.
@lru_cache(maxsize=16_384)
def decode_job(text: str) -> Job:
    """The job that was encoded."""
    written = _just_written.pop(text, None)
    return JOB.decode(text) if written is None else written


_just_written: dict[str, Job] = {}
_MOST_WRITTEN = 16_384


def encode_job(job: Job) -> str:
    """The job as JSON. Most records are soon read by somebody, who need not decode what we have at hand."""
    text = JOB.encode(job)
    if len(_just_written) >= _MOST_WRITTEN:
        _just_written.clear()
    _just_written[text] = job
    return text


@lru_cache(maxsize=4096)
def decode_node(text: str) -> Node:
    """The node that was encoded."""
    return NODE.decode(text)


def job_row(job: Job) -> dict[str, Any]:
    """The job as a row of the table `jobs`."""
    return {
        "number": job.number,
        "id": job.id,
        "revision": job.revision,
        "phase": job.phase.value,
        "ended": job.phase in ENDED,
        "ended_at": job.ended_at if job.phase in ENDED else None,
        "owner": job.owner,
        "name": composed(job.spec.name),
        "folded": folded(job.spec.name),
        "after_job": "" if job.spec.after is None else job.spec.after.job,
        "labels": labels_text(job),
        "record": encode_job(job),
    }


def labels_text(job: Job) -> str:
    """Equal for jobs with equal labels."""
    return repr(sorted(job.spec.labels.items())) if job.spec.labels else ""
