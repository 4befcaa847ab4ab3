"""A siege for each test, and nothing of it left after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.crash.siege import Siege


@pytest.fixture
def besiege(tmp_path: Path) -> Iterator[Callable[..., Siege]]:
    """Start a platform that will be killed; its seed is printed, so that a failure can be had again."""
    begun: list[Siege] = []

    def begin(seed: int, *options: str) -> Siege:
        print(f"seed {seed}, options {' '.join(options)}")
        siege = Siege(tmp_path / str(seed), seed, *options)
        begun.append(siege)
        return siege

    yield begin
    for siege in begun:
        siege.platform.end()
