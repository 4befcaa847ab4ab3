"""Files of jobs made into traces, whatever they lack.

A raw cluster log tells when jobs came, what they held and for how long; models and deadlines are drawn by lot,
as for the published traces. Pollux' traces tell neither steps nor durations.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tenuto.errors import InputInvalid, Place
from tenuto.sim.draws import TemplateDraws, WishDraws, Wishes
from tenuto.sim.read_pollux import read_pollux
from tenuto.sim.read_trace import is_pollux, is_raw, parse_trace
from tenuto.sim.table import Table, parse_table, read_text, require_columns
from tenuto.sim.trace import Trace, in_order_of_submission

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tenuto.model.curve import Profiles

# Of two spellings the first one counts: today's published header, then the older one.
_SUBMISSION = ("submission_time", "submit_time")
_REQUEST = ("num_gpu", "gpus")
_STATUS = "status"

# What a trace of Chronus must have; the rest it has for its own users and values.
CHRONUS = (
    "job_id", "num_gpu", "batch_size", "submit_time", "iterations", "model_name", "duration", "expect_time_list",
)  # fmt: skip

# The rules by which the published traces were made.
SHORTEST_S = 600
MOST_SLOTS = 64
ODD_SIZES = (3, 5, 6, 7)


class Origin(StrEnum):
    """What a file of jobs is, if that is not left to its columns."""

    RAW = "raw"
    CHRONUS = "chronus"
    POLLUX = "pollux"


class LeftOut(StrEnum):
    """Why a job of the log is not in the trace; the value is what the user reads."""

    FAILED = "failed"
    BEFORE_START = "submitted before the log begins"
    NO_SLOTS = "held no slot"
    ODD_SIZE = "held 3, 5, 6 or 7 slots"
    SHORT = f"ran for less than {SHORTEST_S} s"
    LARGE = f"held more than {MOST_SLOTS} slots"
    UNPROFILED = "held a number of slots that no profile knows"


@dataclass(frozen=True)
class Converted:
    """A trace and, by reason, how many jobs of the log it does without."""

    trace: Trace
    left_out: Mapping[LeftOut, int]
    remark: str = ""
    """What was added that the file does not say."""

    @property
    def left_out_count(self) -> int:
        """All jobs that were left out."""
        return sum(self.left_out.values())


def convert(
    path: Path, seed: int, wishes: Wishes, profiles: Profiles, origin: Origin | None = None
) -> Converted:
    """Make a trace of any file of jobs; one that is a trace already is taken as it is."""
    text = read_text(path)
    table = parse_table(text, str(path))
    if origin is Origin.RAW or (origin is None and is_raw(table)):
        return convert_raw(table, seed, wishes, profiles)
    if origin is Origin.POLLUX or (origin is None and is_pollux(table)):
        completed = read_pollux(table, profiles)
        return Converted(completed.trace, {}, completed.remark)
    if origin is Origin.CHRONUS:
        require_columns(table, CHRONUS, f"Chronus' columns are {','.join(CHRONUS)}")
    return Converted(parse_trace(text, file=str(path), name=path.stem), {})


def convert_raw(table: Table, seed: int, wishes: Wishes, profiles: Profiles) -> Converted:
    """Draw a model, a deadline and a best-effort mark for each job of the log that can be replayed."""
    log = _log_of(table)
    templates = TemplateDraws(seed, profiles)
    wish_draws = WishDraws(seed, wishes)
    possible = templates.sizes()
    reasons = [_reason(job, possible) for job in log]
    kept = [row for row, reason in enumerate(reasons) if reason is None]
    left_out = Counter(reason for reason in reasons if reason is not None)
    if not kept:
        raise InputInvalid(
            f"none of the {len(log)} jobs can be replayed: {tell(left_out)}",
            remedy="Choose a log with longer jobs, or profiles of more sizes with --profiles",
            place=Place(table.file),
        )

    drawn = [templates.draw(int(log[row].slots)) for row in kept]
    submitted = np.array([log[row].submitted for row in kept])
    slots = np.array([log[row].slots for row in kept], dtype=np.int64)
    duration = np.array([log[row].duration for row in kept])
    speed = [profiles.curves[drawn[place]].rate[size] for place, size in enumerate(slots.tolist())]
    allowed = np.array([wish_draws.seconds_allowed(seconds) for seconds in duration.tolist()])
    best_effort = np.array([wish_draws.best_effort() for _ in kept])
    trace = Trace(
        name=Path(table.file).stem,
        source=table.file,
        ids=tuple(log[row].id for row in kept),
        models=tuple(model for model, _ in drawn),
        batch=np.array([batch for _, batch in drawn], dtype=np.int64),
        submitted=submitted,
        steps=np.maximum(1, np.trunc(duration * speed)),
        deadline=np.where(best_effort, np.inf, submitted + allowed),
        best_effort=best_effort,
        requested=slots,
        duration=duration,
        position=np.arange(len(kept), dtype=np.int64),
        line=np.array([table.lines[row] for row in kept], dtype=np.int64),
    )
    return Converted(in_order_of_submission(trace), left_out)


def tell(left_out: Mapping[LeftOut, int]) -> str:
    """Say in one line what was left out: `5 failed, 2 ran for less than 600 s`."""
    return ", ".join(f"{left_out[reason]} {reason}" for reason in LeftOut if left_out.get(reason))


@dataclass(frozen=True, slots=True)
class _LoggedJob:
    id: str
    submitted: float
    duration: float
    slots: float
    status: str


def _log_of(table: Table) -> list[_LoggedJob]:
    submission = next((name for name in _SUBMISSION if table.has(name)), _SUBMISSION[0])
    request = next((name for name in _REQUEST if table.has(name)), _REQUEST[0])
    wanted = ("job_id", submission, "duration", request)
    require_columns(table, wanted, f"A raw log has {', '.join(wanted)}, and {_STATUS} if it is known")
    status = table.column(_STATUS) if table.has(_STATUS) else [""] * len(table.rows)
    columns = zip(
        table.ids("job_id"),
        table.numbers(submission).tolist(),
        table.numbers("duration").tolist(),
        table.numbers(request).tolist(),
        status,
        strict=True,
    )
    return [_LoggedJob(*values) for values in columns]


def _reason(job: _LoggedJob, possible: frozenset[int]) -> LeftOut | None:
    """Say why a job cannot be in the trace."""
    rules = (
        (job.status.lower() == "failed", LeftOut.FAILED),
        (job.submitted < 0, LeftOut.BEFORE_START),
        (job.slots <= 0, LeftOut.NO_SLOTS),
        (job.slots in ODD_SIZES, LeftOut.ODD_SIZE),
        (job.duration < SHORTEST_S, LeftOut.SHORT),
        (job.slots > MOST_SLOTS, LeftOut.LARGE),
        (job.slots not in possible, LeftOut.UNPROFILED),
    )
    return next((reason for applies, reason in rules if applies), None)
