"""What a change of size costs a training: pins sizes on a live platform and reads what the workers tell of it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tenuto.client.plain import PlainClient
from tenuto.errors import Conflict
from tenuto.wire.records import RESCALE

PHASES = ("warm_up_ms", "agree_ms", "form_ms", "transfer_ms", "first_step_ms", "pause_ms")
"""As `wire.records` tells them; `pause_ms` is what training lost."""
_LOOK = 0.1
_PATIENCE = 300.0
_STEPS = 10
"""That are made at a size before it is left, so that a normal step is known."""


@dataclass(frozen=True, slots=True)
class Case:
    """A change: of the number of workers, or of the node they are on."""

    before: int
    after: int
    migrate: bool = False

    @property
    def name(self) -> str:
        """As the paper's columns are called."""
        return f"migrate {self.before}" if self.migrate else f"{self.before}→{self.after}"


@dataclass(frozen=True, slots=True)
class Measured:
    """One change that was made."""

    case: Case
    milliseconds: Mapping[str, float]
    """By phase."""
    moved_bytes: int


def medians(found: Sequence[Measured]) -> dict[str, dict[str, float]]:
    """For each case the median of every phase, in the order in which cases came first."""
    cases = dict.fromkeys(one.case.name for one in found)
    return {
        name: {
            phase: statistics.median(one.milliseconds[phase] for one in found if one.case.name == name)
            for phase in PHASES
        }
        for name in cases
    }


class Rescales:
    """One job whose size is changed again and again."""

    def __init__(self, client: PlainClient, job: Mapping[str, Any], nodes: Sequence[str]) -> None:
        self._client = client
        self._nodes = nodes
        self._seen = 0
        """The last event that was looked at."""
        self.job = str(client.submit(job)["id"])

    def measure(self, cases: Sequence[Case]) -> Iterator[Measured]:
        """Make the changes, one after the other."""
        for case in cases:
            self._bring_to(self._at(case, after=False), case.before)
            yield self._change(case)

    def end(self) -> None:
        """Cancel the job and wait until it is gone."""
        self._client.act(self.job, "cancel")
        while self._client.job(self.job, wait="end")["ended_at"] is None:
            continue

    def _at(self, case: Case, *, after: bool) -> dict[str, int]:
        """Workers by node: all on the first one, unless they have moved to the second."""
        size = case.after if after else case.before
        if not case.migrate:
            return {}
        first, second = self._nodes[:2]
        return {first: 0, second: size} if after else {first: size, second: 0}

    def _bring_to(self, nodes: Mapping[str, int], size: int) -> None:
        told = self._client.job(self.job)
        there = {node: len(slots) for node, slots in told["slots"].items() if slots}
        wanted = {node: count for node, count in nodes.items() if count}
        if there != wanted if nodes else told["workers"] != size:
            self._pin(nodes, size)
        self._until_steps(size)

    def _change(self, case: Case) -> Measured:
        self._skip_events()
        self._pin(self._at(case, after=True), case.after)
        told = list(self._until_rescaled(case))
        phases = {phase: sum(float(one.get(phase) or 0.0) for one in told) for phase in PHASES}
        # The first step of fewer workers may be quicker than a normal one was; forming and handing over always costs.
        phases["pause_ms"] = max(phases["pause_ms"], phases["form_ms"] + phases["transfer_ms"])
        return Measured(case, phases, sum(int(one.get("moved_bytes") or 0) for one in told))

    def _pin(self, nodes: Mapping[str, int], size: int) -> None:
        wish: dict[str, Any] = {"nodes": dict(nodes)} if nodes else {"workers": size}
        self._client.scale(self.job, {**wish, "force": True})

    def _until_rescaled(self, case: Case) -> Iterator[Mapping[str, Any]]:
        """What is told of every generation from the pin to the size that is wanted; a move takes two of them."""
        give_up = time.monotonic() + _PATIENCE
        steps = 0
        while True:
            for event in self._new_events():
                data = event["data"]
                if event["kind"] == RESCALE and data.get("why") != "start":
                    yield data
                    steps += 1
                    if data.get("after") == case.after and (not case.migrate or steps > 1):
                        return
            self._refuse_if_ended()
            if time.monotonic() > give_up:
                raise Conflict(
                    f"{case.name} was not done within {_PATIENCE:.0f} s", remedy="Look at tenuto events"
                )
            time.sleep(_LOOK)

    def _until_steps(self, size: int) -> None:
        """Wait until so many workers have made some steps together."""
        give_up = time.monotonic() + _PATIENCE
        first: tuple[int, float] | None = None
        while True:
            told = self._client.job(self.job)
            step = told["progress"]["step"] or 0.0
            if told["workers"] == size and told["state"].lower() == "running":
                first = (
                    first
                    if first is not None and first[0] == told["generation"]
                    else (told["generation"], step)
                )
                if step - first[1] >= _STEPS:
                    return
            self._refuse_if_ended()
            if time.monotonic() > give_up:
                raise Conflict(
                    f"{size} workers did not train together within {_PATIENCE:.0f} s",
                    remedy="Look at tenuto events",
                )
            time.sleep(_LOOK)

    def _refuse_if_ended(self) -> None:
        told = self._client.job(self.job)
        if told["ended_at"] is not None:
            raise Conflict(
                f"the job has ended: {told['message'] or told['state']}", remedy="Look at tenuto logs"
            )

    def _new_events(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._client.events(job=self.job, after=self._seen, limit=500)["items"]
        self._seen = max([self._seen, *(event["id"] for event in found)])
        return found

    def _skip_events(self) -> None:
        while self._new_events():
            continue
