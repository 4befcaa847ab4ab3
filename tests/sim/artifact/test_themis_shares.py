"""The shares that Themis' solver finds: they fit on the cluster, and no others have a smaller worst ratio."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenuto.model.columns import Floats
from tenuto.sim.artifact.themis.desk import desk_for
from tenuto.sim.artifact.themis.interior import write_shares
from tenuto.sim.artifact.themis.program import equilibrate, write_program


def solved(gpus: Floats, work: Floats, waited: Floats, rate: Floats, total: float) -> Floats:
    desk, shares = desk_for(len(gpus)), np.zeros(len(gpus))
    write_program(desk, gpus, work, waited, rate)
    equilibrate(desk, total)
    write_shares(desk, shares)
    return shares


def least_ratio(gpus: Floats, work: Floats, waited: Floats, rate: Floats, total: float) -> float:
    """By bisection: the smallest worst ratio for which the shares that it needs fit."""
    low = float((waited + work / rate).max())
    if gpus @ np.minimum(1.0, work / rate / (low - waited)) <= total:
        return low
    high = 2.0 * low
    while gpus @ (work / rate / (high - waited)) > total:
        high *= 2.0
    for _ in range(100):
        middle = (low + high) / 2.0
        fits = gpus @ (work / rate / (middle - waited)) <= total
        low, high = (low, middle) if fits else (middle, high)
    return high


@st.composite
def programs(draw: st.DrawFn) -> tuple[Floats, Floats, Floats, Floats, float]:
    jobs = draw(st.integers(2, 12))

    def column(numbers: st.SearchStrategy[float]) -> Floats:
        return np.array(draw(st.lists(numbers, min_size=jobs, max_size=jobs)))

    gpus = column(st.sampled_from([1.0, 2.0, 4.0, 8.0]))
    work, waited, rate = column(st.floats(0.05, 1)), column(st.floats(0, 2)), column(st.floats(0.5, 20))
    return gpus, work, waited, rate, max(float(gpus.max()), float(gpus.sum()) * draw(st.floats(0.3, 0.95)))


@given(programs())
def test_no_other_shares_have_a_smaller_worst_ratio(
    program: tuple[Floats, Floats, Floats, Floats, float],
) -> None:
    gpus, work, waited, rate, total = program

    shares = solved(gpus, work, waited, rate, total)

    assert (shares >= 0).all()
    assert (shares <= 1).all()
    assert gpus @ shares <= total * (1 + 1e-6)
    worst = (waited + work / (rate * shares)).max()
    assert worst == pytest.approx(least_ratio(gpus, work, waited, rate, total), rel=1e-5)


def test_open_shares_end_where_those_of_the_solver_in_the_reference_do() -> None:
    """The first job's ratio is the worst one even at full speed; the numbers of the others are from ECOS 2.0.10."""
    gpus, work = np.array([2.0, 2.0, 1.0]), np.array([0.5, 0.9, 0.2])
    waited, rate = np.array([0.3, 0.01, 0.05]), np.array([2.0, 5.0, 1.0])

    assert solved(gpus, work, waited, rate, 4.0) == pytest.approx([1.0, 0.505956891, 0.669551110], abs=1e-3)
