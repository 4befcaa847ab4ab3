"""SIGKILL at any moment: nothing accepted is lost, nothing runs twice, nobody who lived is restarted."""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random

import pytest
from tests.crash.siege import Siege

Besiege = Callable[..., Siege]
POLICIES = ("elasticflow", "fifo", "tiresias", "edf-admission")


def test_servers_and_supervisors_that_are_killed_lose_nothing(besiege: Besiege) -> None:
    siege = besiege(1, "--policy", "elasticflow")
    for _ in range(5):
        siege.kill_server()
    siege.kill_supervisor()
    siege.conclude()


def test_workers_and_whole_machines_that_die_are_replaced_within_limits(besiege: Besiege) -> None:
    siege = besiege(3, "--policy", "fifo")
    siege.kill_workers()
    siege.kill_everything()
    siege.conclude()


@pytest.mark.crash
def test_two_hundred_kills(besiege: Besiege) -> None:
    kills = int(os.environ.get("KILLS", "200"))
    first = int(os.environ.get("SEED", "0"))
    for seed in range(first, first + max(kills // 20, 1)):
        siege = besiege(seed, "--policy", POLICIES[seed % len(POLICIES)])
        random = Random(seed)
        acts = (
            [siege.kill_server] * 6
            + [siege.kill_supervisor] * 2
            + [siege.kill_workers, siege.kill_everything]
        )
        for _ in range(min(kills, 20)):
            random.choice(acts)()
        siege.conclude()
