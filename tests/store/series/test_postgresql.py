"""The history in PostgreSQL keeps the contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contracts.series_contract import SeriesContract
from tests.store.series.conftest import BY_HAND

from tenuto.store.series.base import SeriesStore
from tenuto.store.series.open import open_series


@pytest.fixture
def series(emptied_postgresql: str, tmp_path: Path) -> Iterator[SeriesStore]:
    series = open_series(emptied_postgresql, tmp_path / "unused", BY_HAND)
    yield series
    series.close()


class TestPostgresqlSeries(SeriesContract):
    """Everything that every history promises."""
