"""Every error that tenuto raises on purpose.

TenutoError
├── InputInvalid    exit 2   a file, a name or an option must be changed by the user
├── CellsFailed     exit 1   some cells of an experiment could not be run; the others are done
└── PlanRefused     exit 70  our bug: a policy proposed what the cluster cannot hold
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


class TenutoError(Exception):
    """Something that tenuto can explain."""

    code = "error"
    exit_code = 1


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a user's input something stands."""

    file: str
    line: int | None = None
    column: str | None = None

    def __str__(self) -> str:
        line = "" if self.line is None else f", line {self.line}"
        column = "" if self.column is None else f", column {self.column!r}"
        return f"{self.file}{line}{column}"


class InputInvalid(TenutoError):
    """What the user gave cannot be used as it is; the message names the place and the remedy."""

    code = "input_invalid"
    exit_code = 2

    def __init__(self, problem: str, *, remedy: str, place: Place | None = None) -> None:
        self.problem = problem
        self.remedy = remedy
        self.place = place
        where = "" if place is None else f"{place}: "
        super().__init__(f"{where}{problem}. {remedy}")


class CellsFailed(TenutoError):
    """Some cells of an experiment could not be run; all others are done."""

    code = "cells_failed"

    def __init__(self, reasons: Mapping[str, str], cells: int) -> None:
        self.reasons = reasons
        """Why, by the name of the cell."""
        lines = [f"{len(reasons)} of {cells} cells failed; the others are done."]
        lines += [f"  {name}: {reason}" for name, reason in reasons.items()]
        super().__init__("\n".join(lines))


class PlanRefused(TenutoError):
    """A plan that the cluster cannot hold was proposed; it was not carried out."""

    code = "plan_refused"
    exit_code = 70
