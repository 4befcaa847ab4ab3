"""How people write durations, sizes, ranges and moments; job files, headers, options and the API read them alike.

Pure functions from text to numbers. What cannot be read raises `Unusable`, which says what is wrong and what
would be right.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from math import isfinite

DAY = 86_400.0
HORIZON = 3650 * DAY
"""Nobody plans further ahead than ten years; what does has a typing error."""
MOST_WORKERS = 4096
MOST_BYTES = 1 << 50

_SECONDS = {"w": 7 * DAY, "d": DAY, "h": 3600.0, "m": 60.0, "min": 60.0, "s": 1.0, "ms": 0.001}
_DURATION_PART = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)(ms|min|w|d|h|m|s)", re.ASCII)
_DURATION = re.compile(rf"(?:{_DURATION_PART.pattern}\s?)+", re.ASCII)
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s?([kmgt]i?)?b?", re.ASCII | re.IGNORECASE)
_FACTORS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_FACTORS |= {"ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30, "ti": 1 << 40}
_RANGE = re.compile(r"(\d{1,9})(?:\s?\.\.\s?(\d{1,9}))?", re.ASCII)


class Unusable(ValueError):
    """A value that cannot be used: what is wrong with it, and what to write instead."""

    def __init__(
        self, problem: str, remedy: str, field: str = "", *, path: tuple[str | int, ...] = ()
    ) -> None:
        self.problem = problem
        self.remedy = remedy
        self.field = field
        """The key that is meant, if the value is a mapping whose keys do not fit together."""
        self.path = path or ((field,) if field else ())
        """The keys that lead to what is meant inside the value."""
        super().__init__(f"{problem}. {remedy}")


def duration(written: object) -> float:
    """Seconds: `2h30m`, `90s`, `1.5d`, or a plain number of seconds."""
    seconds = _number(written)
    if seconds is None and isinstance(written, str) and _DURATION.fullmatch(written.strip()):
        parts = _DURATION_PART.findall(written)
        seconds = sum(float(amount) * _SECONDS[unit] for amount, unit in parts)
    if seconds is None:
        raise Unusable(f"{_shown(written)} is no duration", "Write it like 2h30m, 45m, 90s or 1d")
    if not 0 <= seconds <= HORIZON:
        raise Unusable(f"{_shown(written)} is out of range", "A duration is from 0 to 3650 days")
    return seconds


def byte_size(written: object) -> int:
    """Bytes: `2GB` is two thousand million, `2GiB` is 2 x 2**30; a plain number is bytes."""
    size = _number(written)
    if size is None and isinstance(written, str) and (found := _SIZE.fullmatch(written.strip())):
        size = float(found[1]) * _FACTORS[(found[2] or "").lower()]
    if size is None:
        raise Unusable(f"{_shown(written)} is no size", "Write it like 512MB, 2GB or 1.5GiB")
    if not 1 <= size <= MOST_BYTES:
        raise Unusable(f"{_shown(written)} is out of range", "A size is at least one byte and at most 1 PiB")
    return int(size)


def worker_range(written: object) -> tuple[int, int]:
    """Least and most workers: `4` or `1..8`."""
    least, most = _range_ends(written)
    if not 1 <= least <= MOST_WORKERS or not 1 <= most <= MOST_WORKERS:
        raise Unusable(f"{_shown(written)} is out of range", f"A job has from 1 to {MOST_WORKERS} workers")
    if least > most:
        raise Unusable(f"{_shown(written)} ends before it begins", f"Write {most}..{least}")
    return least, most


def _range_ends(written: object) -> tuple[int, int]:
    if isinstance(written, int) and not isinstance(written, bool):
        return written, written
    if isinstance(written, str) and (found := _RANGE.fullmatch(written.strip())):
        return int(found[1]), int(found[2] or found[1])
    raise Unusable(f"{_shown(written)} is no number of workers", "Write a number such as 4, or a range: 1..8")


def moment(written: str, now: float) -> float:
    """Unix seconds: `+6h` or `6h` from now, or an ISO date and time with its zone."""
    text = written.strip()
    relative = text.removeprefix("+")
    if _DURATION.fullmatch(relative):
        return now + duration(relative)
    try:
        then = datetime.fromisoformat(text)
    except ValueError:
        raise Unusable(
            f"{_shown(written)} is no moment", "Write it like +6h, +1d12h or 2030-11-20T18:00+01:00"
        ) from None
    if then.tzinfo is None:
        raise Unusable(
            f"{_shown(written)} does not say in which time zone",
            f"Add the zone: {text}Z for UTC, or {text}+09:00"
            if "T" in text or " " in text
            else f"Add the time of day and the zone: {text}T18:00Z",
        )
    return _unix_seconds(then, written, now)


def earlier(written: str, now: float) -> float:
    """A moment that lies behind: `30d` or `12h` ago, or an ISO date and time with its zone."""
    text = written.strip()
    if _DURATION.fullmatch(text):
        return now - duration(text)
    try:
        return moment(text, now)
    except Unusable as error:
        remedy = "Write it like 12h, 30d or 2026-11-01T18:00+01:00"
        raise Unusable(error.problem, error.remedy if "zone" in error.problem else remedy) from None


def deadline(written: str, now: float) -> float:
    """A moment that lies ahead."""
    then = moment(written, now)
    if then <= now:
        raise Unusable(
            f"the deadline {_shown(written)} is in the past", "Give one that lies ahead, such as +6h"
        )
    if then - now > HORIZON:
        raise Unusable(f"the deadline {_shown(written)} is too far ahead", "Give one within 3650 days")
    return then


def as_written(value: object) -> object:
    """A moment that a YAML reader has already understood, as the text that it was."""
    return value.isoformat() if isinstance(value, date) else value


def rfc3339(seconds: float) -> str:
    """A moment for people and programs: UTC, with milliseconds."""
    then = datetime.fromtimestamp(seconds, UTC)
    rounded = (then + timedelta(microseconds=500)).isoformat(timespec="milliseconds")
    return rounded.replace("+00:00", "Z")


def duration_text(seconds: float) -> str:
    """Seconds as `duration` reads them back exactly: `2h30m` if that is all, else the plain number."""
    if seconds <= 0 or seconds != int(seconds):
        return repr(float(seconds))
    text, rest = "", int(seconds)
    for unit, length in (("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)):
        count, rest = divmod(rest, length)
        text += f"{count}{unit}" if count else ""
    return text


def _unix_seconds(then: datetime, written: str, now: float) -> float:
    try:
        return then.timestamp()
    except (OverflowError, OSError, ValueError):
        year = datetime.fromtimestamp(now, UTC).year
        raise Unusable(f"{_shown(written)} is out of range", f"Write a date near the year {year}") from None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if isfinite(number) else None


def _shown(value: object) -> str:
    text = value if isinstance(value, str) and value.strip() else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
