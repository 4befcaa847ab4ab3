"""What happens in `tenuto demo`, act by act. Each act waits until the platform shows what it needs."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

from tenuto.cli.demo_jobs import SPEECH, TOO_MUCH, VISION, WORDS, DemoJob
from tenuto.cli.demo_screen import Screen
from tenuto.cli.demo_summary import Tale
from tenuto.cli.humane import in_local_time
from tenuto.cli.verdict import await_verdict
from tenuto.client.plain import PlainClient
from tenuto.model.phase import ENDED
from tenuto.wire import records

Json = dict[str, Any]
LOOK = 0.4
"""Seconds between two looks."""
LIMIT = 170.0
"""Seconds after which the demo ends, whatever has become of it."""
_KILLED = 128 + signal.SIGKILL


class Story:
    """Acts on the platform as its users would, and remembers what was seen."""

    def __init__(self, client: PlainClient, screen: Screen) -> None:
        self._client, self._screen = client, screen
        self._ids: dict[str, str] = {}
        self._jobs: dict[str, Json] = {}
        self._sizes: dict[str, list[int]] = {}
        self._summaries: dict[str, str] = {}
        self._last_event = 0
        self._victim: tuple[str, str] | None = None
        self._is_lost = False
        self._is_pinned = False

    def play(self) -> Tale:
        """From the first job to the end of the last one."""
        self._until = time.monotonic() + LIMIT
        self._submit(VISION)
        self._wait(lambda: self._trains(VISION, with_at_least=2))
        for job in (WORDS, SPEECH, TOO_MUCH):
            self._submit(job)
        self._wait(lambda: self._trains(WORDS) and self._trains(VISION) and self._kill_a_worker(VISION))
        self._wait(lambda: self._is_lost and self._trains(SPEECH))
        self._pin(SPEECH)
        self._wait(self._all_ended)
        return self._tale()

    def _submit(self, job: DemoJob) -> None:
        made = self._client.submit(job.file(sys.executable))
        self._ids[job.name] = made["id"]
        answered = await_verdict(self._client, made)
        self._jobs[job.name] = answered
        message = answered["contract"]["message"] if answered["contract"] else answered["message"]
        self._say(f"{job.name} ({job.workload}, {job.steps} steps, deadline {job.deadline}): {message}")

    def _kill_a_worker(self, job: DemoJob) -> bool:
        """The one with the highest rank: any of them would do. False if it went by itself just now."""
        training = [one["worker"] for one in self._jobs[job.name]["members"] if one["stage"] == "training"]
        pids = {row["worker"]: row["pid"] for row in self._attempts(job.name) if row["ended_at"] is None}
        if not training or not pids.get(training[-1]):
            return False
        try:
            os.kill(pids[training[-1]], signal.SIGKILL)
        except ProcessLookupError:
            return False
        self._victim = (job.name, training[-1])
        self._say(f"Killed a worker of {job.name}: kill -9 {pids[training[-1]]}")
        return True

    def _pin(self, job: DemoJob) -> None:
        now = self._jobs[job.name]["workers"]
        wanted = 1 if now > 1 else 2
        answer = self._client.scale(self._ids[job.name], {"workers": wanted})
        self._is_pinned = answer["pin"] is not None
        self._say(
            f"Pinning {job.name} to {wanted} worker{'s' if wanted > 1 else ''}: tenuto scale {job.name} {wanted}"
        )

    def _trains(self, job: DemoJob, *, with_at_least: int = 1) -> bool:
        now = self._jobs[job.name]
        return (
            now["state"] == "running"
            and now["workers"] >= with_at_least
            and (now["progress"]["step"] or 0) > 0
        )

    def _all_ended(self) -> bool:
        # Not when they were done: a job ends once the last of its workers has gone.
        return all(job["state"] in ENDED for job in self._jobs.values())

    def _wait(self, seen: Callable[[], bool]) -> None:
        """Look until it is so, all jobs have ended, or there is no time left."""
        self._look()
        while not (seen() or self._all_ended()) and time.monotonic() < self._until:
            time.sleep(LOOK)
            self._look()

    def _look(self) -> None:
        for name, id_ in self._ids.items():
            job = self._jobs[name] = self._client.job(id_)
            sizes = self._sizes.setdefault(name, [])
            if job["workers"] and job["workers"] != (sizes[-1] if sizes else 0):
                sizes.append(job["workers"])
        for event in self._client.events(after=self._last_event, limit=500)["items"]:
            self._last_event = event["id"]
            self._hear(event)
        if self._victim is not None and not self._is_lost:
            self._is_lost = self._was_killed(*self._victim)
        self._screen.show(list(self._jobs.values()))

    def _hear(self, event: Json) -> None:
        name = next((name for name, id_ in self._ids.items() if id_ == event["job"]), "")
        if event["kind"] == records.SUMMARY:
            self._summaries[name] = event["data"].get("sentence", "")
        elif event["kind"] in (records.RESCALE, records.LOSS, records.HUNG):
            self._say(f"{name}: {event['reason'] or event['kind']}")

    def _was_killed(self, name: str, worker: str) -> bool:
        return any(row["worker"] == worker and row["exit_code"] == _KILLED for row in self._attempts(name))

    def _attempts(self, name: str) -> list[Json]:
        rows: list[Json] = self._client.attempts(self._ids[name], limit=100)["items"]
        return rows

    def _say(self, line: str) -> None:
        now = datetime.now().astimezone()
        self._screen.say(f"{now:%H:%M:%S}  {in_local_time(line, now)}")

    def _tale(self) -> Tale:
        return Tale(
            jobs=list(self._jobs.values()),
            sizes=self._sizes,
            killed=self._victim[0] if self._victim else "",
            lost=self._is_lost,
            pinned=self._is_pinned,
            summaries=self._summaries,
        )
