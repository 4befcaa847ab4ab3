"""Histories of numbers to test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.postgres import PostgresServer

from tenuto.store.series.base import SeriesStore
from tenuto.store.series.open import open_series
from tenuto.store.series.sql import Manner, SqlSeries
from tenuto.store.series.tables import metadata

pytest.register_assert_rewrite("tests.contracts.series_contract")

BY_HAND = Manner(every=0.0)
"""Nothing is written but by `flush`."""


@pytest.fixture
def history_file(tmp_path: Path) -> Path:
    """With a name that needs care."""
    return tmp_path / "기록 50%#" / "metrics.db"


@pytest.fixture
def emptied_postgresql(postgres_server: PostgresServer, migrated_postgresql: str) -> str:
    """The address of a database without numbers."""
    postgres_server.sql(
        f"DROP TABLE IF EXISTS {', '.join(name for name in metadata.tables)}", migrated_postgresql
    )
    return postgres_server.url(migrated_postgresql)


@pytest.fixture
def again(series: SeriesStore) -> Iterator[Callable[[], SeriesStore]]:
    """Closes the history and opens it anew."""
    opened: list[SeriesStore] = []

    def again() -> SeriesStore:
        series.close()
        if not isinstance(series, SqlSeries):
            return series
        url = series.database.writer.url.render_as_string(hide_password=False)
        file = Path(series.database.where.removeprefix("The store "))
        opened.append(open_series(url, file, BY_HAND))
        return opened[-1]

    yield again
    for each in opened:
        each.close()
