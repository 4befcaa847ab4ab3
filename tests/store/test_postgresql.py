"""The store in PostgreSQL keeps the contract, and what only a server that others use can show."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.contracts.store_contract import StoreContract

from tenuto.store.base import Store
from tenuto.store.open import open_store


class TestPostgresqlStore(StoreContract):
    @pytest.fixture
    def store(self, postgresql_url: str) -> Iterator[Store]:
        store = open_store(postgresql_url)
        yield store
        store.close()
