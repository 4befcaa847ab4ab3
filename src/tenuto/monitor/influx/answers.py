"""What an answer of the database means for the lines that were posted. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus

_SHOWN = 300
"""Characters of an answer that are shown at most."""
_LONGEST = 300.0
"""Seconds that a database may ask us to wait."""
_PARTIAL = re.compile(r"partial write\b.*?(?:dropped=(\d+))?\s*$", re.DOTALL)


class Answer(Enum):
    """What to do next."""

    TAKEN = "taken"
    """Go on with the next lines."""
    PARTLY = "partly"
    """Go on: what it did not take it never will."""
    BAD = "bad"
    """Among these lines is one that it never takes; the others it might."""
    LATER = "later"
    """Try the same again in a moment."""
    CLOSED = "closed"
    """Try the same again now and then: somebody must change something first."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """An answer, understood."""

    answer: Answer
    why: str = ""
    after: float | None = None
    """Seconds that the database asks us to wait."""
    lost: int = 0
    """Lines that it did not take and never will."""


_DATA = (HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNPROCESSABLE_ENTITY)
_BUSY = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)


def judge(status: int, headers: Mapping[str, str], body: str) -> Verdict:
    """What an answer means. `headers` has names in lower case, or knows none."""
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return Verdict(Answer.TAKEN)
    why = f"{status} {_said(body) or _phrase(status)}"
    if status in _DATA:
        if part := _PARTIAL.search(_said(body)):
            return Verdict(Answer.PARTLY, why, lost=max(int(part[1] or 0), 1))
        return Verdict(Answer.BAD, why)
    if status in _BUSY or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return Verdict(Answer.LATER, why, after=_seconds(headers.get("retry-after", "")))
    if "location" in headers:
        why = f"{status}, and sends us to {headers['location']}"
    return Verdict(Answer.CLOSED, why)


def _said(body: str) -> str:
    """The sentence of an answer: 1.x calls it `error`, 2.x `message`."""
    try:
        told = json.loads(body)
    except ValueError:
        told = body
    if isinstance(told, dict):
        told = told.get("error") or told.get("message") or ""
    return " ".join(str(told).split())[:_SHOWN]


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "without a word"


def _seconds(told: str) -> float | None:
    """What stands in Retry-After, if it is a number; a date is not worth another clock."""
    return min(float(told), _LONGEST) if told.isdecimal() else None
