"""Times as people say them."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from tenuto.cli.humane import amount, clock, in_local_time, parsed, relative, span, told
from tenuto.cli.printing import SLOW, remark_if_slow
from tenuto.client.plain import PlainClient

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (-3, "0 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (61, "1 min 1 s"),
        (600, "10 min"),
        (3569, "59 min"),
        (3570, "1 h"),
        (7800, "2 h 10 min"),
        (86_399, "1 d"),
        (90_000, "1 d 1 h"),
        (10 * 86_400, "10 d"),
    ],
)
def test_a_duration_has_its_two_largest_units(seconds: float, text: str) -> None:
    assert span(seconds) == text


@pytest.mark.parametrize(
    ("ahead", "text"),
    [
        (timedelta(hours=2, minutes=10), "today 14:10"),
        (timedelta(minutes=2, seconds=3), "today 12:02:03"),
        (timedelta(hours=13), "tomorrow 01:00"),
        (timedelta(hours=-13), "yesterday 23:00"),
        (timedelta(days=4), "Fri 20 Nov 12:00"),
        (timedelta(days=90), "2027-02-14 12:00"),
    ],
)
def test_a_moment_says_no_more_than_is_needed(ahead: timedelta, text: str) -> None:
    assert clock(NOW + ahead, NOW) == text


def test_a_moment_is_told_with_its_distance() -> None:
    assert told(NOW + timedelta(hours=2, minutes=10), NOW) == "today 14:10 (in 2 h 10 min)"
    assert relative(NOW - timedelta(minutes=12), NOW) == "12 min ago"


def test_times_of_the_api_are_shown_in_the_zone_of_the_machine() -> None:
    moment = parsed("2026-11-16T12:00:00.000Z")

    assert moment == NOW
    assert moment.utcoffset() == NOW.astimezone().utcoffset()


@pytest.mark.parametrize(
    ("value", "text"), [(2000.0, "2,000"), (1234.5, "1,234"), (0.5, "0.5"), (12.3456, "12.35"), (0.0, "0")]
)
def test_an_amount_has_no_more_digits_than_mean_something(value: float, text: str) -> None:
    assert amount(value) == text


def test_moments_in_a_sentence_of_the_server_are_told_in_our_zone() -> None:
    sentence = "2026-11-20T18:00Z cannot be promised; 2026-11-16T12:30:05Z or 2026-11-16T12:30:05.250Z can"

    told_here = in_local_time(sentence, NOW.astimezone())

    near, far = (clock(datetime.fromisoformat(text).astimezone(), NOW.astimezone()) for text in ISO)
    assert told_here == f"{far} cannot be promised; {near} or {near} can"


ISO = ("2026-11-16T12:30:05+00:00", "2026-11-20T18:00+00:00")


def test_whoever_waits_is_told_what_for(capsys: pytest.CaptureFixture[str]) -> None:
    with remark_if_slow("It compiles.", after=0.0):
        said, end = "", time.monotonic() + 20
        while not said and time.monotonic() < end:
            said = capsys.readouterr().err

    assert said == "It compiles.\n"


def test_whoever_does_not_wait_is_told_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with remark_if_slow("It compiles.", after=60.0):
        pass

    assert capsys.readouterr().err == ""


def test_nobody_is_told_what_a_server_does_before_it_is_known_to_be_there() -> None:
    with PlainClient("http://127.0.0.1:9", "token") as client:
        assert client.patience < SLOW
