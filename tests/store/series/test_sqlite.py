"""The history in a SQLite file keeps the contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contracts.series_contract import SeriesContract
from tests.store.series.conftest import BY_HAND

from tenuto.store.series.base import SeriesStore
from tenuto.store.series.open import open_series


@pytest.fixture
def series(history_file: Path) -> Iterator[SeriesStore]:
    series = open_series("", history_file, BY_HAND)
    yield series
    series.close()


class TestSqliteSeries(SeriesContract):
    """Everything that every history promises."""
