"""The history in memory keeps the contract."""

from __future__ import annotations

import pytest
from tests.contracts.series_contract import SeriesContract

from tenuto.store.series.base import SeriesStore
from tenuto.store.series.memory import MemorySeries


@pytest.fixture
def series() -> SeriesStore:
    return MemorySeries()


class TestMemorySeries(SeriesContract):
    """Everything that every history promises."""
