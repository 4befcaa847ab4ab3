"""How long a step of a real training job takes with monitoring and without, in pairs.

Two ways: a platform that samples and one that does not, one after the other; and one platform whose sampler is halted
for a few seconds again and again, so that whatever else the machine does meets both alike.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.gpus import GpuPlatform
from tests.e2e.platform import eventually

from monitoring.whole_platform import a_platform, pids_of

TRAINING = Path(__file__).with_name("training.py")
TURN = 2.0
"""Seconds for which the sampler is halted, or is not: two turns are fewer than those after which it counts as hung."""
SETTLES = 0.3
"""Seconds after each turn that are not counted."""
ALONE = 6.0
"""Seconds of training on a platform of its own."""

Pair = tuple[float, float]
"""Seconds of a step, with monitoring and without."""


@contextmanager
def _training(platform: GpuPlatform, seconds: float) -> Iterator[Path]:
    """A job that trains; its steps stand in the file at the end."""
    with tempfile.TemporaryDirectory(prefix="steps-") as directory:
        told = Path(directory) / "steps.json"
        job = {
            "name": "steps",
            "run": [sys.executable, str(TRAINING), str(seconds), str(told)],
            "strategy": "allreduce",
            "env": {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"},
            "checkpoint": {"dir": str(Path(directory) / "checkpoints")},
        }
        with platform.client(patience=10.0) as client:
            submitted = client.submit(job)["id"]
        platform.wait_for(submitted, "running")
        yield told
        platform.wait_for(submitted, "succeeded", within=seconds + 180.0)


def by_platforms(count: int, period: float) -> Iterator[Pair]:
    """Who goes first alternates, so that a trend of the machine meets both."""
    for number in range(count):
        turns = (period, 0.0) if number % 2 == 0 else (0.0, period)
        found = {}
        for turn in turns:
            with a_platform(turn) as platform, _training(platform, ALONE) as told:
                eventually(told.exists, "the training has ended")
                found[turn] = statistics.median(seconds for _, seconds in json.loads(told.read_text()))
        yield found[period], found[0.0]


def by_turns(count: int, period: float) -> list[Pair]:
    """Neighbouring turns make a pair; who goes first alternates here too."""
    with a_platform(period) as platform:
        eventually(lambda: pids_of(platform, "sampler"), "the node is sampled")
        with _training(platform, (2 * count + 2) * TURN) as told:
            turns = list(_turns(platform, 2 * count))
            eventually(told.exists, "the training has ended")
            steps = json.loads(told.read_text())
    medians = [
        statistics.median(seconds for at, seconds in steps if since + SETTLES < at < until)
        for since, until in turns
    ]
    first, second = medians[0::2], medians[1::2]
    return [
        (one, other) if number % 2 == 0 else (other, one)
        for number, (one, other) in enumerate(zip(first, second, strict=True))
    ]


def _turns(platform: GpuPlatform, count: int) -> Iterator[tuple[float, float]]:
    """When each turn began and ended: sampled, halted, halted, sampled, and so on."""
    time.sleep(TURN)  # the training begins
    [sampler] = pids_of(platform, "sampler")
    for number in range(count):
        os.kill(sampler, signal.SIGSTOP if (number + 1) // 2 % 2 else signal.SIGCONT)
        since = time.time()
        time.sleep(TURN)
        yield since, time.time()
    os.kill(sampler, signal.SIGCONT)
