"""Whoever adds to the history tells others too, without knowing of them."""

from __future__ import annotations

from collections.abc import Sequence

from tenuto.model.series import JOB, Points, Subject
from tenuto.store.series.base import SeriesQuery
from tenuto.store.series.memory import MemorySeries
from tenuto.store.series.told import telling


def test_what_is_added_is_kept_and_told_and_all_else_is_as_before() -> None:
    heard: list[Sequence[Points]] = []
    inner = MemorySeries()
    series = telling(inner, heard.append)
    points = Points(subject=Subject(JOB, "学习"), at=[1.0], values={"step": [7.0]})

    series.add([points])

    assert heard == [[points]]
    assert series.read(SeriesQuery(subject=points.subject, since=0, until=2)).values == {"step": [7.0]}
    assert series.subjects(JOB) == inner.subjects(JOB) == [points.subject]
    series.forget(JOB, "学习")
    assert inner.subjects(JOB) == []
