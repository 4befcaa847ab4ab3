"""What waits in memory: when a minute is written, up to where everything is durable, and what goes if room is short."""

from __future__ import annotations

import math

import pytest
from tests.contracts.series_contract import GPU, NOON, points, seconds

from tenuto.model.series import NODE, Points, Subject
from tenuto.store.series.pending import OLDEST, QUIET, SETTLE, Minute, Pending, Waiting

NAME = (NODE, GPU.name)
PLENTY = 1 << 30


def sealed(pending: Pending, now: float) -> list[tuple[Minute, Waiting]]:
    return pending.seal(now, 100)[0]


def begins(minutes: list[tuple[Minute, Waiting]]) -> list[float]:
    return [minute for (_, minute), _ in minutes]


def test_a_minute_is_written_when_it_is_over_and_has_settled() -> None:
    pending = Pending(PLENTY)
    pending.add([seconds(59)], now=59.0)
    assert sealed(pending, now=59 + SETTLE) == []
    pending.add([seconds(2, NOON + 59)], now=61.0)
    assert sealed(pending, now=61 + SETTLE / 2) == []
    assert begins(sealed(pending, now=61 + SETTLE)) == [NOON]


def test_a_job_that_ends_in_the_middle_of_a_minute_is_written_too() -> None:
    pending = Pending(PLENTY)
    pending.add([seconds(20)], now=20.0)
    assert begins(sealed(pending, now=20 + QUIET)) == [NOON]


def test_a_minute_whose_points_never_end_is_written_nevertheless() -> None:
    pending = Pending(PLENTY)
    for second in range(int(OLDEST) + 1):
        pending.add([points([NOON], power=[float(second)])], now=float(second))
    ((_, waiting),) = sealed(pending, now=OLDEST)
    assert waiting.open().values.tolist() == [[OLDEST]]


def test_nothing_counts_as_durable_beyond_a_point_that_is_not() -> None:
    pending = Pending(PLENTY)
    pending.add([seconds(200), seconds(200, subject=Subject(NODE, GPU.name))], now=0.0)
    first, *others = sealed(pending, now=SETTLE)
    pending.written(others)
    assert pending.kept(NAME) == (NOON + 179, NOON)
    pending.written([first])
    assert pending.kept(NAME) == (NOON + 179, NOON + 180)
    pending.add([seconds(1, NOON - 1000)], now=9.0)
    assert pending.kept(NAME)[1] == NOON - 1000


def test_points_that_come_while_their_minute_is_being_written_wait_for_the_next_time() -> None:
    pending = Pending(PLENTY)
    pending.add([seconds(61)], now=0.0)
    writing = sealed(pending, now=SETTLE)
    pending.add([points([NOON + 0.5], utilisation=[7.0])], now=SETTLE)
    pending.seal(SETTLE, 100, everything=True)
    pending.written(writing)
    ((minute, waiting),) = [found for found in sealed(pending, SETTLE) if found[0][1] == NOON]
    assert minute == (GPU, NOON)
    assert waiting.earliest == NOON
    assert waiting.points == 61
    assert pending.kept(NAME)[1] == NOON


def test_the_oldest_minutes_go_if_there_is_no_room_and_are_counted() -> None:
    pending = Pending(limit=200_000)
    for minute in range(500):
        pending.add([seconds(60, NOON + 60 * minute)], now=60.0 * minute)
        pending.seal(60.0 * minute, 100, pack=True)
    held = pending.of_subject(GPU)
    assert pending.points == 500 * 60
    assert pending.dropped + sum(len(chunk.at) for chunk in held.values()) == 500 * 60
    assert sorted(held) == [NOON + 60 * minute for minute in range(500 - len(held), 500)]
    assert len(held) > 100  # packed they take a tenth of the room


@pytest.mark.parametrize(
    "wrong", [points([NOON, math.nan], power=[1.0, 2.0]), points([NOON, NOON + 1], power=[1.0])]
)
def test_points_that_do_not_fit_together_are_refused_with_all_that_come_with_them(wrong: Points) -> None:
    pending = Pending(PLENTY)
    with pytest.raises(ValueError, match="Points of"):
        pending.add([seconds(3), wrong], now=0.0)
    assert pending.of_subject(GPU) == {}


def test_a_number_that_is_larger_than_any_is_unknown_and_nothing_else_is_lost() -> None:
    pending = Pending(PLENTY)
    pending.add([points([NOON, NOON + 1, NOON + 2], power=[1.0, 10**400, None])], now=0.0)
    pending.add([points([NOON + 3], power=[4.0])], now=0.0)
    chunk = pending.of_subject(GPU)[NOON]
    assert chunk.at.tolist() == [NOON, NOON + 1, NOON + 2, NOON + 3]
    assert [None if math.isnan(one) else one for one in chunk.values[0]] == [1.0, None, None, 4.0]


def test_a_name_that_has_been_silent_for_long_is_not_remembered() -> None:
    pending = Pending(PLENTY)
    pending.add([seconds(10)], now=0.0)
    pending.forget_silent(now=1e6)
    assert pending.kept(NAME) == (None, NOON)
    pending.written(pending.seal(1e6, 100)[0])
    assert pending.kept(NAME) == (NOON + 9, math.inf)
    pending.forget_silent(now=2e6)
    assert pending.kept(NAME) == (None, math.inf)
