"""What every history of numbers promises (`tenuto.store.series.base`), as stories. One passes by giving `series`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tenuto.model.series import JOB, NODE, Points, Subject
from tenuto.store.series.base import Found, SeriesQuery, SeriesStore
from tenuto.store.series.memory import MemorySeries
from tenuto.wire.sample import Gap

GPU = Subject(NODE, "노드 1", "gpu:0")
NOON = 1_799_971_200.0
"""The beginning of an hour, and of a minute."""
DAY = 86_400.0
Column = Sequence[float | None]


def points(at: Sequence[float], subject: Subject = GPU, **values: Column) -> Points:
    return Points(subject=subject, at=at, values=values)


def seconds(count: int, begin: float = NOON, subject: Subject = GPU) -> Points:
    """A point a second, whose value tells the second."""
    return points(
        [begin + i for i in range(count)],
        subject,
        utilisation=[float(i) for i in range(count)],
        fan=[None] * count,
    )


def everything(series: SeriesStore, subject: Subject = GPU, **asked: Any) -> Found:
    return series.read(SeriesQuery(subject=subject, **{"since": 0.0, "until": math.inf, **asked}))


def rows(found: Found) -> dict[float, Mapping[str, float | None]]:
    """What is known at each moment."""
    known: dict[float, Mapping[str, float | None]] = {
        at: {name: column[i] for name, column in found.values.items() if column[i] is not None}
        for i, at in enumerate(found.at)
    }
    assert list(known) == sorted(known) == list(found.at)
    return known


def close_to(wanted: Found) -> dict[float, object]:
    return {at: pytest.approx(values, rel=1e-9, abs=1e-9) for at, values in rows(wanted).items()}


class SeriesContract:
    """Stories about one history; `again` closes it and opens it anew, where that means anything."""

    def test_what_was_added_is_seen_at_once_and_after_it_was_written(self, series: SeriesStore) -> None:
        series.add([seconds(130)])
        before = everything(series)
        assert list(before.at) == [NOON + i for i in range(130)]
        assert list(before.values["utilisation"]) == [float(i) for i in range(130)]
        assert list(before.values["fan"]) == [None] * 130
        assert (before.step, before.following, before.means_until) == (0.0, None, None)
        series.flush()
        assert everything(series) == before

    def test_only_the_time_and_the_names_that_were_asked_for_are_told(self, series: SeriesStore) -> None:
        series.add([seconds(200)])
        for _ in range(2):
            found = everything(
                series, since=NOON + 59.5, until=NOON + 62, names=frozenset({"utilisation", "nothing"})
            )
            assert (list(found.at), dict(found.values)) == (
                [NOON + 60, NOON + 61],
                {"utilisation": [60.0, 61.0]},
            )
            series.flush()

    def test_numbers_are_kept_to_the_last_bit(self, series: SeriesStore) -> None:
        odd = [0.1, 1 / 3, 1e-300, -1e300, 2.0**60, math.pi, 85_899_345_920.0, -7.25, math.inf]
        at = [NOON + 0.001 * i + 1e-6 for i in range(len(odd))]
        series.add([points(at, value=odd)])
        series.flush()
        found = everything(series)
        assert (list(found.at), list(found.values["value"])) == (at, odd)

    def test_a_value_that_is_no_number_is_unknown(self, series: SeriesStore) -> None:
        series.add([points([NOON, NOON + 1], power=[math.nan, 3.0])])
        series.flush()
        assert list(everything(series).values["power"]) == [None, 3.0]

    def test_a_point_of_a_moment_that_is_there_replaces_it(self, series: SeriesStore) -> None:
        series.add([points([NOON, NOON + 1], power=[1.0, 1.0], fan=[1.0, 1.0])])
        series.flush()
        series.add([points([NOON + 1], power=[2.0])])
        for _ in range(2):
            assert rows(everything(series)) == {NOON: {"power": 1.0, "fan": 1.0}, NOON + 1: {"power": 2.0}}
            series.flush()

    def test_points_may_come_late_twice_and_in_any_order(self, series: SeriesStore) -> None:
        series.add([seconds(10, NOON + 600)])
        series.flush()
        late = seconds(610)
        backwards = points(late.at[::-1], utilisation=late.values["utilisation"][::-1])
        series.add([backwards, late])
        series.add([late])
        for _ in range(2):
            assert rows(everything(series)) == {NOON + i: {"utilisation": float(i)} for i in range(610)}
            series.flush()

    def test_minutes_are_told_as_means_of_all_their_points(self, series: SeriesStore) -> None:
        series.add([seconds(90)])
        series.flush()
        series.add([points([NOON + 61.5], utilisation=[1000.0])])
        for _ in range(2):
            found = everything(series, step=60.0)
            assert found.step == 60.0
            assert rows(found) == {
                NOON: {"utilisation": 29.5},
                NOON + 60: {"utilisation": pytest.approx((sum(range(60, 90)) + 1000) / 31)},
            }
            series.flush()

    @pytest.mark.parametrize("step", [0.5, 7.0, 60.0, 90.0, 300.0, 3600.0])
    def test_means_of_any_step_are_those_of_its_points(self, series: SeriesStore, step: float) -> None:
        plain = MemorySeries()
        for batch in (seconds(200, NOON - 80), seconds(20, NOON + 500.25), seconds(3, NOON + 7000)):
            series.add([batch])
            plain.add([batch])
            series.flush()
        wanted = everything(plain, step=step)
        assert rows(everything(series, step=step)) == close_to(wanted)

    def test_a_step_is_told_whole_even_if_the_time_asked_for_cuts_it(self, series: SeriesStore) -> None:
        series.add([seconds(180)])
        series.flush()
        found = everything(series, since=NOON + 70, until=NOON + 121, step=60.0)
        assert rows(found) == {NOON + 60: {"utilisation": 89.5}, NOON + 120: {"utilisation": 149.5}}

    @pytest.mark.parametrize("step", [0.0, 10.0, 60.0])
    def test_pages_are_the_whole_without_gap_or_overlap(self, series: SeriesStore, step: float) -> None:
        series.add([seconds(400, NOON - 100)])
        series.flush()
        series.add([seconds(5, NOON + 7200)])
        whole = rows(everything(series, step=step))
        parts: dict[float, Mapping[str, float | None]] = {}
        since: float | None = 0.0
        while since is not None:
            page = everything(series, since=since, step=step, limit=3)
            assert 0 < len(page.at) <= 3
            assert not set(page.at) & set(parts)
            parts |= rows(page)
            since = page.following
        assert parts == whole

    def test_what_is_old_is_told_as_means_and_what_is_older_not_at_all(self, series: SeriesStore) -> None:
        series.add([seconds(180)])
        series.flush()
        assert series.prune(NOON + 120 + DAY) >= 0
        found = everything(series)
        assert list(found.at) == [NOON, NOON + 60, *(NOON + i for i in range(120, 180))]
        assert found.means_until == NOON + 120
        assert list(found.values["utilisation"][:3]) == [29.5, 89.5, 120.0]
        page = everything(series, limit=2)
        assert (list(page.at), page.following) == ([NOON, NOON + 60], NOON + 120)
        assert rows(everything(series, step=120.0))[NOON] == {"utilisation": 59.5}
        assert series.prune(NOON + 3600 + 30 * DAY) > 0
        assert list(everything(series).at) == []
        assert series.subjects(NODE) == []

    def test_points_that_come_when_their_time_is_thinned_out_count_in_its_means(
        self, series: SeriesStore
    ) -> None:
        series.add([seconds(30)])
        series.prune(NOON + 3600 + DAY)
        series.add([seconds(30, NOON + 30), seconds(60, NOON + 600)])
        series.flush()
        assert rows(everything(series)) == {
            NOON: {"utilisation": 14.5},
            NOON + 600: {"utilisation": 29.5},
        }

    def test_pruning_touches_nothing_that_shall_be_kept(self, series: SeriesStore) -> None:
        series.add([seconds(3600)])
        series.flush()
        before = everything(series)
        assert series.prune(NOON + DAY) == 0
        assert everything(series) == before

    def test_what_is_measured_is_listed_in_order_and_page_by_page(self, series: SeriesStore) -> None:
        known = [
            Subject(kind, name, part)
            for kind, name in ((JOB, "j1"), (NODE, "a"), (NODE, "노드"), (NODE, "é"), (NODE, "Z"))
            for part in ("", "gpu:0", "gpu:10", "gpu:2", "100%_off")
        ]
        series.add([points([NOON], one, value=[1.0]) for one in known[::2]])
        series.flush()
        series.add([points([NOON], one, value=[1.0]) for one in known[1::2]])
        nodes = sorted(one for one in known if one.kind == NODE)
        assert series.subjects(NODE) == nodes
        assert series.subjects(NODE, "a", "gpu:") == [Subject(NODE, "a", f"gpu:{i}") for i in (0, 10, 2)]
        assert series.subjects(NODE, part="100%_") == [one for one in nodes if one.part.startswith("100%")]
        assert series.subjects(NODE, limit=7) == nodes[:7]
        assert series.subjects(NODE, limit=7, after=nodes[6]) == nodes[7:14]
        assert series.subjects("cluster") == []

    def test_gaps_are_told_once_and_where_they_touch(self, series: SeriesStore) -> None:
        first = Gap(since=NOON, until=NOON + 5, why="the sampler was restarted")
        second = Gap(since=NOON + 50, until=NOON + 60, why="노드가 꺼졌다")
        series.add_gaps("n", [second])
        series.flush()
        series.add_gaps("n", [first, second])
        series.add_gaps("other", [first])
        for _ in range(2):
            assert series.gaps("n", 0.0, math.inf) == [first, second]
            assert series.gaps("n", NOON + 5, NOON + 51) == [second]
            series.flush()
        series.prune(NOON + 40 * DAY)
        assert series.gaps("n", 0.0, math.inf) == []

    def test_nothing_is_left_of_a_name_that_is_forgotten(self, series: SeriesStore) -> None:
        other, job = Subject(NODE, "another"), Subject(JOB, GPU.name)
        for subject in (GPU, other, job):
            series.add([seconds(100, subject=subject), seconds(100, NOON + 90_000, subject)])
        series.add_gaps(GPU.name, [Gap(since=NOON, until=NOON + 1, why="")])
        series.flush()
        series.add([seconds(10, NOON + 200)])
        series.forget(NODE, GPU.name)
        series.flush()
        assert rows(everything(series)) == {}
        assert rows(everything(series, step=60.0)) == {}
        assert series.gaps(GPU.name, 0.0, math.inf) == []
        assert series.subjects(NODE) == [other]
        assert [len(everything(series, one).at) for one in (other, job)] == [200, 200]
        series.add([seconds(5)])
        series.flush()
        assert len(everything(series).at) == 5

    def test_of_a_name_nobody_knows_nothing_is_told(self, series: SeriesStore) -> None:
        assert everything(series) == Found(at=[], values={})
        assert everything(series, step=60.0).at == []
        assert series.kept(NODE, "nobody") == -math.inf

    def test_what_is_kept_is_durable(self, series: SeriesStore, again: Callable[[], SeriesStore]) -> None:
        series.add([seconds(100), seconds(70, subject=Subject(NODE, GPU.name, ""))])
        series.flush()
        assert series.kept(NODE, GPU.name) == NOON + 99
        series = again()
        assert len(everything(series).at) == 100
        assert series.kept(NODE, GPU.name) == NOON + 99

    @settings(
        max_examples=25,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
    )
    @given(data=st.data())
    def test_any_points_in_any_order_are_told_as_by_the_plainest_history(
        self, series: SeriesStore, data: st.DataObject
    ) -> None:
        series.forget(NODE, GPU.name)
        plain = MemorySeries()
        moments = st.integers(0, 800).map(lambda i: NOON - 400 + i / 4)
        values = st.none() | st.integers(-9, 9).map(float) | st.floats(-1e6, 1e6)
        for _ in range(data.draw(st.integers(1, 5))):
            at = data.draw(st.lists(moments, min_size=1, max_size=20))
            names = data.draw(st.sets(st.sampled_from(["power", "fan", "손실"]), min_size=1))
            column = st.lists(values, min_size=len(at), max_size=len(at))
            values_of = {name: data.draw(column) for name in sorted(names)}
            batch = Points(subject=GPU, at=at, values=values_of)
            series.add([batch])
            plain.add([batch])
            if data.draw(st.booleans()):
                series.flush()
        asked: dict[str, Any] = {
            "since": NOON + data.draw(st.integers(-450, 0)),
            "until": NOON + data.draw(st.integers(0, 450)),
            "step": data.draw(st.sampled_from([0.0, 2.5, 60.0, 120.0])),
            "limit": data.draw(st.sampled_from([5, 1000])),
        }
        found, wanted = (everything(one, GPU, **asked) for one in (series, plain))
        assert rows(found) == close_to(wanted)
        assert found.following == wanted.following
