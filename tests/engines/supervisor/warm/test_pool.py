"""How many warm servers there are and for how long. Real processes, a light stand-in for torch."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.engines.supervisor.node import HANG, an_order

from tenuto.engines.supervisor.warm.pool import WarmPool, WarmSettings
from tenuto.wire.worker import WorkerOrder


class Keeper:
    """A pool, and orders for it that come to nothing: only servers are of interest."""

    def __init__(self, directory: Path, **settings: Any) -> None:
        self.directory = directory
        (directory / "train.py").touch()
        self.pool = WarmPool(dict(os.environ), WarmSettings(**{"modules": ("colorsys",), **settings}))

    def ask(self, **variables: str) -> bool:
        lock = os.open(self.directory / "lock", os.O_RDWR | os.O_CREAT)
        try:
            return self.pool.hand_over(self.order(**variables), self.directory, lock)
        finally:
            os.close(lock)

    def order(self, **variables: str) -> WorkerOrder:
        return an_order("", sys.executable, "train.py", cwd=str(self.directory), env=variables)

    @property
    def servers(self) -> dict[str, int]:
        """Pids by the variable that tells them apart."""
        kept = self.pool._servers.items()
        return {
            dict(environment.variables).get("PYTHONHASHSEED", ""): one.process.pid
            for environment, one in kept
        }


@pytest.fixture
def keeper_of(tmp_path: Path) -> Iterator[Callable[..., Keeper]]:
    made: list[Keeper] = []
    before = set(psutil.Process().children())  # left by other tests of this process, perhaps as zombies

    def make(**settings: Any) -> Keeper:
        made.append(Keeper(tmp_path, **settings))
        return made[-1]

    yield make
    for keeper in made:
        keeper.pool.close()
        assert not keeper.servers
    assert set(psutil.Process().children()) <= before


def test_the_first_worker_of_an_environment_is_not_waited_for(keeper_of: Callable[..., Keeper]) -> None:
    keeper = keeper_of()

    assert not keeper.ask()

    assert len(keeper.servers) == 1


def test_the_server_that_was_used_least_lately_makes_room(keeper_of: Callable[..., Keeper]) -> None:
    keeper = keeper_of(most=2)
    for seed in ("1", "2", "1", "3"):
        keeper.ask(PYTHONHASHSEED=seed)

    assert set(keeper.servers) == {"1", "3"}


def test_a_server_that_nobody_needs_ends(keeper_of: Callable[..., Keeper]) -> None:
    keeper = keeper_of(idle=0.0)
    keeper.ask()
    (pid,) = keeper.servers.values()

    keeper.pool.mind()

    assert not keeper.servers
    assert not psutil.pid_exists(pid)


def test_an_environment_without_the_module_is_not_tried_again(keeper_of: Callable[..., Keeper]) -> None:
    keeper = keeper_of(modules=("brak_modulu",))
    keeper.ask()
    give_up = time.monotonic() + HANG
    while keeper.servers:
        assert time.monotonic() < give_up
        keeper.pool.mind()

    assert not keeper.ask()

    assert not keeper.servers


@pytest.mark.parametrize("argv", [("sleep", "1"), ("/bin/sh", "-c", "python3 train.py | cat")])
def test_what_is_no_plain_python_call_needs_no_server(
    keeper_of: Callable[..., Keeper], argv: tuple[str, ...]
) -> None:
    keeper = keeper_of()

    assert not keeper.pool.hand_over(an_order("", *argv, cwd=str(keeper.directory)), keeper.directory, 0)

    assert not keeper.servers


def test_a_pool_without_modules_starts_nothing(keeper_of: Callable[..., Keeper]) -> None:
    keeper = keeper_of(modules=())

    assert not keeper.ask()

    assert not keeper.servers
