"""Who trains together: what a supervisor tells its workers, and the directory over which they talk.

Standard library only.

    LINK/membership.json   the newest membership, replaced as a whole by the supervisor; it only ever grows newer
    LINK/status            one page of memory that the worker keeps and the supervisor reads (`wire.status`)
    LINK/steps/OFFSET      what the worker tells (`wire.records`), in parts named after their first byte
    LINK/stack             what the worker was doing when it was asked (faulthandler, SIGUSR2)

A worker that has something urgent to show rings: it writes the name of its own directory (the parent of LINK) and a
line feed to the pipe `TENUTO_BELL`. Nobody waits for anybody here: each side may be killed and come back.

A worker joins a membership that contains it. One that is in a group and sees a newer membership
  - leaves its group at once, without a word, if one of the `lost` is in that group or in one it is about to form;
  - else agrees with the other members of its group on a step, and goes over there.
Who is not in it any more leaves there. If it is empty, all leave there, after a checkpoint.
The first member keeps the store at which the group meets; every member has one ready, at the port in its status.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tenuto.atomic_file import replace_file
from tenuto.wire.untrusted_files import UntrustedDirectory

FILE = "membership.json"
STATUS = "status"
STEPS = "steps"
STACK = "stack"
_MOST_BYTES = 16 << 20
"""A membership of some thousand workers has less than one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One worker of a generation. Its rank is its place in the list."""

    worker: str
    """Its id as text."""
    node: str
    host: str
    """Where its node is reached."""
    port: int
    """Of the store that it keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """One generation of a job: who is in it, in the order of ranks. Survivors come first, in their old order."""

    job: str
    generation: int
    """Ascending, not without gaps."""
    members: tuple[Member, ...]
    why: str = ""
    """`start`, `grow`, `shrink`, `loss` or `stop`; for people."""
    lost: tuple[str, ...] = ()
    """Workers that are gone and that some member may still be waiting for."""

    @property
    def name(self) -> str:
        """Under which its members meet: two memberships with one number can never mix."""
        return f"{self.generation}-{_digest(self.workers)}"

    @property
    def workers(self) -> tuple[str, ...]:
        """The ids, by rank."""
        return tuple(member.worker for member in self.members)

    def rank_of(self, worker: str) -> int | None:
        """A worker's rank; None if it is not in it."""
        return self.workers.index(worker) if worker in self.workers else None


def to_json(membership: Membership) -> dict[str, Any]:
    """As it is written."""
    return asdict(membership)


def from_json(told: Mapping[str, Any]) -> Membership:
    """As it was written."""
    return Membership(
        job=told["job"],
        generation=told["generation"],
        members=tuple(Member(**member) for member in told["members"]),
        why=told["why"],
        lost=tuple(told["lost"]),
    )


def read(link: str | Path) -> Membership | None:
    """The newest membership in a directory; None before the first.

    Raises OSError, ValueError, KeyError or TypeError if what is there is none.
    """
    link = Path(link)
    reading = UntrustedDirectory(link.parent, link.name).read_whole(FILE, _MOST_BYTES)
    if reading.problem:
        raise OSError(reading.problem)
    if not reading.data:
        return None
    try:
        return from_json(json.loads(reading.data))
    except RecursionError:
        raise ValueError(f"{link / FILE} is nested too deeply") from None


def write(link: str | Path, membership: Membership) -> None:
    """Replace what a worker sees, as a whole."""
    replace_file(str(Path(link) / FILE), json.dumps(to_json(membership)).encode(), mode=0o644)


def _digest(workers: tuple[str, ...]) -> str:
    """Short, and the same in every process."""
    value = 14695981039346656037  # FNV-1a
    for byte in "\n".join(workers).encode():
        value = ((value ^ byte) * 1099511628211) % (1 << 64)
    return f"{value:016x}"
