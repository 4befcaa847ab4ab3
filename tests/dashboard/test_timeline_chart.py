"""The timeline's chart and table: where everything lies, and what the browser is trusted with."""

from __future__ import annotations

import json

from tenuto.dashboard.timeline_chart import (
    AT_ONCE,
    FORESEEN,
    PAST,
    RANGES,
    RESERVED,
    USUAL,
    asked_for,
    bars,
    height,
    lines,
    marks,
    options,
    range_in,
    seconds,
    shown,
)
from tenuto.wire.quantities import rfc3339
from tenuto.wire.questions import StretchOut
from tenuto.wire.timeline import TimelineJob, TimelineOut, UsedOut

NOW = 1_800_000_000.0
HOUR = 3600.0
NOTHING = UsedOut(at=[], slots=[])


def a_stretch(begin: float, end: float | None, slots: int) -> StretchOut:
    """In seconds from now."""
    return StretchOut(
        begin=rfc3339(NOW + begin), end=None if end is None else rfc3339(NOW + end), slots=slots
    )


def a_job(name: str = "학습", **known: object) -> TimelineJob:
    plain: dict[str, object] = {
        "id": f"id of {name}", "name": name, "owner": "Łucja", "state": "running", "submitted_at": rfc3339(NOW - 900.0),
        "ended_at": None, "deadline": None, "promised": None, "promise": "none", "finish": None, "past": [],
        "foreseen": [], "reserved": [],
    }  # fmt: skip
    return TimelineJob.model_validate({**plain, **known})


def a_timeline(*jobs: TimelineJob, used: UsedOut = NOTHING) -> TimelineOut:
    return TimelineOut(
        since=rfc3339(NOW - HOUR), until=rfc3339(NOW + HOUR), now=rfc3339(NOW), as_of=rfc3339(NOW), slots=8,
        jobs=list(jobs), more=False, past=used, foreseen=NOTHING,
    )  # fmt: skip


def from_now(bar: list[float]) -> list[float]:
    return [bar[0] / 1000 - NOW, bar[1] / 1000 - NOW, *bar[2:]]


def test_every_stretch_is_a_bar_of_its_row() -> None:
    first = a_job("first", past=[a_stretch(-60, 0, 2)], foreseen=[a_stretch(0, 30, 4)])
    second = a_job("second", reserved=[a_stretch(5, 9, 1)])

    assert [from_now(bar) for bar in bars(a_timeline(first, second))] == [
        [-60, 0, 0, 2, PAST],
        [0, 30, 0, 4, FORESEEN],
        [5, 9, 1, 1, RESERVED],
    ]


def test_a_stretch_without_an_end_goes_to_the_expected_one_or_out_of_the_window() -> None:
    expected = a_job("a", foreseen=[a_stretch(0, None, 1)], finish=rfc3339(NOW + 90))
    endless = a_job("b", foreseen=[a_stretch(0, None, 1)])

    assert [from_now(bar)[1] for bar in bars(a_timeline(expected, endless))] == [90, HOUR]


def test_the_axis_fits_what_there_is_and_stays_within_the_window() -> None:
    since, until = shown(
        a_timeline(a_job(past=[a_stretch(-1000, 0, 1)], foreseen=[a_stretch(0, 9 * HOUR, 1)]))
    )
    assert (round(since - NOW), round(until - NOW)) == (-1060, 3600)

    since, until = shown(a_timeline(a_job()))
    assert since < NOW < until and until - since < HOUR


def test_deadlines_and_promises_are_marks_in_the_colour_of_the_promise() -> None:
    at_risk = a_job("a", deadline=rfc3339(NOW + 5), promised=rfc3339(NOW + 4), promise="at_risk")
    unpromised = a_job("b", deadline=rfc3339(NOW + 6))

    found = marks(a_timeline(at_risk, unpromised))

    assert [mark["value"][1] for mark in found] == [0, 0, 1]
    assert found[0]["itemStyle"] == found[1]["itemStyle"] != found[2]["itemStyle"]


def test_names_reach_the_browser_as_values_and_never_as_code() -> None:
    evil = a_job('");alert(1);("<script>')

    told = options(a_timeline(evil), first=True)

    code = told["tooltip"][":formatter"]
    rows = json.loads(code.removeprefix("tenutoTimeline.tip(").removesuffix(")"))
    assert rows[0][0] == evil.name


def test_what_somebody_zoomed_to_is_left_alone() -> None:
    many = a_timeline(*(a_job(str(number)) for number in range(50)))

    again = json.dumps(options(many, first=False)["dataZoom"])
    assert "start" not in again and "endValue" not in again
    rows = options(many, first=True)["dataZoom"][2]
    assert (rows["startValue"], rows["endValue"], rows["show"]) == (0, AT_ONCE - 1, True)
    assert height(50) == height(AT_ONCE) > height(5) > height(0)


def test_nothing_is_drawn_where_nobody_counted() -> None:
    used = UsedOut(at=[NOW - 900, NOW - 890, NOW - 100, NOW - 90], slots=[4, 4, 2, 2])

    points = options(a_timeline(a_job(), used=used), first=True)["series"][0]["data"]

    assert [value for _, value in points] == [4, 4, None, 2, 2]


def test_the_table_tells_the_same() -> None:
    runs = a_job(
        "runs",
        past=[a_stretch(-60, 0, 2)],
        foreseen=[a_stretch(0, 30, 2), a_stretch(30, None, 4)],
        promised=rfc3339(NOW + 90),
        promise="at_risk",
    )
    ended = a_job("ended", ended_at=rfc3339(NOW - 5), past=[a_stretch(-60, -5, 2)], state="succeeded")

    first, second = lines(a_timeline(runs, ended))

    assert (first["slots"], first["next"]) == (2, {"at": rfc3339(NOW + 30), "slots": 4})
    assert (first["promise"], first["tone"], first["href"]) == ("at risk", "warn", "/jobs/id%20of%20runs")
    assert (second["slots"], second["next"], second["end"]) == (0, None, rfc3339(NOW - 5))


def test_ranges_are_named_in_addresses() -> None:
    assert [range_in(one.label) for one in RANGES] == list(RANGES)
    assert range_in("for ever") is USUAL
    assert asked_for(USUAL) == {"since": "3600s", "until": "+3600s"}
    assert seconds(rfc3339(NOW)) == NOW
