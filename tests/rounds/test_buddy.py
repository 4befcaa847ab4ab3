"""Buddy placement: whole and undisturbed where possible, and always if sizes are powers of two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import AJob, a_job, a_snapshot

from tenuto.model.columns import Ints
from tenuto.model.plan import GLADLY, NEVER, RATHER_NOT, Decision
from tenuto.model.snapshot import IDLE
from tenuto.rounds.placement import place

ANY_SIZE = {size: float(size) for size in (1, 2, 3, 4, 8, 16, 32)}


def job_on(*slots: int) -> AJob:
    return a_job(curve=ANY_SIZE, on=slots)


def placed(
    jobs: Sequence[AJob],
    sizes: Sequence[int],
    nodes: Sequence[int],
    *,
    lost: Sequence[int] = (),
    reluctance: Sequence[int] | None = None,
    modest: Sequence[int] | None = None,
) -> Ints:
    snap = a_snapshot(jobs=jobs, nodes=nodes, lost=lost)
    return place(
        snap,
        Decision(
            sizes=np.array(sizes, dtype=np.int64),
            verdicts={},
            wake_at=np.inf,
            reluctance=np.array([GLADLY] * len(jobs) if reluctance is None else reluctance, dtype=np.int64),
            modest=np.array(sizes if modest is None else modest, dtype=np.int64),
        ),
    )


def by_node(layout: Ints, nodes: Sequence[int]) -> list[list[int]]:
    ends = np.cumsum(nodes)
    return [layout[end - width : end].tolist() for end, width in zip(ends, nodes, strict=True)]


def test_a_small_job_sits_on_the_fullest_node_that_has_room() -> None:
    layout = placed([job_on(0, 1), job_on(4, 5, 6), job_on()], [2, 3, 2], (4, 4))

    assert by_node(layout, (4, 4)) == [[0, 0, 2, 2], [1, 1, 1, IDLE]]


def test_a_large_job_takes_whole_nodes() -> None:
    layout = placed([job_on(0), job_on()], [1, 8], (4, 4, 4))

    assert by_node(layout, (4, 4, 4)) == [[0, IDLE, IDLE, IDLE], [1] * 4, [1] * 4]


def test_a_small_job_is_moved_if_that_makes_room() -> None:
    layout = placed([job_on(0), job_on(4), job_on()], [1, 1, 4], (4, 4))

    assert sorted(len(set(node) - {IDLE}) for node in by_node(layout, (4, 4))) == [1, 2]
    assert Counter(layout.tolist()) == {0: 1, 1: 1, 2: 4, IDLE: 2}


def test_as_few_as_possible_are_moved_out_of_the_way() -> None:
    """Room for four is made by moving one small job, not by packing all of them anew."""
    jobs = [job_on(0), job_on(4), job_on(8), job_on()]

    layout = placed(jobs, [1, 1, 1, 4], (4, 4, 4))

    moved = [number for number, slot in ((0, 0), (1, 4), (2, 8)) if layout[slot] != number]
    assert len(moved) == 1


def test_who_must_not_move_stays_while_there_is_another_way() -> None:
    jobs = [job_on(0), job_on(4), job_on()]

    assert placed(jobs, [1, 1, 4], (4, 4), reluctance=[NEVER, GLADLY, GLADLY])[0] == 0
    assert placed(jobs, [1, 1, 4], (4, 4), reluctance=[GLADLY, NEVER, GLADLY])[4] == 1
    assert placed(jobs, [1, 1, 4], (4, 4), reluctance=[RATHER_NOT, GLADLY, GLADLY])[0] == 0


def test_who_had_rather_stay_is_moved_before_somebody_who_must_not() -> None:
    """Three slots on one node are free only if one of the others joins the other."""
    jobs = [job_on(0, 1), job_on(4, 5), job_on()]

    layout = placed(jobs, [2, 2, 3], (4, 4), reluctance=[NEVER, RATHER_NOT, GLADLY])

    assert by_node(layout, (4, 4)) == [[0, 0, 1, 1], [2, 2, 2, IDLE]]


def test_a_large_job_is_scattered_rather_than_moving_who_must_not() -> None:
    layout = placed([job_on(0), job_on(4), job_on()], [1, 1, 4], (4, 4), reluctance=[NEVER, NEVER, GLADLY])

    assert (layout[0], layout[4]) == (0, 1)
    assert np.count_nonzero(layout == 2) == 4


def test_a_smaller_job_does_with_less_rather_than_moving_who_must_not() -> None:
    jobs = [job_on(0, 1, 2), job_on(4, 5, 6), job_on()]

    layout = placed(jobs, [3, 3, 2], (4, 4), reluctance=[NEVER, NEVER, GLADLY], modest=[3, 3, 1])

    assert layout[[0, 1, 2]].tolist() == [0, 0, 0]
    assert layout[[4, 5, 6]].tolist() == [1, 1, 1]
    assert np.count_nonzero(layout == 2) == 1


def test_who_is_owed_its_size_moves_even_who_must_not() -> None:
    jobs = [job_on(0, 1), job_on(4, 5), job_on()]

    layout = placed(jobs, [2, 2, 3], (4, 4), reluctance=[NEVER, NEVER, GLADLY])

    assert Counter(layout.tolist()) == {0: 2, 1: 2, 2: 3, IDLE: 1}


def test_who_keeps_its_size_keeps_its_slots() -> None:
    jobs = [job_on(0, 3), job_on(5, 6), job_on(1, 2), job_on()]

    layout = placed(jobs, [2, 2, 0, 4], (4, 4, 4))

    assert layout[[0, 3]].tolist() == [0, 0]
    assert layout[[5, 6]].tolist() == [1, 1]
    assert (layout[8:] == 3).all()


def test_who_shrinks_stays_on_slots_it_had() -> None:
    layout = placed([job_on(4, 5, 6, 7)], [2], (4, 4))

    assert by_node(layout, (4, 4)) == [[IDLE] * 4, [0, 0, IDLE, IDLE]]


def test_who_grows_stays_on_its_node_if_it_can() -> None:
    layout = placed([job_on(5)], [4], (4, 4))

    assert by_node(layout, (4, 4)) == [[IDLE] * 4, [0] * 4]


def test_a_lost_node_is_left_out() -> None:
    layout = placed([job_on(), job_on()], [4, 4], (4, 4, 4), lost=[1])

    assert np.count_nonzero(layout[4:8] >= 0) == 0
    assert Counter(layout[[0, 1, 2, 3, 8, 9, 10, 11]].tolist()) == {0: 4, 1: 4}


def test_jobs_that_are_gone_leave_their_slots() -> None:
    snap = a_snapshot(jobs=[job_on(0, 1)], nodes=(4,))
    picture = replace(snap, layout=np.array([0, 0, 7, 7]))

    layout = place(picture, Decision(np.array([2]), {}, np.inf))

    assert layout.tolist() == [0, 0, IDLE, IDLE]


@st.composite
def power_of_two_mixes(draw: st.DrawFn) -> tuple[tuple[int, ...], list[AJob], list[int]]:
    """Equal nodes, jobs that sit as buddies do, and new sizes for all that fit together."""
    width = draw(st.sampled_from([1, 2, 4, 8]))
    nodes = (width,) * draw(st.sampled_from([1, 2, 3, 4]))
    total = sum(nodes)
    powers = [size for size in (1, 2, 4, 8, 16, 32) if size <= total and (size < width or size % width == 0)]
    before = _fitting(draw(st.lists(st.sampled_from(powers), max_size=10)), total)
    start = placed([job_on() for _ in before], before, nodes) if before else np.array([], dtype=np.int64)
    jobs = [job_on(*np.flatnonzero(start == number).tolist()) for number in range(len(before))]
    jobs += [job_on() for _ in range(draw(st.integers(0, 3)))]
    keeps = draw(st.lists(st.booleans(), min_size=len(jobs), max_size=len(jobs)))
    fresh = draw(st.lists(st.sampled_from([0, *powers]), min_size=len(jobs), max_size=len(jobs)))
    wanted = [len(job.on) if keep else size for job, keep, size in zip(jobs, keeps, fresh, strict=True)]
    return nodes, jobs, _fitting(wanted, total)


def _fitting(sizes: list[int], total: int) -> list[int]:
    """Nothing for those who come when there is no more room."""
    given: list[int] = []
    for size in sizes:
        given.append(size if sum(given) + size <= total else 0)
    return given


@settings(max_examples=100)
@given(mix=power_of_two_mixes())
def test_powers_of_two_always_find_a_place_and_nobody_is_split_without_need(
    mix: tuple[tuple[int, ...], list[AJob], list[int]],
) -> None:
    nodes, jobs, sizes = mix

    layout = placed(jobs, sizes, nodes)

    assert [int(np.count_nonzero(layout == number)) for number in range(len(jobs))] == sizes
    for number, size in enumerate(sizes):
        parts = [node.count(number) for node in by_node(layout, nodes)]
        assert max(parts, default=0) == min(size, nodes[0])
        assert sum(part > 0 for part in parts) == -(-size // nodes[0])


@settings(max_examples=100)
@given(mix=power_of_two_mixes(), data=st.data())
def test_reluctant_jobs_never_keep_anybody_from_a_place(
    mix: tuple[tuple[int, ...], list[AJob], list[int]], data: st.DataObject
) -> None:
    nodes, jobs, sizes = mix
    levels = st.sampled_from([GLADLY, RATHER_NOT, NEVER])
    reluctance = data.draw(st.lists(levels, min_size=len(jobs), max_size=len(jobs)))

    layout = placed(jobs, sizes, nodes, reluctance=reluctance)

    assert [int(np.count_nonzero(layout == number)) for number in range(len(jobs))] == sizes
