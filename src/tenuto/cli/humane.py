"""Times as people say them. Pure: what time it is now is given."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

_WRITTEN = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z")
"""A moment in a sentence of the server's."""
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def span(seconds: float) -> str:
    """A duration with its two largest units: `45 s`, `12 min`, `2 h 10 min`, `3 d 4 h`."""
    whole = max(round(seconds), 0)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < 10 * _MINUTE:
        return _two(whole, _MINUTE, "min", 1, "s")
    if whole < _HOUR - 30:
        return f"{round(whole / _MINUTE)} min"
    whole = round(whole / _MINUTE) * _MINUTE
    if whole < _DAY:
        return _two(whole, _HOUR, "h", _MINUTE, "min")
    return _two(round(whole / _HOUR) * _HOUR, _DAY, "d", _HOUR, "h")


def _two(whole: int, large: int, name: str, small: int, other: str) -> str:
    first, rest = divmod(whole, large)
    second = rest // small
    return f"{first} {name} {second} {other}" if second else f"{first} {name}"


def parsed(text: str) -> datetime:
    """A moment of the API's, in the zone of this machine."""
    return datetime.fromisoformat(text).astimezone()


def clock(moment: datetime, now: datetime) -> str:
    """A moment as a calendar would have it, with no more than is needed."""
    days = (moment.date() - now.date()).days
    time = f"{moment:%H:%M}"
    if abs(moment - now) < timedelta(minutes=10):
        time = f"{moment:%H:%M:%S}"
    if days == 0:
        return f"today {time}"
    if days in (1, -1):
        return f"{'tomorrow' if days == 1 else 'yesterday'} {time}"
    if moment.year == now.year:
        return f"{moment:%a} {moment.day} {moment:%b} {time}"
    return f"{moment:%Y-%m-%d} {time}"


def relative(moment: datetime, now: datetime) -> str:
    """How far away a moment is: `in 2 h 10 min`, `5 min ago`."""
    seconds = (moment - now).total_seconds()
    return f"in {span(seconds)}" if seconds >= 0 else f"{span(-seconds)} ago"


def told(moment: datetime, now: datetime) -> str:
    """Both: `today 18:05 (in 2 h 10 min)`."""
    return f"{clock(moment, now)} ({relative(moment, now)})"


def amount(value: float) -> str:
    """A number of steps: no more digits than mean something."""
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:,.4g}"


def in_local_time(sentence: str, now: datetime) -> str:
    """A sentence of the server's, which cannot know our zone, with its moments as they are told elsewhere."""
    return _WRITTEN.sub(lambda found: clock(parsed(found[0]), now), sentence)
