"""Traces to files: in our form, and in those of other programs."""

from __future__ import annotations

import csv
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import numpy as np

from tenuto.errors import InputInvalid, Place
from tenuto.sim.table import delimiter_of
from tenuto.sim.whole_file import whole_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tenuto.model.columns import Flags
    from tenuto.sim.trace import Trace

    Row = Sequence[str | int]


class Form(StrEnum):
    """How a trace is written down."""

    TENUTO = "tenuto"
    """Ours: full precision, an empty deadline for best-effort jobs."""
    REFERENCE = "reference"
    """As the reference's generator writes: whole numbers, a mark for best-effort jobs."""
    PUBLISHED = "published"
    """As the published cluster traces: whole numbers, no best-effort jobs."""
    CHRONUS = "chronus"
    """As Chronus reads: whole numbers, seconds allowed instead of a deadline, a user of its own for each job."""
    POLLUX = "pollux"
    """As Pollux' simulator reads: whole numbers, samples instead of steps, neither ids nor durations."""


HEADERS = {
    Form.TENUTO: "job_id,submitted,steps,model,deadline,global_batch,slots,duration,best_effort",
    Form.REFERENCE: "job_id,submit_time,iteration,model_name,ddl,batch_size,num_gpu,duration,best_effort",
    Form.PUBLISHED: "job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,duration",
    Form.CHRONUS: "job_id,user,num_gpu,batch_size,submit_time,iterations,model_name,duration,interval,"
    "expect_time_list,expect_value_list,best_effort,job_type",
    Form.POLLUX: "name,time,application,num_replicas,batch_size,ddl,samples",
}
LOST = {
    Form.POLLUX: "Pollux' form has no place for ids and durations: jobs are named after their models, "
    "and durations will be those of the profiles.",
}
"""What cannot be read back, for the user to know."""

# What Chronus' deadlines are worth there; all the same.
_VALUE = 10


def write_trace(trace: Trace, out: Path | TextIO, form: Form) -> None:
    """Write a trace's jobs in the order of their file; a `.txt` file is separated by blanks."""
    if isinstance(out, Path):
        with whole_file(out) as stream:
            _write(trace, stream, form, delimiter_of(out.name))
    else:
        _write(trace, out, form, ",")


def write_users(trace: Trace, stream: TextIO) -> None:
    """Write the names of the users in Chronus' form, one on each line."""
    stream.writelines(f"{_user(position)}\n" for position in range(len(trace)))


def _write(trace: Trace, stream: TextIO, form: Form, delimiter: str) -> None:
    if form is not Form.TENUTO:
        _check_whole(trace, form)
    writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
    writer.writerow(HEADERS[form].split(","))
    row_of = ROWS[form]
    for job in np.argsort(trace.position).tolist():
        writer.writerow(row_of(trace, job))


def _tenuto(trace: Trace, job: int) -> Row:
    best_effort = bool(trace.best_effort[job])
    return (
        trace.ids[job],
        _exact(float(trace.submitted[job])),
        _exact(float(trace.steps[job])),
        trace.models[job],
        "" if best_effort else _exact(float(trace.deadline[job])),
        int(trace.batch[job]),
        int(trace.requested[job]),
        _exact(float(trace.duration[job])),
        int(best_effort),
    )


def _published(trace: Trace, job: int) -> Row:
    return (
        trace.ids[job],
        int(trace.submitted[job]),
        int(trace.steps[job]),
        trace.models[job],
        int(trace.submitted[job]) + _seconds_allowed(trace, job),
        int(trace.batch[job]),
        int(trace.requested[job]),
        int(trace.duration[job]),
    )


def _reference(trace: Trace, job: int) -> Row:
    return (*_published(trace, job), int(trace.best_effort[job]))


def _chronus(trace: Trace, job: int) -> Row:
    best_effort = bool(trace.best_effort[job])
    return (
        trace.ids[job],
        _user(int(trace.position[job])),
        int(trace.requested[job]),
        int(trace.batch[job]),
        int(trace.submitted[job]),
        int(trace.steps[job]),
        trace.models[job],
        int(trace.duration[job]),
        0,
        _seconds_allowed(trace, job),
        _VALUE,
        # The reference's converter writes 0 for every job (Q16).
        int(best_effort),
        "best" if best_effort else "strict",
    )


def _pollux(trace: Trace, job: int) -> Row:
    return (
        f"{trace.models[job]}-{int(trace.position[job])}",
        int(trace.submitted[job]),
        trace.models[job],
        int(trace.requested[job]),
        int(trace.batch[job]),
        "" if trace.best_effort[job] else int(trace.deadline[job]),
        int(trace.steps[job]) * int(trace.batch[job]),
    )


ROWS: Mapping[Form, Callable[[Trace, int], Row]] = {
    Form.TENUTO: _tenuto,
    Form.REFERENCE: _reference,
    Form.PUBLISHED: _published,
    Form.CHRONUS: _chronus,
    Form.POLLUX: _pollux,
}


def _user(position: int) -> str:
    return f"user{position}"


def _seconds_allowed(trace: Trace, job: int) -> int:
    """From submission to deadline; for best-effort jobs other programs want a number there and ignore it."""
    if trace.best_effort[job]:
        return int(trace.duration[job])
    return int(trace.deadline[job]) - int(trace.submitted[job])


def _exact(number: float) -> str:
    return str(int(number)) if number.is_integer() else repr(number)


def _check_whole(trace: Trace, form: Form) -> None:
    """Refuse what the form cannot carry, so that everything written can be read again."""
    remedy = f"Write it in the form {Form.TENUTO}, which carries everything"
    if form is Form.PUBLISHED:
        problem = "is best effort, and the published form has no mark for that"
        _refuse_first(trace, trace.best_effort, problem, "best_effort", remedy)
    cut_off = (trace.steps < 1) | (trace.duration < 1)
    _refuse_first(trace, cut_off, f"is cut off to zero in the form {form}", "duration", remedy)
    late = np.trunc(trace.deadline) <= np.trunc(trace.submitted)
    _refuse_first(
        trace, late, f"has no time left in whole seconds, as the form {form} counts", "deadline", remedy
    )


def _refuse_first(trace: Trace, refused: Flags, problem: str, column: str, remedy: str) -> None:
    if refused.any():
        job = int(np.argmax(refused))
        place = Place(trace.source, int(trace.line[job]), column)
        raise InputInvalid(f"job {trace.ids[job]!r} {problem}", remedy=remedy, place=place)
