"""Plays a scenario on a live platform. What takes how long is the result."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tenuto.bench.jobs import job_of_model
from tenuto.bench.scenario import (
    Begin,
    Command,
    HandedOver,
    Kill,
    NewGroup,
    Restart,
    Run,
    Scenario,
    Stop,
    Update,
    Wait,
)
from tenuto.client.plain import PlainClient
from tenuto.errors import Conflict, InputInvalid, Place

_LOOK = 0.1
_PATIENCE = 300.0
"""Seconds within which what was begun must train."""


@dataclass(frozen=True, slots=True)
class Played:
    """How long one command took."""

    line: int
    verb: str
    seconds: float


@dataclass(slots=True)
class _Job:
    """A job of the scenario as far as it has come."""

    parts: dict[int, Run] = field(default_factory=dict)
    """Where it is to be, from the commands R since the last T."""
    group: tuple[int, ...] | None = None
    id: str = ""
    place: dict[str, int] = field(default_factory=dict)
    """Where it is now: workers by node."""
    paused: bool = False


class Player:
    """One scenario on one platform, whose nodes are used in their order."""

    def __init__(self, client: PlainClient, scenario: Scenario, file: str = "scenario") -> None:
        self._client = client
        self._scenario = scenario
        self._file = file
        self._jobs: dict[str, _Job] = {}
        names = sorted(node["name"] for node in client.nodes()["items"])
        if len(names) < scenario.nodes:
            raise Conflict(
                f"the scenario needs {scenario.nodes} nodes, and there are {len(names)}", remedy="Add nodes"
            )
        self._nodes = names

    def play(self) -> Iterator[Played]:
        """Do what is written, one command after the other."""
        for command in self._scenario.commands:
            begun = time.monotonic()
            self._do(command)
            yield Played(command.line, type(command.verb).__name__, time.monotonic() - begun)

    def _do(self, command: Command) -> None:
        match command.verb:
            case Run() as run:
                self._place(command.line, run)
            case NewGroup(job, ranks, True):
                self._job(job).group = ranks
            case Kill() as kill:
                self._take_off(command.line, kill)
            case Begin():
                self._begin()
            case Wait(seconds):
                time.sleep(seconds)
            case Restart():
                self._restart()
            case Stop():
                self.end()
            case NewGroup() | HandedOver() | Update():
                pass  # memberships and state go over in one act here, when training begins

    def end(self) -> None:
        """Cancel what has not ended yet."""
        for job in self._jobs.values():
            if job.id and self._client.job(job.id)["ended_at"] is None:
                self._client.act(job.id, "cancel")

    def _job(self, name: str) -> _Job:
        return self._jobs.setdefault(name, _Job())

    def _place(self, line: int, run: Run) -> None:
        job = self._job(run.job)
        if run.node in job.parts:
            raise self._problem(
                line, f"job {run.job} has two parts on node {run.node}", "Write T before the next"
            )
        job.parts[run.node] = run
        complete = len(job.parts) == run.nodes
        if complete and job.group is not None and run.ranks and set(job.group) != set(run.ranks):
            raise self._problem(
                line, f"job {run.job} has another group than its ranks say", "Let G and R name the same"
            )

    def _take_off(self, line: int, kill: Kill) -> None:
        job, node = self._job(kill.job), self._nodes[kill.node]
        if node not in job.place:
            raise self._problem(line, f"job {kill.job} is not on node {kill.node}", "Place it there first")
        del job.place[node]
        if job.place:
            self._client.scale(job.id, {"nodes": {node: 0}, "force": True})
        else:
            self._pause(job)

    def _begin(self) -> None:
        """Let everything train that was placed since: in place if it trains, from its checkpoint if it was paused."""
        placed = [(name, job) for name, job in self._jobs.items() if job.parts]
        for name, job in placed:
            first = next(iter(job.parts.values()))
            before, job.place = job.place, {self._nodes[n]: len(run.slots) for n, run in job.parts.items()}
            job.parts, job.group = {}, None
            if not job.id or first.from_scratch:
                job.id, job.paused, before = self._submit(name, first), False, {}
            wish = {**dict.fromkeys(before, 0), **job.place}
            self._client.scale(job.id, {"nodes": wish, "force": True})
            if job.paused:
                self._client.act(job.id, "resume")
                job.paused = False
        for _, job in placed:
            self._until_it_trains(job)

    def _submit(self, name: str, run: Run) -> str:
        size = self._scenario.nodes * self._scenario.slots
        wanted = job_of_model(run.model, batch=run.batch, steps=run.iterations, most=size)
        return str(self._client.submit({**wanted, "name": f"scenario-{name}"})["id"])

    def _restart(self) -> None:
        running = [job for job in self._jobs.values() if job.place]
        for job in running:
            self._pause(job)
        for job in running:
            self._client.act(job.id, "resume")
            job.paused = False
            self._until_it_trains(job)

    def _pause(self, job: _Job) -> None:
        if _ended(self._client.job(job.id)):
            return
        self._client.act(job.id, "pause")
        job.paused = True
        self._until(job, lambda told: _state(told) == "paused")

    def _until_it_trains(self, job: _Job) -> None:
        self._until(job, lambda told: _state(told) == "running" and _place(told) == job.place)

    def _until(self, job: _Job, holds: Callable[[dict[str, Any]], bool]) -> None:
        give_up = time.monotonic() + _PATIENCE
        while not (holds(told := self._client.job(job.id)) or _ended(told)):
            if time.monotonic() > give_up:
                raise Conflict(
                    f"job {job.id} does not get there; it is {_state(told)}",
                    remedy="Look at its events and logs",
                )
            time.sleep(_LOOK)
        if _state(told) == "failed":
            raise Conflict(f"job {job.id} failed", remedy=f"Look at tenuto logs {job.id}")

    def _problem(self, line: int, what: str, remedy: str) -> InputInvalid:
        return InputInvalid(what, remedy=remedy, place=Place(self._file, line))


def _ended(told: dict[str, Any]) -> bool:
    return told["ended_at"] is not None


def _state(told: dict[str, Any]) -> str:
    return str(told["state"]).lower()


def _place(told: dict[str, Any]) -> dict[str, int]:
    """Workers by node."""
    return {node: len(slots) for node, slots in told["slots"].items() if slots}
