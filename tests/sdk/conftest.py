"""What tests of the SDK share."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """A script is alone unless a test says otherwise, whoever runs the tests."""
    for name in [*os.environ]:
        if name.startswith("TENUTO_") or name in (
            "RANK",
            "WORLD_SIZE",
            "LOCAL_RANK",
            "MASTER_ADDR",
            "MASTER_PORT",
        ):
            monkeypatch.delenv(name)
