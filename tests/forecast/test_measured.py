"""Curves that runs leave behind: found again by jobs of the same kind, refined by each of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.forecast.records import a_spec

from tenuto.forecast.measured import (
    KEPT_RATES,
    MOST_CURVES,
    Stretch,
    key_of,
    known_curve,
    refined,
    sizes_known,
)
from tenuto.model.job import JobSpec


def after(
    spec: JobSpec, *rates: float, size: int = 1, kind: str = "cpu", stored: Any = None
) -> dict[str, Any]:
    """The store after stretches at these rates."""
    stretches = [Stretch(size=size, rate=rate, at=float(at)) for at, rate in enumerate(rates)]
    return refined(stored or {}, spec, kind, stretches)


def test_a_later_job_of_the_same_kind_finds_the_curve_and_is_told_where_it_is_from() -> None:
    stored = after(a_spec(name="żółw"), 2.0)
    stored = after(a_spec(name="żółw"), 3.0, size=2, stored=stored)

    known = known_curve(stored, a_spec(name="another name"), {"cpu"}, {1, 2})

    assert known is not None
    assert known.curve == {1: 2.0, 2: 3.0}
    assert "żółw" in known.source


@pytest.mark.parametrize(
    "change",
    [
        {"run": ("python", "other.py")},
        {"workdir": "/elsewhere"},
        {"global_batch": 512},
        {"params": {"model": "bert"}},
        {"profile": "v2"},
        {"epochs": 3.0},
    ],
)
def test_what_makes_it_faster_or_slower_makes_it_another_curve(change: dict[str, Any]) -> None:
    assert known_curve(after(a_spec(), 2.0), a_spec(**change), {"cpu"}, {1}) is None


@pytest.mark.parametrize(
    "change", [{"params": {"lr": 0.1}}, {"env": {"A": "b"}}, {"steps": 7.0}, {"labels": {"a": "b"}}]
)
def test_what_does_not_is_the_same_one(change: dict[str, Any]) -> None:
    assert known_curve(after(a_spec(), 2.0), a_spec(**change), {"cpu"}, {1}) is not None


def test_a_named_profile_is_one_whatever_the_command_is() -> None:
    stored = after(a_spec(profile="bert", run=("a",)), 2.0)

    assert known_curve(stored, a_spec(profile="bert", run=("b",)), {"cpu"}, {1}) is not None


def test_on_devices_of_several_kinds_the_slowest_counts() -> None:
    spec = a_spec()
    stored = after(spec, 9.0, kind="A100")
    assert known_curve(stored, spec, {"A100", "T4"}, {1}) is None

    stored = after(spec, 2.0, kind="T4", stored=stored)

    known = known_curve(stored, spec, {"A100", "T4"}, {1})
    assert known is not None
    assert known.curve == {1: 2.0}


def test_a_curve_without_a_needed_size_is_none() -> None:
    stored = after(a_spec(), 2.0)

    assert known_curve(stored, a_spec(), {"cpu"}, {1, 2}) is None
    assert known_curve(stored, a_spec(), set(), {1}) is None
    assert known_curve(stored, a_spec(), {"cpu"}, ()) is None


def test_one_bad_hour_does_not_count_and_old_speeds_are_forgotten() -> None:
    (entry,) = after(a_spec(), 4.0, 4.2, 0.01, 3.8, 4.1).values()
    known = sizes_known(entry)[1]
    assert (known.rate, known.count) == (4.0, 5)
    assert known.spread > 1.0

    (entry,) = after(a_spec(), *[4.0] * 50, *[8.0] * KEPT_RATES).values()
    assert sizes_known(entry)[1].rate == 8.0
    assert len(entry["sizes"]["1"]["rates"]) == KEPT_RATES


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=20))
def test_whatever_is_measured_a_stored_rate_is_a_speed(rates: list[float]) -> None:
    stored = after(a_spec(), *rates)

    for entry in stored.values():
        assert all(0.0 < known.rate < float("inf") for known in sizes_known(entry).values())


def test_the_curves_refined_longest_ago_are_forgotten() -> None:
    stored: dict[str, Any] = {}
    for number in range(MOST_CURVES + 5):
        spec = a_spec(profile=str(number))
        stored = refined(stored, spec, "cpu", [Stretch(size=1, rate=1.0, at=float(number))])

    assert len(stored) == MOST_CURVES
    assert key_of(a_spec(profile="4"), "cpu") not in stored
    assert key_of(a_spec(profile="5"), "cpu") in stored
