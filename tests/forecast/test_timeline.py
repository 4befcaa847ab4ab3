"""Slots over time: what a job had adds up, nobody has two sizes at once, and all together never more than there are."""

from __future__ import annotations

from itertools import pairwise
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.forecast.records import NOW, a_contract, a_node, a_record, a_scene, answered

from tenuto.forecast.dry_run import foreseen, reserved
from tenuto.forecast.future import foresee_cheaply
from tenuto.forecast.stretch import Stretch
from tenuto.forecast.timeline import MOST_STRETCHES, Window, first_of_all, had, mean_use, will_have
from tenuto.model.event import Event
from tenuto.model.job import Reply
from tenuto.model.phase import Phase
from tenuto.policy.registry import POLICIES

EVER = Window(-inf, inf, NOW)


def scaled(at: float, workers: int, **data: object) -> Event:
    return Event(kind="scaled", at=at, actor="policy:elasticflow", job="a", data={"workers": workers, **data})


def stopped(at: float, phase: Phase = Phase.QUEUED) -> Event:
    return Event(kind="phase", at=at, actor="controller", job="a", before="running", after=phase.value)


changes = st.lists(
    st.tuples(
        st.floats(0.0, 1000.0), st.one_of(st.integers(0, 8), st.sampled_from([Phase.PAUSED, Phase.RUNNING]))
    ),
    max_size=40,
).map(lambda told: sorted(told, key=lambda change: change[0]))


def events_of(told: list[tuple[float, int | Phase]]) -> list[Event]:
    return [
        scaled(NOW - 1000.0 + at, to) if isinstance(to, int) else stopped(NOW - 1000.0 + at, Phase(to))
        for at, to in told
    ]


@given(told=changes)
def test_what_a_job_had_adds_up_to_its_slot_seconds(told: list[tuple[float, int | Phase]]) -> None:
    events = events_of(told)
    expected, size = 0.0, 0
    for event, following in pairwise([*events, stopped(NOW)]):
        if event.kind == "scaled":
            size = event.data["workers"]
        elif event.after == Phase.PAUSED:
            size = 0
        expected += size * (following.at - event.at)

    stretches = had(a_record(), events, EVER)

    assert sum((one.end - one.begin) * one.slots for one in stretches if one.end) == pytest.approx(expected)
    assert all(one.slots > 0 and one.begin < (one.end or inf) <= NOW for one in stretches)
    assert all(one.end <= other.begin for one, other in pairwise(stretches) if one.end)


def test_moves_of_the_same_size_are_one_stretch() -> None:
    events = [scaled(NOW - 50.0, 2), scaled(NOW - 30.0, 2), scaled(NOW - 20.0, 4)]

    assert had(a_record(), events, EVER) == (
        Stretch(NOW - 50.0, NOW - 20.0, 2),
        Stretch(NOW - 20.0, NOW, 4),
    )


def test_an_ended_job_has_nothing_after_its_end() -> None:
    job = a_record(ended_at=NOW - 5.0, phase=Phase.SUCCEEDED)

    assert had(job, [scaled(NOW - 50.0, 2)], EVER) == (Stretch(NOW - 50.0, NOW - 5.0, 2),)


def test_only_what_touches_the_window_is_told_and_never_very_much() -> None:
    events = [scaled(NOW - 1000.0 + number, 1 + number % 2) for number in range(300)]

    assert len(had(a_record(), events, EVER)) == MOST_STRETCHES
    [last] = had(a_record(), events, Window(NOW - 100.0, NOW, NOW))
    assert (last.begin, last.end, last.slots) == (NOW - 701.0, NOW, 2)


def test_guests_and_jobs_without_gpus_hold_no_slots() -> None:
    guest = [scaled(NOW - 50.0, 2, beside=True), scaled(NOW - 20.0, 1)]

    assert had(a_record(), guest, EVER) == (Stretch(NOW - 20.0, NOW, 1),)
    assert had(a_record(spec={"cpu_only": True}), [scaled(NOW - 50.0, 2)], EVER) == ()


def test_what_is_foreseen_begins_now_however_old_the_look_is() -> None:
    moved = [Stretch(NOW - 3.0, NOW + 2.0, 2), Stretch(NOW + 2.0, NOW + 5.0, 2)]
    seen = [Stretch(NOW - 9.0, NOW - 3.0, 1), *moved, Stretch(NOW + 5.0, None, 4)]

    assert will_have(seen, Window(NOW - 60.0, NOW + 60.0, NOW)) == (
        Stretch(NOW, NOW + 5.0, 2),
        Stretch(NOW + 5.0, None, 4),
    )
    assert will_have(seen, Window(NOW - 60.0, NOW + 1.0, NOW)) == (Stretch(NOW, NOW + 2.0, 2),)


@pytest.mark.parametrize("policy", ["elasticflow", "fifo", "edf-admission", "themis"])
@given(
    jobs=st.lists(
        st.tuples(st.integers(10, 4000), st.one_of(st.none(), st.integers(20, 4000))), min_size=1, max_size=12
    )
)
def test_never_are_more_slots_foreseen_or_reserved_than_there_are(
    policy: str, jobs: list[tuple[int, int | None]]
) -> None:
    records = [
        a_record(number, left=float(steps), deadline=None if due is None else NOW + due)
        for number, (steps, due) in enumerate(jobs, 1)
    ]
    nodes = [a_node(0), a_node(1)]
    rule = POLICIES[policy]
    future = foresee_cheaply(answered(a_scene(records, nodes), rule), rule, {})
    for told in (foreseen, reserved):
        rows = [told(future, row) for row in range(len(future.picture.jobs))]
        for stretches in rows:
            assert all(
                one.end is not None and one.end <= other.begin + 1e-6 for one, other in pairwise(stretches)
            )
        everybody = [one for stretches in rows for one in stretches]
        edges = sorted({NOW, NOW + 9000.0, *(one.begin for one in everybody)})
        if len(edges) > 1:
            assert max(mean_use(everybody, edges)) <= 8.0 + 1e-6


def test_mean_use_is_the_area_over_the_time() -> None:
    told = [Stretch(0.0, 10.0, 4), Stretch(5.0, None, 2)]

    assert mean_use(told, [0.0, 5.0, 10.0, 20.0]) == [4.0, 6.0, 2.0]
    assert mean_use([], [0.0, 5.0]) == [0.0]
    assert mean_use([Stretch(-5.0, 2.5, 2)], [0.0, 5.0]) == [1.0]


def test_who_has_slots_comes_first_and_who_comes_later_is_not_meant() -> None:
    waits = a_record(1, phase=Phase.QUEUED, contract=a_contract(Reply.QUEUED))
    runs, later = a_record(2, slots={"node-0": (0,)}), a_record(3, submitted_at=NOW + 5.0)

    assert first_of_all([waits, runs, later], Window(NOW - 9.0, NOW, NOW)) == [runs, waits]
