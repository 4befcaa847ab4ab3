"""What two training runs ended with, compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def farthest(one: Mapping[str, Any], other: Mapping[str, Any]) -> float:
    """The largest difference between two numbers in the same place."""
    assert one.keys() == other.keys()
    return max(
        abs(a - b)
        for name in one
        if name not in ("sentence", "calls")
        for a, b in zip(numbers(one[name]), numbers(other[name]), strict=True)
    )


def numbers(value: Any) -> Iterator[float]:
    """All of them, in order."""
    if isinstance(value, list):
        for item in value:
            yield from numbers(item)
    else:
        yield value


def times_seen(final: Mapping[str, Any]) -> set[int]:
    """How often samples contributed to an update, as the weights remember it."""
    found = set(map(round, final["seen"]))
    assert all(abs(value - round(value)) < 1e-9 for value in final["seen"])
    return found
