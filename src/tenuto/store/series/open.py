"""From a store's address to the history of numbers that goes with it."""

from __future__ import annotations

import logging
from pathlib import Path

from tenuto.store.base import StoreUnavailable
from tenuto.store.database import sqlite_database
from tenuto.store.open import postgresql_at
from tenuto.store.series.base import SeriesStore
from tenuto.store.series.memory import MemorySeries
from tenuto.store.series.sql import Manner, SqlSeries

log = logging.getLogger(__name__)


def open_series(url: str, file: Path, manner: Manner) -> SeriesStore:
    """The history beside the store at `url`: in its PostgreSQL, else in a file of its own.

    A history that cannot be reached now is used as soon as it can be. Raises InputInvalid if it is of a newer format.
    """
    if url == "memory:":
        return MemorySeries(manner.retention.raw, manner.retention.minutes)
    # In the file a commit survives the end of the process; after a loss of power the last seconds may be missing.
    postgresql = url.startswith("postgres")
    series = SqlSeries(
        postgresql_at(url) if postgresql else sqlite_database(file, synchronous="NORMAL"), manner
    )
    try:
        series.look()
    except StoreUnavailable as error:
        log.warning("the history of numbers cannot be used yet: %s", error)
    except BaseException:
        series.close()
        raise
    return series
