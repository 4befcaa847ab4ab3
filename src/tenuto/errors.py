"""Every error that tenuto raises on purpose.

TenutoError
├── InputInvalid    exit 2   422  a file, a name, an option or a field must be changed by the user
├── Declined        exit 3        a job's deadline cannot be promised, or the job never fits
├── NotFound        exit 4   404  no job, node, … is called that
├── Conflict        exit 5   409  it cannot be done as things stand; nothing was changed
├── NotAllowed      exit 6   401  no token, or one that is not known here
├── Unreachable     exit 7        no server answers
├── Busy            exit 75  503  the server works out too many questions at this moment; nothing was changed
├── StoreUnavailable exit 75 503  the store takes no writes now; nothing was changed (store.base)
├── ServerFailed    exit 70       the server has a bug, or what answered is no tenuto server
├── CellsFailed     exit 1        some cells of an experiment could not be run; the others are done
└── PlanRefused     exit 70  500  our bug: a policy proposed what the cluster cannot hold
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


class TenutoError(Exception):
    """Something that tenuto can explain."""

    code = "error"
    exit_code = 1
    http_status = 500
    remedy = ""
    """What the reader should do next."""
    field: str | None = None
    """The field of the request that is meant."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a user's input something stands."""

    file: str
    line: int | None = None
    column: str | int | None = None
    """By its name in a table, by its number in other text."""

    def __str__(self) -> str:
        line = "" if self.line is None else f", line {self.line}"
        column = "" if self.column is None else f", column {self.column!r}"
        return f"{self.file}{line}{column}"


class InputInvalid(TenutoError):
    """What the user gave cannot be used as it is; the message names the place and the remedy."""

    code = "input_invalid"
    exit_code = 2
    http_status = 422

    def __init__(
        self, problem: str, *, remedy: str, place: Place | None = None, field: str | None = None
    ) -> None:
        self.problem = problem
        self.remedy = remedy
        self.place = place
        self.field = field
        where = "" if place is None else f"{place}: "
        super().__init__(f"{where}{problem}. {remedy}")


class Told(TenutoError):
    """An error with a code of its own, a sentence and a remedy; it travels over the wire unchanged."""

    def __init__(self, problem: str, *, code: str = "", remedy: str = "", field: str | None = None) -> None:
        self.problem = problem
        self.code = code or self.code
        self.remedy = remedy
        self.field = field
        super().__init__(f"{problem}. {remedy}" if remedy else problem)


class Declined(Told):
    """The platform said no to a job; the job's record holds the reason and the counter-offers."""

    code = "declined"
    exit_code = 3
    http_status = 409
    job = ""
    """Its id."""


class NotFound(Told):
    """Nothing here is called that."""

    code = "not_found"
    exit_code = 4
    http_status = 404


class Conflict(Told):
    """It cannot be done as things stand. Nothing was changed."""

    code = "conflict"
    exit_code = 5
    http_status = 409


class NotAllowed(Told):
    """No token, or one that is not known here."""

    code = "not_allowed"
    exit_code = 6
    http_status = 401


class Unreachable(Told):
    """No server answers."""

    code = "unreachable"
    exit_code = 7
    http_status = 503


class Busy(Told):
    """Too many ask at the same time. Nothing was changed; try again a little later."""

    code = "busy"
    exit_code = 75
    http_status = 503
    retry_after = 2
    """Seconds."""


class ServerFailed(Told):
    """The server answered, but not with anything that it should."""

    code = "server_failed"
    exit_code = 70


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
