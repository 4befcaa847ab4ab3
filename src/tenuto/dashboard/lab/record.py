"""A run of the laboratory that was begun on the page: what is remembered of it, also beyond the server that ran it."""

from __future__ import annotations

import json
import logging
import re
import shutil
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path

from tenuto.errors import InputInvalid
from tenuto.sim.whole_file import whole_file

log = logging.getLogger(__name__)

RUN = "run.json"
_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}")


class State(StrEnum):
    """How far a run is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    """The server ended meanwhile."""

    @property
    def live(self) -> bool:
        """Whether it will go on by itself."""
        return self in (State.WAITING, State.RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run, as it stands now."""

    id: str
    title: str
    figure: str
    """The figure that is drawn; nothing if a trace is replayed."""
    user: str
    created: float
    rules: str = ""
    """By which it is replayed, in a few words."""
    state: State = State.WAITING
    started: float | None = None
    ended: float | None = None
    trouble: str = ""
    """Why it failed, or what failed in it."""
    remarks: tuple[str, ...] = ()
    part: float = 0.0
    """How much is done, from 0 to 1."""
    cells: int = 0
    finished: int = 0
    """So many of the cells that were to be run."""
    doing: str = ""


def write_run(directory: Path, run: Run) -> None:
    """Remember a run; if there is no room for that, the run goes on all the same."""
    try:
        with whole_file(directory / RUN) as stream:
            stream.write(json.dumps(asdict(run), indent=2, ensure_ascii=False) + "\n")
    except InputInvalid as error:
        log.warning("a run of the laboratory will be forgotten: %s", error)


def found_runs(directory: Path) -> list[Run]:
    """What earlier servers left; what was at work then is interrupted, and what was never begun is removed."""
    runs = []
    for place in sorted(directory.glob("*")):
        if not _ID.fullmatch(place.name):
            continue
        try:
            told = json.loads((place / RUN).read_text(encoding="utf-8"))
            run = Run(**{**told, "state": State(told["state"]), "remarks": tuple(told["remarks"])})
        except (OSError, ValueError, KeyError, TypeError):
            shutil.rmtree(place, ignore_errors=True)
            continue
        runs.append(replace(run, state=State.INTERRUPTED, doing="") if run.state.live else run)
    return runs
