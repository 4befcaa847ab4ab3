"""A whole server with real credentials over real HTTP, and nodes that speak the protocol as an attacker would."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI
from tests.engines.builders import an_id, an_order
from tests.engines.serving import Server

from tenuto.engines.local import LocalEngine
from tenuto.engines.node_api import node_router
from tenuto.model.node import Slot
from tenuto.server.app import create_app
from tenuto.server.assignments import Assignments
from tenuto.server.auth import JOIN, USER, Gate, digest_of
from tenuto.server.node_credentials import NodeCredentials
from tenuto.server.platform import Files
from tenuto.settings import Nodes, Settings
from tenuto.store.base import Store, Token
from tenuto.store.logs import LogStore
from tenuto.store.memory import MemoryStore
from tenuto.store.steps import StepStore
from tenuto.wire.codec import decode, encode
from tenuto.wire.node import HEADER, PREFIX, PROTOCOL, Hello, Orders, Sampled, Samples
from tenuto.wire.worker import WorkerOrder

JOIN_TOKEN, USER_TOKEN, USER_NAME = "the-token-for-joining", "the-token-of-a-user", "민준"
API = "/api/v1"
QUICK: dict[str, Any] = {"timeout": 30.0, "trust_env": False, "verify": False}


class KeptSamples:
    """What nodes have uploaded."""

    def __init__(self) -> None:
        self.taken: list[Samples] = []

    def take(self, told: Samples) -> Sampled:
        self.taken.append(told)
        return Sampled(kept=None)


class Clock:
    """The real time, and more if a test says so."""

    ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


@dataclass
class Speaker:
    """A client of the node protocol with one secret."""

    http: httpx.Client
    name: str
    secret: str
    session: str = "s-1"

    def request(self, method: str, path: str, value: Any = None, **query: Any) -> httpx.Response:
        """Any request, with this secret."""
        content = value if value is None or isinstance(value, bytes) else encode(value)
        headers = {"Authorization": f"Bearer {self.secret}", HEADER: PROTOCOL}
        if content is not None and path.startswith(API):
            headers["Content-Type"] = "application/json"
        prefix = "" if path.startswith(API) else PREFIX
        return self.http.request(method, prefix + path, content=content, params=query, headers=headers)

    def hello(self, **fields: Any) -> httpx.Response:
        """Introduce the node."""
        return self.request("POST", "/hello", replace(a_hello(self.name, self.session), **fields))

    def orders(self) -> Orders:
        """The orders of the node, without waiting."""
        answer = self.request("GET", "/orders", node=self.name, session=self.session, wait=0)
        assert answer.status_code == 200, answer.text
        return decode(Orders, answer.content)


@dataclass
class Site:
    """The server, with its back door."""

    store: Store
    engine: LocalEngine
    credentials: NodeCredentials
    app: FastAPI
    directory: Path
    http: httpx.Client
    clock: Clock
    samples: KeptSamples

    def speaker(self, name: str, secret: str) -> Speaker:
        return Speaker(self.http, name, secret)

    def joined(self, name: str) -> Speaker:
        """A node that has joined and said hello."""
        speaker = self.speaker(name, self.credentials.join(name))
        assert speaker.hello().status_code == 200
        return speaker

    def user(
        self, method: str, path: str, body: Any = None, *, secret: str = USER_TOKEN, **query: Any
    ) -> httpx.Response:
        """A request of a user."""
        headers = {"Authorization": f"Bearer {secret}"}
        return self.http.request(method, API + path, json=body, params=query, headers=headers)

    def ordered(self, node: str, job: str = "job-1", **fields: Any) -> WorkerOrder:
        """A worker that the controller wants on a node, and no others."""
        order = an_order(an_id(job), node=node, env={"SECRET": "env-of-the-owner"}, **fields)
        self.engine.want(1, [order])
        return order


def a_hello(name: str, session: str = "s-1") -> Hello:
    return Hello(
        node=name, session=session, slots=(Slot(device="0", kind="A100"),), address="127.0.0.1", version="1"
    )


@contextmanager
def a_site(
    directory: Path, server: Server, nodes: Nodes | None = None, store: Store | None = None
) -> Iterator[Site]:
    """A server that knows a user, and a token for joining."""
    clock, engine = Clock(), LocalEngine()
    store = MemoryStore() if store is None else store
    for token in (
        Token(digest=digest_of(JOIN_TOKEN), user="nodes", kind=JOIN),
        Token(digest=digest_of(USER_TOKEN), user=USER_NAME, kind=USER),
    ):
        store.write(lambda tx, token=token: tx.add_token(token))  # type: ignore[misc]
    settings = Settings(nodes=nodes or Nodes())
    gate = Gate(store, clock)
    credentials = NodeCredentials(store, gate, Assignments(store, engine.was_ordered), settings.nodes, clock)
    logs = LogStore(directory / "logs", keep_bytes=1 << 20)
    samples = KeptSamples()
    router = node_router(engine, logs, credentials, settings, samples=samples)
    files = Files(logs, StepStore(directory / "records", keep_bytes=1 << 20))
    app = create_app(store, files, settings, clock, [router], gate=gate)
    app.state.assignments, app.state.on_revoked = credentials.assignments, engine.dismiss
    server.app = app
    with httpx.Client(base_url=server.url, **QUICK) as http:
        yield Site(store, engine, credentials, app, directory, http, clock, samples)
    engine.close()


def code_of(answer: httpx.Response) -> tuple[int, str]:
    """The status and the code of a refusal."""
    return answer.status_code, "" if answer.is_success else str(answer.json()["code"])
