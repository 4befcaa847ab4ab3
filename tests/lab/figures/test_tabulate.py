"""From runs to numbers, computed by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.lab.figures.builders import a_figure, a_result, a_trace, runs_of, some_events, some_jobs

from tenuto.lab.figures.catalogue import FIGURES
from tenuto.lab.figures.figure import Group
from tenuto.lab.figures.sources import PublicTrace
from tenuto.lab.figures.tabulate import admissions, allocation, efficiency

HOUR = 3600.0


def test_a_ratio_stands_beside_the_published_one() -> None:
    figure = a_figure("8a", a_trace())

    (panel,) = figure.tabulate(runs_of(figure, {("195 jobs", "edf"): a_result(met=3)}))

    edf, elasticflow = panel.series
    assert (edf.name, edf.points[0].value, edf.points[0].published) == ("edf", 0.75, 0.118)
    assert edf.points[0].note == "3 of 4"
    assert elasticflow.points[0].value is None


def test_chronus_is_compared_with_chronus_however_it_is_solved() -> None:
    figure = a_figure("8a", a_trace(), policies=("chronus-greedy",))

    (panel,) = figure.tabulate(runs_of(figure, {("195 jobs", "chronus-greedy"): a_result()}))

    assert panel.series[0].points[0].published == 0.262


def test_a_missing_trace_is_named_at_its_place() -> None:
    figure = replace(
        FIGURES["8b"],
        groups=(Group("1", a_trace(), "n1g4"), Group("3", PublicTrace("cluster03"), "n64g8")),
        policies=("edf",),
    )

    (panel,) = figure.tabulate(runs_of(figure, {("1", "edf"): a_result(met=1)}))

    there, absent = panel.series[0].points
    assert (there.value, absent.value, absent.published) == (0.25, None, 0.095)
    assert absent.note == "cluster03 is not there"
    assert panel.missing == ("cluster03",)


def test_jobs_without_a_deadline_are_told_relative_to_gandiva() -> None:
    figure = a_figure("11", a_trace(), policies=("gandiva", "elasticflow"))
    slow = some_jobs([0, 10, 20], [200, 1010, 9999], best_effort=[True, True, False])
    fast = some_jobs([0, 10, 20], [100, 310, 9999], best_effort=[True, True, False])

    _, panel = figure.tabulate(
        runs_of(
            figure,
            {("0.1", "gandiva"): a_result(jobs=slow), ("0.1", "elasticflow"): a_result(jobs=fast)},
        )
    )

    gandiva, elasticflow = panel.series
    assert gandiva.points[0].value == 1.0
    assert elasticflow.points[0].value == (200 + 1000) / (100 + 300)
    assert elasticflow.points[0].note == "mean 200 s"


def test_a_trace_without_such_jobs_has_no_value_there() -> None:
    figure = a_figure("11", a_trace(), policies=("gandiva",))
    jobs = some_jobs([0], [10], best_effort=[False])

    _, panel = figure.tabulate(runs_of(figure, {("0.1", "gandiva"): a_result(jobs=jobs)}))

    assert panel.series[0].points[0].value is None


def test_slots_in_use_are_looked_at_every_five_minutes() -> None:
    figure = a_figure("7a", a_trace(), policies=("edf",))
    events = some_events([100, 200, 500, 700], [0, 0, 0, 0], busy=[4, 2, 8, 0])

    (panel,) = allocation(runs_of(figure, {("195 jobs", "edf"): a_result(events=events)}))

    points = panel.series[0].points
    assert [point.value for point in points[:4]] == [4, 2, 0, 0]
    assert points[1].x == pytest.approx(1 / 12, abs=1e-5)
    assert (points[-1].x, len(points)) == (48, 577)


def test_submissions_and_admissions_are_counted_per_ten_minutes() -> None:
    figure = a_figure("7b", a_trace(), policies=("elasticflow",))
    jobs = some_jobs([50, 60, 649, 650, 50 + 48 * HOUR], [9] * 5, admitted=[True, False, True, True, True])

    (panel,) = admissions(runs_of(figure, {("195 jobs", "elasticflow"): a_result(jobs=jobs)}))

    submitted, admitted = panel.series
    assert [point.value for point in submitted.points[:3]] == [3, 1, 0]
    assert [point.value for point in admitted.points[:3]] == [2, 1, 0]
    assert len(submitted.points) == 48 * 6
    assert sum(point.value or 0 for point in submitted.points) == 4


def test_efficiency_is_averaged_over_hours() -> None:
    figure = a_figure("10", a_trace(), policies=("edf",))
    events = some_events([0, HOUR / 2, 2 * HOUR], [0.4, 0.2, 0.0])

    (panel,) = efficiency(runs_of(figure, {("100 jobs", "edf"): a_result(events=events)}))

    hours, values = panel.series[0].known()
    assert hours == [0, 1, 2]
    assert values == pytest.approx([0.3, 0.2, 0])


@pytest.mark.parametrize(
    ("policy", "kept"),
    [("edf", [(0, 0.2), (4000, 0.0), (7000, 0.5)]), ("chronus-greedy", [(0, 0.2), (4500, 0.3), (7000, 0.5)])],
)
def test_with_compat_efficiency_is_sampled_as_the_authors_did(
    policy: str, kept: list[tuple[float, float]]
) -> None:
    figure = a_figure("10", a_trace(), policies=(policy,))
    # The first is too early, the third follows too soon; the fourth is idle, which Chronus does not count.
    at = [1789, 1790, 4100, 5790, 6290, 8790, 9000]
    events = some_events([float(time) for time in at], [0.1, 0.2, 0.9, 0.0, 0.3, 0.5, 0.1])

    (panel,) = efficiency(runs_of(figure, {("100 jobs", policy): a_result(events=events)}, "artifact"))

    hours, values = panel.series[0].known()
    assert hours == pytest.approx([*(time / HOUR for time, _ in kept), 7210 / HOUR], abs=1e-6)
    assert values == [*(value for _, value in kept), 0]
