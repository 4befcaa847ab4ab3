"""Users who never rest: they submit, scale, pause and cancel while the platform is being killed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Event, Lock, Thread
from typing import Any

from tests.e2e.platform import Platform

from tenuto.client.plain import PlainClient
from tenuto.errors import Conflict, Unreachable

TOY = Path(__file__).with_name("toy.py")
FAILS = 5
"""The exit code of toys that fail on purpose."""


@dataclass
class Users:
    """What they did, and what they were told."""

    platform: Platform
    ledger: Path
    seed: int
    accepted: dict[str, str] = field(default_factory=dict)
    """The ids of jobs that the server took, by their names."""
    unsure: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The jobs whose answer was lost, by their names."""
    surprises: list[BaseException] = field(default_factory=list)
    _count: int = 0
    _lock: Lock = field(default_factory=Lock)

    def during(self, act: Callable[[], None], threads: int = 3) -> None:
        """Be busy while `act` runs."""
        enough = Event()
        self._count += 1
        busy = [
            Thread(target=self._be_busy, args=(Random(f"{self.seed} {self._count} {number}"), enough))
            for number in range(threads)
        ]
        for thread in busy:
            thread.start()
        try:
            act()
        finally:
            enough.set()
            for thread in busy:
                thread.join()
        assert self.surprises == []

    def ask_again(self) -> None:
        """Repeat what was not answered, under the same key: it makes no second job."""
        with self.platform.client(patience=20.0) as client:
            for name, job in list(self.unsure.items()):
                self.accepted[name] = client.submit(job, key=name)["id"]
                del self.unsure[name]

    def _be_busy(self, random: Random, enough: Event) -> None:
        acts = [self._submit] * 4 + [self._scale] * 3 + [self._cancel] + [self._pause]
        try:
            with self.platform.client() as client:
                while not enough.wait(random.uniform(0.0, 0.15)):
                    try:
                        random.choice(acts)(client, random)
                    except (Unreachable, Conflict):
                        continue
        except BaseException as surprise:  # noqa: BLE001  it is shown by the thread that waits for us
            self.surprises.append(surprise)

    def _submit(self, client: PlainClient, random: Random) -> None:
        cluster = client.cluster()
        if sum(cluster["jobs"].get(state, 0) for state in ("submitted", "queued")) > 8:
            return
        with self._lock:
            name = f"{self.seed}-{len(self.accepted) + len(self.unsure)}"
            job = self._job(name, random)
            self.unsure[name] = job
        made = client.submit(job, key=name)
        with self._lock:
            del self.unsure[name]
            self.accepted[name] = made["id"]

    def _job(self, name: str, random: Random) -> dict[str, Any]:
        fails = random.random() < 0.15
        seconds = random.choice([0.05, 0.3, 1.0, 2.5])
        least, most = random.choice([(1, 1), (1, 3), (2, 2), (2, 4)])
        return {
            "name": name,
            "run": [sys.executable, "-I", "-S", str(TOY), str(seconds), str(FAILS if fails else 0)],
            "env": {"LEDGER": str(self.ledger)},
            "workers": f"{least}..{most}",
            "grace": 5,
            "retry": {"failures": 1, "losses": 3},
        }

    def _one(self, random: Random) -> str | None:
        with self._lock:
            newest = list(self.accepted.values())[-10:]
        return random.choice(newest) if newest else None

    def _scale(self, client: PlainClient, random: Random) -> None:
        if job := self._one(random):
            client.scale(
                job, random.choice([{"delta": 1}, {"delta": -1}, {"workers": 2}, {"workers": "auto"}])
            )

    def _cancel(self, client: PlainClient, random: Random) -> None:
        if job := self._one(random):
            client.act(job, "cancel")

    def _pause(self, client: PlainClient, random: Random) -> None:
        if job := self._one(random):
            client.act(job, "pause")
            client.act(job, "resume")
