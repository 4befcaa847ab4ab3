"""Limits on free-form JSON values at the edge: depth, size, number of values, size of numbers, and text.

Typed fields have limits of their own. These apply where a request, a job file or a record may hold any JSON value
(`params`, settings of a policy, records of workers). A value within them can be written and read by every reader of
the platform: the store, the API's replies, and clients in other languages. The store's reader gives up at 200 levels
and its writer at 255, so a limit well below both leaves room for the levels around a value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

from tenuto.wire.quantities import Unusable

MAX_DEPTH = 32
"""Levels of lists and mappings inside each other, the outermost included."""
MAX_VALUES = 10_000
"""Keys and items of one value, at all levels together."""
MAX_BYTES = 65_536
"""UTF-8 bytes of one value as JSON."""
MAX_INTEGER = (1 << 63) - 1
MIN_INTEGER = -(1 << 63)
_LONGEST_SHOWN_PATH = 8
"""Keys of a path that an error names."""
_LONGEST_SHOWN_KEY = 60
"""Characters of a key that an error names."""

JsonPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonLimits:
    """What one free-form value may be. Integers outside of 64 bits and broken text are never allowed."""

    depth: int = MAX_DEPTH
    values: int = MAX_VALUES
    bytes: int = MAX_BYTES
    finite: bool = True
    """Whether NaN and infinities are refused; JSON of Python programs has them."""


SETTINGS = JsonLimits()
FORM = JsonLimits(values=100_000, bytes=16 << 20)
"""A whole job, whose fields have limits of their own."""
RECORD = JsonLimits(bytes=131_072, finite=False)
"""One record of a worker: the longest holds the stacks of a worker that hangs. A loss may be NaN."""


def check_json(value: object, limits: JsonLimits = SETTINGS) -> None:
    """Check a value that was read from JSON or YAML. Raises Unusable with the path of what must be changed.

    The walk stops at the first problem, so its work is bounded by the limits. The size is computed last, when depth
    and number of values are known to be small.
    """
    count = 0
    waiting: list[tuple[JsonPath, object]] = [((), value)]
    while waiting:  # without recursion, so that no depth exhausts the stack
        path, inner = waiting.pop()
        _check_one(path, inner, limits)
        if not isinstance(inner, Mapping | list):
            continue
        count += len(inner)
        if count > limits.values:
            raise Unusable(
                f"has more than {limits.values} keys and items", "Put more into a file of your own"
            )
        if len(path) >= limits.depth:
            raise _at(path, f"is nested more than {limits.depth} levels deep", "Write it flatter")
        items = inner.items() if isinstance(inner, Mapping) else enumerate(inner)
        waiting += [((*path, key), below) for key, below in items]
    size = len(json.dumps(value, ensure_ascii=False).encode())
    if size > limits.bytes:
        raise Unusable(f"takes {size} bytes", f"Use at most {limits.bytes}; put more into a file of your own")


def check_text(text: str) -> str:
    """Check a text that becomes an argument, a path or part of a record."""
    if "\0" in text:
        raise Unusable("a NUL character stands in it", "Leave it out")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise Unusable("half a character stands in it (a lone surrogate)", "Send UTF-8")
    return text


def _check_one(path: JsonPath, value: object, limits: JsonLimits) -> None:
    match value:
        case None | bool() | list():
            return
        case str():
            _check_text_at(path, value)
        case int():
            if not MIN_INTEGER <= value <= MAX_INTEGER:
                raise _at(path, "is an integer of more than 64 bits", "Write it as text, in quotes")
        case float():
            if limits.finite and not isfinite(value):
                raise _at(path, "is no finite number", "Give a finite number, or text in quotes")
        case Mapping():
            for key in value:
                if not isinstance(key, str):
                    raise _at(path, "some keys are no texts", "Write the keys in quotes")
                _check_text_at(path, key)
        case _:
            raise _at(
                path,
                "cannot be written as JSON",
                "Use texts, finite numbers, lists, mappings, true and false",
            )


def _check_text_at(path: JsonPath, text: str) -> None:
    try:
        check_text(text)
    except Unusable as error:
        raise _at(path, error.problem, error.remedy) from None


def _at(path: JsonPath, problem: str, remedy: str) -> Unusable:
    return Unusable(problem, remedy, path=_shown(path))


def _shown(path: JsonPath) -> JsonPath:
    return tuple(
        part[:_LONGEST_SHOWN_KEY] if isinstance(part, str) else part for part in path[:_LONGEST_SHOWN_PATH]
    )
