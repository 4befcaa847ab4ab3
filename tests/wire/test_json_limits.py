"""Limits on free-form JSON: what is within them passes, what is beyond them is refused with its path."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.security.poison import nested

from tenuto.wire.json_limits import MAX_DEPTH, MAX_INTEGER, MAX_VALUES, MIN_INTEGER, RECORD, check_json
from tenuto.wire.quantities import Unusable


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"": None},
        {"lr": 1e-3, "layers": [1, 2, {"문": "값", "on": True}]},
        nested(MAX_DEPTH),
        [0] * MAX_VALUES,
        [MIN_INTEGER, MAX_INTEGER, -0.0, 5e-324, 1.7e308],
        "\u202e\x1b\U0010ffff",
    ],
)
def test_ordinary_values_pass(value: Any) -> None:
    check_json(value)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (nested(MAX_DEPTH + 1), (0,) * 8),
        (nested(100_000), (0,) * 8),
        ({"a": {"b": [1, 1 << 63]}}, ("a", "b", 1)),
        ({"a": -(1 << 63) - 1}, ("a",)),
        ({"a": 10**400}, ("a",)),
        ({"a": [float("nan")]}, ("a", 0)),
        ({"a": float("inf")}, ("a",)),
        ({"a": "\ud800"}, ("a",)),
        ({"a": {"\udfff": 1}}, ("a",)),
        ({"a": "x\0y"}, ("a",)),
        ({1: "x"}, ()),
        ({"a": (1, 2)}, ("a",)),
        ({"a": {1, 2}}, ("a",)),
        ([0] * (MAX_VALUES + 1), ()),
        ([[0] * 5000, [0] * 5000], ()),
        ({"x": "y" * 70_000}, ()),
        (["ł" * 40_000], ()),
    ],
)
def test_what_is_beyond_a_limit_is_refused_with_its_path(value: Any, path: tuple[str | int, ...]) -> None:
    with pytest.raises(Unusable) as caught:
        check_json(value)

    assert caught.value.path == path
    assert caught.value.problem and caught.value.remedy


def test_records_may_hold_numbers_that_are_not_finite() -> None:
    check_json({"values": {"loss": float("nan")}}, RECORD)


def test_a_long_key_is_named_by_its_beginning() -> None:
    with pytest.raises(Unusable) as caught:
        check_json({"k" * 10_000: 1 << 64})

    assert len(json.dumps(caught.value.path)) < 100
