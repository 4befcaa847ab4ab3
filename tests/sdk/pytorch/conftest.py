"""What the stories about real workers share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.sdk.pytorch.stage import Nursery, Stage, a_nursery


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    if find_spec("torch") is None:
        pytest.skip("torch is not installed")
    with a_nursery() as nursery:
        yield nursery


@pytest.fixture
def set_stage(tmp_path: Path, nursery: Nursery) -> Callable[..., Stage]:
    """A stage in a directory of its own, for workers with this environment."""

    def build(**environ: str) -> Stage:
        return Stage(tmp_path / "bühne", nursery, environ={"MODEL_SEED": "5", **environ})

    return build
