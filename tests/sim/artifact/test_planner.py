"""ElasticFlow's planner: the smallest share that meets the deadline, worked examples and properties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sim.artifact.planning import Job, Planned, a_table

from tenuto.sim.artifact.state import NEVER

FREE = {0: 3, 600: 6, 1200: 16}


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        pytest.param(
            Job(8000, deadline=1790),
            Planned({0: 2}, 1209, 1260, {0: 1, 600: 4, 1200: 14, 1260: 16}),
            id="two GPUs suffice throughout",
        ),
        pytest.param(
            Job(12000, deadline=1790),
            Planned({0: 2, 600: 4}, 1316, 1320, {0: 1, 600: 2, 1200: 12, 1320: 16}),
            id="four GPUs from the pivot on, two before it",
        ),
        pytest.param(
            Job(16000, deadline=1790),
            Planned({0: 2, 600: 4}, 1672, 1680, {0: 1, 600: 2, 1200: 12, 1680: 16}),
            id="the same for longer",
        ),
        pytest.param(
            Job(20000, deadline=1790),
            Planned({0: 2, 600: 4, 1200: 8}, 1763, 1800, {0: 1, 600: 2, 1200: 8, 1800: 16}),
            id="as many as fit before the pivot",
        ),
        pytest.param(
            Job(60000, deadline=1790),
            Planned({0: 2, 600: 4, 1200: 16}, 3656, 3660, {0: 1, 600: 2, 1200: 0, 3660: 16}),
            id="late, so all that is free",
        ),
        pytest.param(
            Job(5000),
            Planned({0: 0, 1200: 1}, 2568, 2580, {0: 3, 600: 6, 1200: 15, 2580: 16}),
            id="without a deadline, one GPU when all others are done",
        ),
    ],
)
def test_a_job_gets_the_smallest_share_that_is_in_time(job: Job, expected: Planned) -> None:
    assert a_table(job, FREE, total=16).planned() == expected


def test_a_growing_job_keeps_its_first_share_until_capacity_changes() -> None:
    grown = a_table(Job(5000), FREE, total=16).grown(level=0)

    assert grown == Planned({0: 1, 600: 0, 1200: 1}, 1968, 1980, {0: 2, 600: 6, 1200: 15, 1980: 16})


def test_a_job_whose_deadline_is_over_takes_all_that_is_free_at_once() -> None:
    late = a_table(Job(5000, deadline=-600), FREE, total=16).planned()

    assert late.shares == {0: 2, 600: 4}
    assert late.free == {0: 1, 600: 2, 720: 6, 1200: 16}


jobs = st.builds(
    Job,
    left=st.floats(1, 1e5),
    deadline=st.integers(-500, 5000).map(float) | st.just(NEVER),
    limit=st.integers(0, 6),
)


@st.composite
def profiles(draw: st.DrawFn) -> dict[int, int]:
    """Free capacity on 64 GPUs: no equal neighbours, everything free at the end."""
    times = draw(st.lists(st.integers(1, 60), unique=True, max_size=20).map(sorted))
    free: dict[int, int] = {0: draw(st.integers(0, 63)) if times else 64}
    for time in times[:-1]:
        free[60 * time] = (free[max(free)] + draw(st.integers(1, 63))) % 64
    for time in times[-1:]:
        free[60 * time] = 64
    return free


@given(job=jobs, free=profiles())
def test_the_quick_planner_plans_what_the_full_one_does(job: Job, free: dict[int, int]) -> None:
    quick = a_table(job, free, total=64).planned()
    full = a_table(job, free, total=64).planned_in_full()

    assert (quick.real_end, quick.end, quick.free) == (full.real_end, full.end, full.free)
    assert quick.shares == full.shares


@given(job=jobs, free=profiles())
def test_a_plan_in_time_takes_no_more_than_is_free(job: Job, free: dict[int, int]) -> None:
    planned = a_table(job, free, total=64).planned()

    if planned.real_end <= job.deadline:
        assert min(planned.free.values()) >= 0
        assert all(gpus in (0, 1, 2, 4, 8, 16, 32, 64) for gpus in planned.shares.values())
        assert max(planned.shares.values()) <= 1 << job.limit
