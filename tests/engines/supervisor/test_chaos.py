"""Whatever is killed and whenever: no worker is started twice, no slot held by two, nothing left over."""

from __future__ import annotations

import os
import random
import signal
import sys
from pathlib import Path

import pytest
from tests.engines.supervisor.node import Desk, Node, an_order

from tenuto.wire.worker import WorkerOrder, WorkerState

WORKER = """
import fcntl, os, signal, sys, time
starts, slot = sys.argv[1:]
os.close(os.open(starts, os.O_CREAT | os.O_EXCL))  # fails if it was started before
held = open(slot, "w")
fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails if another holds the slot
if os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # keeps the slot until it is killed
time.sleep(1000)
"""
STEPS = 12


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[] if seed < 1 else pytest.mark.big) for seed in range(20)]
)
def test_nothing_is_doubled_or_left_over_whatever_is_killed(
    desk: Desk, node: Node, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    generation = 0
    wanted: list[WorkerOrder] = []
    for _ in range(STEPS):
        act = chance.choice(["want", "want", "kill supervisor", "kill shim", "kill worker", "go on"])
        if act == "want":
            generation += 1
            slots = chance.sample(range(4), chance.randint(0, 4))
            wanted = [_worker(tmp_path, f"chaos{seed}", generation, slot) for slot in slots]
            desk.want(*wanted)
        elif act == "kill supervisor":
            node.kill()
            node.start()
        elif act == "go on":
            desk.until(node.has_signed_in)
            desk.until(lambda: all(_settled(desk, order) for order in wanted))  # noqa: B023
        elif victims := sorted(node.pids() - {node.pid}):
            _kill(chance.choice(victims))

    node.come_back()
    desk.until(lambda: all(_settled(desk, order) for order in wanted))
    desk.want()
    desk.until(lambda: not desk.engine.observe().workers)
    mine = [log.decode() for worker, log in desk.logs.text.items() if worker.job == f"chaos{seed}"]
    assert mine
    assert [log for log in mine if "Error" in log] == []


def _worker(directory: Path, job: str, generation: int, slot: int) -> WorkerOrder:
    starts, held = directory / f"{generation}.{slot}", directory / f"slot{slot}"
    argv = (sys.executable, "-S", "-c", WORKER, str(starts), str(held))
    return an_order(job, *argv, slot=slot, rank=slot, generation=generation, grace=0.5)


def _settled(desk: Desk, order: WorkerOrder) -> bool:
    seen = desk.seen(order)
    return seen is not None and seen.state in (WorkerState.RUNNING, WorkerState.EXITED)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # gone meanwhile
