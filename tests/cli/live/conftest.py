"""A server for the tests of live commands, with an empty store for each of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.live.site import TOKEN, Served, Site, a_store, served


@pytest.fixture(scope="session")
def one_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(a_store(), tmp_path_factory.mktemp("logs")) as server:
        yield server


@pytest.fixture
def site(one_server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.setenv("TENUTO_URL", one_server.url)
    monkeypatch.setenv("TENUTO_TOKEN", TOKEN)
    return one_server.on(a_store(), tmp_path / "logs")
