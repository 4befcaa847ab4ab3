"""JSON that some parsers and writers take and others do not, and ways to put it anywhere into a request."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from tenuto.store import codec

HUGE = 10**400
SURROGATE = "\ud800"
_MARK = "<poison>"

VALUES = (
    "[" * 40 + "]" * 40,
    "[" * 197 + "]" * 197,
    "[" * 250 + "]" * 250,
    '{"x":' * 220 + "1" + "}" * 220,
    "[" * 5000 + "]" * 5000,
    "9" * 400,
    "-" + "9" * 5000,
    "9223372036854775808",
    "1e999",
    "-Infinity",
    "NaN",
    '"\\ud800"',
    '["\\udfff\\ud800"]',
    '{"\\ud800": 1}',
    '{"1": ' + "9" * 400 + "}",
    '"\\u0000"',
    '"\\u202e\\u001b]52;c;AAAA\\u0007"',
    "[" + "0," * 10_000 + "0]",
)
"""As JSON texts: some of them no writer of Python makes."""
KEYS = ("\\ud800", "\\u0000", "x" * 70_000, "\\u202e", "²")
"""As JSON texts without quotes."""


def nested(levels: int) -> Any:
    """A number inside so many lists."""
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def all_poisoned(body: Any) -> list[str]:
    """The JSON texts of a body with each of these in the place of each value and of one key of each mapping."""
    places = _places(body)
    values = [_text(_replaced(body, path, _MARK), poison) for path, _ in places for poison in VALUES]
    mappings = [path for path, value in places if isinstance(value, dict)]
    return values + [
        _text(_replaced(body, (*path, _MARK), 1), f'"{key}"') for path in mappings for key in KEYS
    ]


def poisoned(body: Any) -> st.SearchStrategy[str]:
    """One of them."""
    return st.sampled_from(all_poisoned(body))


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], Any]]:
    items: Any = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    return [(path, value), *(place for key, inner in items for place in _places(inner, (*path, key)))]


def _replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    key, *rest = path
    copy = list(value) if isinstance(value, list) else dict(value)
    copy[key] = _replaced(copy[key], tuple(rest), new) if rest else new
    return copy


def _text(marked: Any, poison: str) -> str:
    return json.dumps(marked).replace(json.dumps(_MARK), poison)


def forget_decoded() -> None:
    """Empty the caches of records, as a restart of the process would: what was written must be read."""
    codec.decode_job.cache_clear()
    codec.decode_node.cache_clear()
    codec._just_written.clear()
