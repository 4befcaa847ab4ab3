"""Traces to files, in our form, in that of the reference's generator, or in that of the published traces."""

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
    from collections.abc import Callable, Iterator, Sequence

    from tenuto.model.columns import Flags
    from tenuto.sim.trace import Trace


class Form(StrEnum):
    """How a trace is written down."""

    TENUTO = "tenuto"
    """Ours: full precision, an empty deadline for best-effort jobs."""
    REFERENCE = "reference"
    """As the reference's generator writes: whole numbers, a mark for best-effort jobs."""
    PUBLISHED = "published"
    """As the published cluster traces: whole numbers, no best-effort jobs."""


HEADERS = {
    Form.TENUTO: "job_id,submitted,steps,model,deadline,global_batch,slots,duration,best_effort",
    Form.REFERENCE: "job_id,submit_time,iteration,model_name,ddl,batch_size,num_gpu,duration,best_effort",
    Form.PUBLISHED: "job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,duration",
}


def write_trace(trace: Trace, out: Path | TextIO, form: Form) -> None:
    """Write a trace's jobs in the order of their file; a `.txt` file is separated by blanks."""
    if isinstance(out, Path):
        with whole_file(out) as stream:
            _write(trace, stream, form, delimiter_of(out.name))
    else:
        _write(trace, out, form, ",")


def _write(trace: Trace, stream: TextIO, form: Form, delimiter: str) -> None:
    if form is not Form.TENUTO:
        _check_whole(trace, form)
    header = HEADERS[form].split(",")
    writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
    writer.writerow(header)
    for row in _rows(trace, form):
        writer.writerow(row[: len(header)])


def _rows(trace: Trace, form: Form) -> Iterator[Sequence[str | int]]:
    number: Callable[[float], str | int] = _exact if form is Form.TENUTO else int
    for job in np.argsort(trace.position).tolist():
        best_effort = bool(trace.best_effort[job])
        submitted, duration = float(trace.submitted[job]), float(trace.duration[job])
        if not best_effort:
            deadline = number(float(trace.deadline[job]))
        else:
            # The reference wants a number there and then ignores it.
            deadline = "" if form is Form.TENUTO else int(submitted) + int(duration)
        yield (
            trace.ids[job],
            number(submitted),
            number(float(trace.steps[job])),
            trace.models[job],
            deadline,
            int(trace.batch[job]),
            int(trace.requested[job]),
            number(duration),
            int(best_effort),
        )


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
