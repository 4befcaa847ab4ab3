"""Who loses how much when files take more room than there is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tenuto.store.file_quota import JobUse, common_size, plan_cuts

USES = st.lists(
    st.tuples(st.integers(0, 1000), st.none() | st.floats(0, 100)).map(
        lambda one: JobUse(job="", bytes=one[0], ended_at=one[1])
    ),
    max_size=12,
).map(lambda uses: [JobUse(job=str(i), bytes=u.bytes, ended_at=u.ended_at) for i, u in enumerate(uses)])


def use(job: str, size: int, ended_at: float | None = None) -> JobUse:
    return JobUse(job=job, bytes=size, ended_at=ended_at)


def cuts(uses: list[JobUse], quota: int, share: float) -> list[tuple[str, int]]:
    return [(cut.job, cut.bytes) for cut in plan_cuts(uses, quota, share)]


def test_nothing_is_cut_within_the_quota() -> None:
    assert cuts([use("a", 60), use("b", 40, 1.0)], 100, 0.1) == []


def test_a_job_above_its_share_is_cut_before_jobs_that_ended_long_ago() -> None:
    assert cuts([use("flood", 90), use("old", 20, 1.0)], 100, 0.5) == [("flood", 10)]


def test_jobs_that_ended_go_in_the_order_of_their_ends() -> None:
    uses = [use("live", 50), use("late", 40, 9.0), use("early", 30, 1.0)]
    assert cuts(uses, 75, 0.9) == [("early", 30), ("late", 15)]


def test_jobs_that_live_are_cut_to_one_size_at_last() -> None:
    assert sorted(cuts([use("a", 50), use("b", 40), use("c", 5)], 65, 1.0)) == [("a", 20), ("b", 10)]


@given(sizes=st.lists(st.integers(0, 1000), min_size=1, max_size=20), total=st.integers(0, 5000))
def test_a_common_size_fills_the_room(sizes: list[int], total: int) -> None:
    size = common_size(sizes, total)

    assert sum(min(one, size) for one in sizes) <= total
    if sum(sizes) > total:
        assert sum(min(one, size + 1) for one in sizes) > total


@given(uses=USES, quota=st.integers(-10, 5000), share=st.floats(0, 1))
def test_what_is_left_fits_and_no_job_loses_more_than_it_has(
    uses: list[JobUse], quota: int, share: float
) -> None:
    left = {one.job: one.bytes for one in uses}
    for cut in plan_cuts(uses, quota, share):
        assert cut.bytes > 0
        left[cut.job] -= cut.bytes

    assert all(size >= 0 for size in left.values())
    total = sum(one.bytes for one in uses)
    # Whole bytes: cutting several jobs to one size may remove a few bytes more than are too many.
    assert max(quota, 0) - len(uses) <= sum(left.values()) <= max(quota, 0) or total <= quota
