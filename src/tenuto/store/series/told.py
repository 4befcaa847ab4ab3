"""A history of numbers that passes on what is added to it, so that nobody who adds must know who else is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

from tenuto.model.series import Points
from tenuto.store.series.base import SeriesStore

Told: TypeAlias = Callable[[Sequence[Points]], None]
"""Called with what was added, from any thread, so it must not take long."""


def telling(series: SeriesStore, told: Told) -> SeriesStore:
    """The same history; whoever adds to it tells `told`, too."""
    return cast(SeriesStore, _Telling(series, told))


class _Telling:
    """All but `add` is the other's, and stays so when it learns more."""

    def __init__(self, series: SeriesStore, told: Told) -> None:
        self._series = series
        self._told = told

    def add(self, batch: Sequence[Points]) -> None:
        """Take points in, and pass them on."""
        self._series.add(batch)
        self._told(batch)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._series, name)
