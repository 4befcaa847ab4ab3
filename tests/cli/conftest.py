"""What every test of a command needs: a place of its own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory to work in, and an empty library outside of it."""
    directory = tmp_path / "arbeit"
    directory.mkdir()
    monkeypatch.chdir(directory)
    monkeypatch.setenv("TENUTO_HOME", str(tmp_path / "library"))
    return directory
