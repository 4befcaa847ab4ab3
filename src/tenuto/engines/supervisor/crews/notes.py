"""What a supervisor remembers of crews on disk, so that one that was killed goes on where it was.

DIR/crews/JOB.json            the newest order, and the newest memberships
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from tenuto.engines.supervisor.shim.files import read_whole, write_whole
from tenuto.wire import membership as memberships
from tenuto.wire.codec import decode, encode
from tenuto.wire.membership import Membership
from tenuto.wire.worker import CrewOrder

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Note:
    """One job."""

    order: CrewOrder
    memberships: tuple[Membership, ...] = ()
    """Ascending."""


class CrewNotes:
    """One file for each job that rescales in place."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    def all(self) -> list[Note]:
        """Everything that was written down; what cannot be read is logged and left out."""
        notes = (_read(path) for path in sorted(self._directory.glob("*.json")))
        return [note for note in notes if note is not None]

    def write(self, note: Note) -> None:
        """Remember a job. If there is no room, the workers are told all the same: they keep it in their directories."""
        told = {
            "order": json.loads(encode(note.order)),
            "memberships": [memberships.to_json(one) for one in note.memberships],
        }
        try:
            write_whole(str(self._path(note.order.job)), told)
        except OSError as error:
            log.warning("the crew of %s cannot be written down: %s", note.order.job, error)

    def forget(self, job: str) -> None:
        """The job is over here."""
        self._path(job).unlink(missing_ok=True)

    def _path(self, job: str) -> Path:
        return self._directory / f"{quote(job, safe='')}.json"


def _read(path: Path) -> Note | None:
    try:
        written = read_whole(str(path))
        if written is None:
            return None
        return Note(
            decode(CrewOrder, json.dumps(written["order"]).encode()),
            tuple(memberships.from_json(one) for one in written["memberships"]),
        )
    except (OSError, ValueError, LookupError, TypeError) as error:
        log.warning("%s is left out, because it cannot be read: %s", path, error)
        return None
