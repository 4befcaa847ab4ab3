"""The store in memory keeps the contract."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.contracts.store_contract import StoreContract

from tenuto.store.base import Store
from tenuto.store.open import open_store


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def store(self) -> Iterator[Store]:
        store = open_store("memory:")
        yield store
        store.close()
