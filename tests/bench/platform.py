"""A platform that does at once what it is asked for, and remembers it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, cast

from tenuto.client.plain import PlainClient

Json = dict[str, Any]


class Obliging:
    """Answers like a server whose workers are always ready."""

    def __init__(self, nodes: int = 1, told: tuple[Json, ...] = ()) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.events_told: list[Json] = []
        self._told = list(told)
        """What workers will tell of the next rescales."""
        self._nodes = [f"węzeł-{number}" for number in range(nodes)]
        self._jobs: dict[str, Json] = {}
        self._numbers = itertools.count(1)

    @property
    def client(self) -> PlainClient:
        return cast("PlainClient", self)

    def nodes(self) -> Json:
        return {"items": [{"name": name} for name in self._nodes]}

    def submit(self, job: Mapping[str, Any]) -> Json:
        name = f"j{len(self._jobs)}"
        self.asked.append(("submit", name, job["name"]))
        self._jobs[name] = {
            "id": name, "state": "RUNNING", "slots": {self._nodes[0]: [0]}, "workers": 1, "ended_at": None,
            "generation": 1, "progress": {"step": 0.0}, "message": "",
        }  # fmt: skip
        return self._jobs[name]

    def job(self, ref: str, **_: Any) -> Json:
        self._jobs[ref]["progress"]["step"] += 10.0
        return self._jobs[ref]

    def scale(self, ref: str, wish: Mapping[str, Any]) -> Json:
        job = self._jobs[ref]
        wanted = dict(wish.get("nodes") or {self._nodes[0]: wish.get("workers")})
        self.asked.append(("scale", ref, wanted))
        job["slots"] |= {node: list(range(count)) for node, count in wanted.items()}
        job["workers"] = sum(map(len, job["slots"].values()))
        job["generation"] += 1
        for data in [self._told.pop(0) for _ in self._told[:2]] if "nodes" in wish else self._told[:1]:
            self._tell(ref, data)
        if "nodes" not in wish:
            del self._told[:1]
        return job

    def _tell(self, ref: str, data: Json) -> None:
        event = {"id": next(self._numbers), "kind": "rescale", "job": ref, "data": data}
        self.events_told.append(event)

    def act(self, ref: str, verb: str) -> Json:
        self.asked.append((verb, ref))
        job = self._jobs[ref]
        job["state"] = {"pause": "PAUSED", "resume": "RUNNING", "cancel": "CANCELLED"}[verb]
        job["ended_at"] = "now" if verb == "cancel" else None
        return job

    def events(self, *, job: str, after: int, limit: int) -> Json:
        found = [event for event in self.events_told if event["id"] > after and event["job"] == job]
        return {"items": found[:limit]}
