"""Asks the server again and again for what is on the screen, in a thread of its own: keys never wait for an answer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Any

from tenuto.cli.top.model import Json, Seen, Target
from tenuto.errors import NotFound, TenutoError, Unreachable

if TYPE_CHECKING:
    from tenuto.client.plain import PlainClient

_LOG_LINES = 6
_EVENTS = 6
_LONGEST, _SHORTEST = 900.0, 60.0
"""Seconds of the past that are shown: of a young job as many as it has."""
_POINTS = 60
_MOST_NODES = 3
"""Nodes of a job whose GPUs are asked for their past."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is on the screen."""

    query: Json
    target: Target | None = None


def look(client: PlainClient, wish: Wish) -> Seen:
    """Ask once."""
    overview = client.overview(**wish.query)
    details = None if wish.target is None else _details(client, wish.target)
    return Seen(overview=overview, query=wish.query, target=wish.target, details=details)


def _details(client: PlainClient, target: Target) -> Json:
    try:
        return _job(client, target.name) if target.kind == "job" else _node(client, target.name)
    except NotFound as error:
        return {"problem": str(error)}


def _node(client: PlainClient, name: str) -> Json:
    node = client.node(name)
    sample = None
    with suppress(NotFound):
        sample = client.node_sample(name) if node["usage"] else None
    return {"node": node, "sample": sample}


def _job(client: PlainClient, id_: str) -> Json:
    job = client.job(id_)
    since = f"{min(max(job['elapsed'], _SHORTEST), _LONGEST):.0f}s"
    numbers = _numbers(client, "job", name=job["id"], part=["", "values"], since=since, points=_POINTS)
    return {
        "job": job,
        "numbers": numbers,
        "gpus": _gpus(client, job, since),
        "events": client.events(job=job["id"], last=True, limit=_EVENTS)["items"],
        "logs": client.logs(job["id"], tail=_LOG_LINES, limit=16 << 10)["parts"],
    }


def _gpus(client: PlainClient, job: Json, since: str) -> list[list[float | None]]:
    """How busy the GPUs have been that a job is on now."""
    found: list[list[float | None]] = []
    for name in list(job["slots"] or {})[:_MOST_NODES]:
        node = client.node(name)
        devices = [node["slots"][number]["device"] for number in job["slots"][name]]
        parts = [f"gpu:{device}" for device in devices if device]
        if parts:
            query = {"part": parts[:20], "names": "utilisation", "since": since, "points": _POINTS}
            told = _numbers(client, "node", name=name, **query)
            found += [item["values"].get("utilisation", []) for item in told]
    return found


def _numbers(client: PlainClient, kind: str, **query: Any) -> list[Json]:
    """What the history has; a job is shown without its courses if the history does not answer."""
    try:
        found: list[Json] = client.numbers(kind, **query)["items"]
    except Unreachable:
        raise
    except TenutoError:
        return []
    return found


class Watcher:
    """Looks at an interval, and at once when something else is wished."""

    def __init__(self, client: PlainClient, interval: float, tell: Callable[[], None]) -> None:
        """`tell` is called from its thread when there is news."""
        self._client = client
        self._interval = interval
        self._tell = tell
        self._wish: Wish | None = None
        self._changed = threading.Event()
        self._over = False
        self._news = Seen()
        self.heard_at = monotonic()
        """When the last answer came."""
        self._thread = threading.Thread(target=self._run, name="top", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more; an answer that is still waited for is not waited for."""
        self._over = True
        self._changed.set()
        self._thread.join(0.5)

    def want(self, wish: Wish) -> None:
        """Look at this from now on."""
        if wish != self._wish:
            self._wish = wish
            self._changed.set()

    @property
    def news(self) -> Seen:
        """What was seen last."""
        return self._news

    def _run(self) -> None:
        self._changed.wait()
        while not self._over:
            self._changed.clear()
            assert self._wish is not None
            self._news = self._looked(self._wish)
            self.heard_at = monotonic()
            self._tell()
            self._changed.wait(self._interval)

    def _looked(self, wish: Wish) -> Seen:
        try:
            return look(self._client, wish)
        except Unreachable as error:
            return replace(self._news, problem=f"The server does not answer; trying again. {error}")
        except TenutoError as error:
            return replace(self._news, problem=str(error))
        except Exception as error:  # noqa: BLE001  whatever it is, the screen must not stand still without a word
            return replace(self._news, problem=f"This is a bug of ours: {type(error).__name__}: {error}")
