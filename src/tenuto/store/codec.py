"""Records to JSON text and back, without loss: infinities, Unicode and tuples come out as they went in.

A value of the wrong kind (a list for a tuple, a NumPy number) is refused when it is written, not found out when
somebody reads it. Free-form parts (`params` of jobs, `data` of events, `meta`) are read back before they are stored:
the reader's limits are narrower than the writer's.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Generic, TypeVar

from pydantic import ConfigDict, TypeAdapter
from pydantic_core import from_json

from tenuto.errors import InputInvalid
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

    def __init__(self, kind: type[R], free_form: Callable[[R], object] = lambda _: None) -> None:
        """`free_form` gives the part of a record that may hold any JSON value; the types of all others are checked."""
        # pydantic takes no configuration for a dataclass itself, but for a tuple of one it does.
        one: Any = tuple[kind]  # type: ignore[valid-type]
        self._adapter: TypeAdapter[tuple[R]] = TypeAdapter(one, config=_CONFIG)
        self._free_form = free_form
        self._what = kind.__name__.lower()

    def encode(self, record: R) -> str:
        """The record as JSON that `decode` reads. Raises InputInvalid if its free-form part could not be read back."""
        if not self._free_form(record):
            return self._dump(record)
        try:
            text = self._dump(record)
            self.decode(text)
        except (ValueError, RecursionError) as error:
            raise _unstorable(self._what, error) from error
        return text

    def _dump(self, record: R) -> str:
        return self._adapter.dump_json((record,), warnings="error").decode()

    def check(self, record: R) -> None:
        """Raise what `encode` would, where no text is needed and types are known to be right."""
        if self._free_form(record):
            self.encode(record)

    def decode(self, text: str) -> R:
        """What `encode` was given."""
        return self._adapter.validate_json(text)[0]


JOB = Codec(Job, lambda job: job.spec.params)
NODE = Codec(Node)
EVENT = Codec(Event, lambda event: event.data)
ATTEMPT = Codec(Attempt)


def encode_meta(value: object) -> str:
    """A value of `meta` as JSON that can be read back. Raises InputInvalid if it cannot."""
    try:
        text = json.dumps(value)
        from_json(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise _unstorable("meta", error) from error
    return text


def decode_meta(text: str) -> Any:
    """What `encode_meta` was given. Raises ValueError if it cannot be read."""
    return json.loads(text)


def _unstorable(what: str, error: Exception) -> InputInvalid:
    return InputInvalid(
        f"a value of this {what} could not be read back from the store ({str(error)[:200]})",
        remedy="Nest it less deeply, and leave out what is not UTF-8 text, a number, a list or a mapping",
    )


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
