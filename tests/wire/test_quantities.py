"""Quantities as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenuto.wire.quantities import (
    HORIZON,
    Unusable,
    byte_size,
    deadline,
    duration,
    duration_text,
    moment,
    rfc3339,
    worker_range,
)

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("2h30m", 9000.0),
        ("90s", 90.0),
        ("90", 90.0),
        (90, 90.0),
        (1.5, 1.5),
        ("1.5h", 5400.0),
        ("1d 12h", 129_600.0),
        ("500ms", 0.5),
        ("15min", 900.0),
        ("2w", 1_209_600.0),
        (" 1h ", 3600.0),
        ("0s", 0.0),
    ],
)
def test_a_duration_is_read(written: object, seconds: float) -> None:
    assert duration(written) == seconds


@pytest.mark.parametrize(
    "written",
    ["", "h", "1x", "1h-2m", "-1s", "h1", "1 hour", "٣h", "1e400", "nan", None, True, [], "9999999w"],
)
def test_what_is_no_duration_is_told_so(written: object) -> None:
    with pytest.raises(Unusable) as told:
        duration(written)
    assert told.value.remedy


@given(st.floats(0, HORIZON, allow_nan=False))
def test_a_duration_that_was_written_is_read_back_exactly(seconds: float) -> None:
    assert duration(duration_text(seconds)) == seconds


@pytest.mark.parametrize(
    ("written", "size"),
    [
        ("2GB", 2 * 10**9),
        ("2GiB", 2 << 30),
        ("2G", 2 * 10**9),
        ("1.5Mi", 3 << 19),
        ("10 kb", 10_000),
        (512, 512),
    ],
)
def test_a_size_is_read(written: object, size: int) -> None:
    assert byte_size(written) == size


@pytest.mark.parametrize("written", ["", "GB", "2XB", "-1", 0, "1e30", True, None, {}, "9999999TiB"])
def test_what_is_no_size_is_told_so(written: object) -> None:
    with pytest.raises(Unusable):
        byte_size(written)


@pytest.mark.parametrize(
    ("written", "ends"), [(4, (4, 4)), ("4", (4, 4)), ("1..8", (1, 8)), ("1 .. 8", (1, 8)), ("3..3", (3, 3))]
)
def test_a_range_is_read(written: object, ends: tuple[int, int]) -> None:
    assert worker_range(written) == ends


@pytest.mark.parametrize(
    "written", [0, -1, "0..4", "8..1", "1...8", "1-8", "..8", "a", 1.5, True, None, 10**6]
)
def test_what_is_no_range_is_told_so(written: object) -> None:
    with pytest.raises(Unusable):
        worker_range(written)


def test_a_range_backwards_is_turned_round_in_the_remedy() -> None:
    with pytest.raises(Unusable) as told:
        worker_range("8..1")
    assert told.value.remedy == "Write 1..8"


@pytest.mark.parametrize(
    ("written", "then"),
    [
        ("+6h", NOW + 21_600),
        ("6h", NOW + 21_600),
        ("2027-01-15T08:05:00Z", NOW + 300),
        ("2027-01-15 17:05+09:00", NOW + 300),
        ("20270115T080500Z", NOW + 300),
        ("2020-01-01T00:00Z", 1_577_836_800.0),
    ],
)
def test_a_moment_is_read(written: str, then: float) -> None:
    assert moment(written, NOW) == then


@pytest.mark.parametrize(
    "written",
    ["", "+", "soon", "2027-13-01T00:00Z", "2027-01-15", "2027-01-15T08:05", "0001-01-01T00:00+23:59"],
)
def test_what_is_no_moment_ahead_is_told_so(written: str) -> None:
    with pytest.raises(Unusable) as told:
        deadline(written, NOW)
    assert told.value.remedy


@given(st.floats(0, 4e9))
def test_a_moment_is_written_to_the_millisecond_and_read_back(seconds: float) -> None:
    assert abs(moment(rfc3339(seconds), 0.0) - seconds) <= 0.00051


def test_what_is_empty_is_shown_as_such() -> None:
    with pytest.raises(Unusable) as told:
        deadline("", 0.0)

    assert told.value.problem == "'' is no moment"
