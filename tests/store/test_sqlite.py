"""The store in a SQLite file keeps the contract, and what only a file can show."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contracts.store_contract import StoreContract

from tenuto.store.base import Store
from tenuto.store.open import open_store


class TestSqliteStore(StoreContract):
    @pytest.fixture
    def store(self, sqlite_path: Path) -> Iterator[Store]:
        store = open_store(f"sqlite:///{sqlite_path}")
        yield store
        store.close()
