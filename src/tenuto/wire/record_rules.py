"""What a record of a worker must have (see `records`): checked when it arrives, and when it is read from its file.

Standard library only. Fields that are not named here are free-form; `json_limits` has limits for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MAX_COUNT = 1 << 53
"""Steps, sequence numbers and generations; every reader of JSON has such integers exactly."""
_FIRST_SECOND, _LAST_SECOND = -6e10, 1e11
"""Unix seconds of clocks that may be wrong, but whose years have four digits at most."""
_MOST_VALUES = 100


def problem_of_record(record: Mapping[str, Any], seq: int | None = None) -> str | None:
    """Why a record cannot be kept, with `seq` as that number of its stream; None if it can."""
    number = record.get("seq")
    if not _is_count(number) or (seq is not None and number != seq):
        wanted = "it is no whole number from 0 on" if seq is None else f"{seq} is its turn"
        return f"its seq is {str(number)[:40]}, and {wanted}"
    kind, at = record.get("kind"), record.get("at")
    if not isinstance(kind, str) or not 0 < len(kind) <= 40:
        return "it has no kind"
    if not isinstance(at, int | float) or isinstance(at, bool) or not _FIRST_SECOND < at < _LAST_SECOND:
        return "at is no time in Unix seconds"
    for name in ("step", "generation"):
        if not _is_count(record.get(name)):
            return f"{name} is no whole number from 0 on"
    return _problem_of_numbers(record)


def _problem_of_numbers(record: Mapping[str, Any]) -> str | None:
    for name in ("world", "rank"):
        if record.get(name) is not None and not _is_count(record[name]):
            return f"{name} is no whole number from 0 on"
    for name in ("seconds", "samples", "samples_per_second"):
        if record.get(name) is not None and not _is_number(record[name]):
            return f"{name} is no number"
    values = record.get("values", {})
    if not isinstance(values, dict) or len(values) > _MOST_VALUES:
        return f"values are at most {_MOST_VALUES} numbers by name"
    return None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
