"""A real server on loopback over a real SQLite store, and records as the controller would leave them."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from tenuto.model.job import Contract, Job, Progress, Reply
from tenuto.model.node import Node, NodeState, Slot
from tenuto.model.phase import Phase, PromiseState
from tenuto.server.app import create_app
from tenuto.server.auth import NODE, USER, digest_of
from tenuto.server.http_protocol import ServerConfig
from tenuto.server.platform import Files
from tenuto.settings import Settings
from tenuto.store.base import EventQuery, JobQuery, Store, Token
from tenuto.store.logs import LogStore
from tenuto.store.open import open_store
from tenuto.store.steps import StepStore

TOKEN = "a-token-for-users"
NODE_TOKEN, NODE_NAME = "a-credential-of-a-node", "uzel"
USER_NAME = "민준"
NOW = 1_800_000_000.0
EVERYTHING = 10_000
QUICK: dict[str, Any] = {"timeout": 120.0, "trust_env": False, "verify": False}
"""A client of http needs no certificates, whose reading takes longer than a test."""


class Clock:
    """Shows the time that a test sets."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


@dataclass
class Served:
    """A running server, with its back door."""

    http: httpx.Client
    store: Store
    logs: LogStore
    clock: Clock
    app: Any
    url: str

    # the front door

    def get(self, path: str, **query: Any) -> Any:
        return answered(self.http.get(path, params=query))

    def post(self, path: str, body: Any = None, *, key: str | None = None) -> Any:
        headers = {} if key is None else {"Idempotency-Key": key}
        return answered(self.http.post(path, json=body, headers=headers))

    def submit(self, name: str = "trénink", **fields: Any) -> Any:
        return self.post("/jobs", a_form(name, **fields))

    def refused(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """The error that a request gets, with its status."""
        text = None if body is None else json.dumps(body)  # with escapes for what is no character
        return error_in(
            self.http.request(method, path, content=text, headers={"Content-Type": "application/json"})
        )

    # the back door

    def job(self, id_: str) -> Job:
        job = self.store.read(lambda tx: tx.job(id_))
        assert job is not None
        return job

    def put(self, id_: str, **fields: Any) -> Job:
        """Do to a job what the controller would do."""
        return self.store.write(lambda tx: tx.put_job(replace(self.job_in(tx, id_), **fields)))

    @staticmethod
    def job_in(tx: Any, id_: str) -> Job:
        job: Job | None = tx.job(id_)
        assert job is not None
        return job

    def runs(self, id_: str, **slots: tuple[int, ...]) -> Job:
        """Let a job run on these slots; a name of a node has _ for -."""
        on = {name.replace("_", "-"): numbers for name, numbers in slots.items()}
        job = self.job(id_)
        progress = replace(job.progress, speed=1.0, changed_at=self.clock.now, ready_at=self.clock.now)
        return self.put(
            id_,
            phase=Phase.RUNNING,
            slots=on,
            generation=job.generation + 1,
            progress=progress,
            started_at=NOW,
        )

    def join(self, name: str, count: int = 4, **fields: Any) -> Node:
        node = Node(
            name=name,
            number=0,
            revision=0,
            state=NodeState.ONLINE,
            slots=tuple(Slot() for _ in range(count)),
            joined_at=NOW,
            heard_at=NOW,
        )
        return self.store.write(lambda tx: tx.put_node(replace(node, **fields)))

    def set_meta(self, **values: Any) -> None:
        def act(tx: Any) -> None:
            for key, value in values.items():
                tx.set_meta(key, value)

        self.store.write(act)

    def events(self, **query: Any) -> list[Any]:
        return self.store.read(lambda tx: tx.events(EventQuery(limit=EVERYTHING, **query)))

    def everything(self) -> Any:
        """All that the store holds, for comparisons."""

        def look(tx: Any) -> Any:
            jobs = tx.jobs(JobQuery(limit=EVERYTHING))
            meta = {key: tx.meta(key) for key in ("scheduling", "memory", "draining", "epoch", "profiles")}
            attempts = [tx.attempts(job.id) for job in jobs]
            return jobs, attempts, tx.nodes(), tx.events(EventQuery(limit=EVERYTHING)), meta, tx.revision

        return self.store.read(look)


def a_form(name: str = "trénink", **fields: Any) -> dict[str, Any]:
    """A job as a client sends it."""
    return {"name": name, "run": "python train.py", **fields}


def answered(response: httpx.Response) -> Any:
    """What a request that must be granted brought."""
    assert response.is_success, f"{response.status_code} {response.text}"
    return response.json()


def error_in(response: httpx.Response) -> dict[str, Any]:
    """The error in an answer: always of one shape."""
    error: dict[str, Any] = response.json()
    assert set(error) == {"code", "message", "remedy", "field"}, response.text
    assert error["message"] and error["remedy"], response.text
    return {"status": response.status_code, **error}


def promised(job: Job, at: float) -> dict[str, Any]:
    """The fields of a job that was promised to be done at a moment."""
    contract = Contract(
        reply=Reply.ADMITTED,
        why="fits",
        message="promised",
        answered_at=NOW,
        promised=at,
        expected=at,
        share=1,
    )
    return {"contract": contract, "promise": PromiseState.HOLDS, "deadline": at}


@contextmanager
def a_server(
    directory: Path, settings: Settings | None = None, headers: Mapping[str, str] | None = None
) -> Iterator[Served]:
    """Serve an empty platform."""
    settings = settings or Settings()
    store = open_store(f"sqlite:///{directory / 'store.sqlite'}")
    logs = LogStore(directory / "logs", settings.logs.keep_bytes)
    clock = Clock()
    store.write(
        lambda tx: tx.add_token(Token(digest=digest_of(TOKEN), user=USER_NAME, kind=USER, used_at=NOW))
    )
    store.write(
        lambda tx: tx.add_token(Token(digest=digest_of(NODE_TOKEN), user="nodes", kind=NODE, node=NODE_NAME))
    )
    files = Files(logs, StepStore(directory / "records", settings.metrics.keep_bytes))
    app = create_app(store, files, settings, clock)
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(ServerConfig(app, settings.serving, log_level="critical", ws="none"))
    thread = threading.Thread(target=server.run, args=([listening],), name="server under test")
    thread.start()
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    given = {"Authorization": f"Bearer {TOKEN}"} if headers is None else headers
    try:
        with httpx.Client(base_url=f"{url}/api/v1", headers=given, **QUICK) as http:
            yield Served(http, store, logs, clock, app, url)
    finally:
        app.state.platform.bell.close()
        server.should_exit = True
        thread.join(20.0)
        assert not thread.is_alive(), "the server did not end"
        store.close()


def left(steps: float) -> Progress:
    return Progress(left=steps, as_of=NOW)
