"""Figure 10 from nothing but its seed: totals, first events and first placements."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sim.artifact.reference import figure_10

from tenuto.model.columns import Ints
from tenuto.sim.artifact import Revision, replay


@pytest.mark.parametrize(
    ("policy", "revision", "met", "completed", "total_jct", "last_end", "events"),
    [
        ("elasticflow", Revision.HEAD, 100, 100, 2380694, 668124, 191),
        ("elasticflow", Revision.R2022, 100, 100, 2430552, 656366, 186),
        ("elasticflow-no-admission", Revision.HEAD, 97, 100, 2437776, 659271, 617),
        ("edf", Revision.HEAD, 92, 100, 6331875, 1358163, 195),
        ("edf-admission", Revision.HEAD, 92, 92, 3625360, 786395, 187),
    ],
)
def test_totals_are_those_of_the_reference(
    policy: str, revision: Revision, met: int, completed: int, total_jct: int, last_end: int, events: int
) -> None:
    workload = figure_10()

    outcome = replay(workload, policy, slot=240, revision=revision)

    assert np.count_nonzero(outcome.met) == met
    assert np.count_nonzero(~np.isnan(outcome.finished)) == completed
    assert np.nansum(outcome.finished - workload.trace.submitted) == total_jct
    assert np.nanmax(outcome.finished) == last_end
    assert len(outcome.events.time) == events


def test_the_first_events_place_jobs_where_the_reference_does() -> None:
    outcome = replay(figure_10(), "elasticflow", slot=240, revision=Revision.HEAD, layouts=True)

    assert outcome.events.layouts is not None
    story = [
        (int(time), runs(layout), round(float(efficiency), 6))
        for time, layout, efficiency in zip(
            outcome.events.time[:10], outcome.events.layouts, outcome.events.efficiency, strict=False
        )
    ]
    assert story == [
        (0, [(0, 64)], 0.079869),
        (496, [], 0.0),
        (4686, [(1, 32)], 0.035952),
        (5900, [], 0.0),
        (9116, [(2, 32)], 0.037372),
        (9356, [(3, 64), (2, 32), (4, 32)], 0.166569),
        (9610, [(3, 64)], 0.068235),
        (10812, [], 0.0),
        (12043, [(5, 64)], 0.045034),
        (14041, [(6, 64), (5, 64)], 0.121774),
    ]


def test_the_first_jobs_end_when_they_do_in_the_reference() -> None:
    outcome = replay(figure_10(), "elasticflow", slot=240, revision=Revision.HEAD)

    rows = {job: (outcome.finished[job], outcome.last_size[job], outcome.started[job]) for job in range(8)}
    assert rows[0] == (496, 64, 0)
    assert rows[1] == (5900, 32, 4686)
    assert rows[2] == (9610, 32, 9116)
    assert rows[4] == (9610, 32, 9356)
    assert rows[3] == (10812, 64, 9356)
    assert rows[7] == (15945, 32, 15703)


def runs(layout: Ints) -> list[tuple[int, int]]:
    """Jobs and their GPUs from left to right, idle GPUs left out."""
    edges = np.flatnonzero(np.diff(layout)) + 1
    pieces = [(int(piece[0]), len(piece)) for piece in np.split(layout, edges)]
    return [(job, gpus) for job, gpus in pieces if job >= 0]
