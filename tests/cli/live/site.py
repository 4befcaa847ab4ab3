"""The real server over real HTTP on a store that a test prepares by hand; the test plays the controller."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from typer.testing import CliRunner, Result

from tenuto.cli.main import app
from tenuto.errors import TenutoError
from tenuto.model.job import Contract, Job, JobSpec, Offers, Progress, Reply
from tenuto.model.node import Node, NodeState, Slot
from tenuto.model.phase import Phase, PromiseState
from tenuto.server.app import create_app
from tenuto.server.auth import digest_of
from tenuto.server.platform import Files, Platform
from tenuto.settings import Settings
from tenuto.store.base import Attempt, Store, Token, Tx
from tenuto.store.logs import LogStore
from tenuto.store.memory import MemoryStore
from tenuto.store.steps import StepStore
from tenuto.wire.worker import WORKER, WorkerId

TOKEN = "a-user-token"
GUARD = 20.0
"""Seconds after which a test that waits has hung."""


def admitted(job: Job) -> Job:
    """A yes with a promise."""
    now = time.time()
    contract = Contract(
        reply=Reply.ADMITTED,
        why="fits",
        message="It fits",
        answered_at=now,
        promised=job.deadline or now + 7200,
        expected=now + 3600,
        share=2,
    )
    return replace(job, phase=Phase.QUEUED, contract=contract, promise=PromiseState.HOLDS)


def declined(job: Job) -> Job:
    """A no with counter-offers."""
    offers = Offers(earliest=time.time() + 4 * 3600, steps=1200.0, in_the_way=("k1",))
    contract = Contract(
        reply=Reply.DECLINED,
        why="deadline_infeasible",
        message="It needs more slots than there are",
        answered_at=time.time(),
        offers=offers,
    )
    ended = time.time()
    return replace(
        job,
        phase=Phase.DECLINED,
        contract=contract,
        why=contract.why,
        message=contract.message,
        ended_at=ended,
    )


@dataclass
class Site:
    """A served store."""

    url: str
    store: Store
    logs: LogStore

    def add_job(self, key: str = "k1", name: str = "train", **fields: Any) -> Job:
        """A job that is queued, unless the test says otherwise."""
        spec_fields = fields.pop("spec", {})
        spec = JobSpec(
            name=name, run=("/bin/sh", "-c", "echo hi"), **{"min_workers": 1, "max_workers": 4, **spec_fields}
        )
        fields = {
            "owner": "kim",
            "submitted_at": time.time() - 3 * 3600,
            "phase": Phase.QUEUED,
            "progress": Progress(left=spec.steps or 0.0, as_of=time.time()),
            **fields,
        }
        return self.store.write(lambda tx: tx.add_job(Job(id=key, number=0, revision=0, spec=spec, **fields)))

    def change(self, key: str, **fields: Any) -> Job:
        """Be the controller."""

        def act(tx: Tx) -> Job:
            job = tx.job(key)
            assert job is not None
            return tx.put_job(replace(job, **fields))

        return self.store.write(act)

    def job(self, key: str) -> Job:
        found = self.store.read(lambda tx: tx.job(key))
        assert found is not None
        return found

    def jobs(self) -> list[Job]:
        return self.store.read(lambda tx: tx.live_jobs())

    def add_node(self, name: str, slots: int = 4, address: str = "127.0.0.1") -> None:
        node = Node(
            name=name,
            number=0,
            revision=0,
            state=NodeState.ONLINE,
            slots=tuple(Slot() for _ in range(slots)),
            address=address,
        )
        self.store.write(lambda tx: tx.put_node(node))

    def add_attempt(
        self, job: str, rank: int = 0, *, generation: int = 1, role: str = WORKER, **fields: Any
    ) -> None:
        attempt = Attempt(
            **{
                "job": job,
                "generation": generation,
                "role": role,
                "rank": rank,
                "node": "node-0",
                "slot": rank,
                "pid": 4711 + rank,
                "started_at": time.time() - 60,
                **fields,
            }
        )
        self.store.write(lambda tx: tx.put_attempt(attempt))

    def prints(self, job: str, text: str, rank: int = 0, *, generation: int = 1, role: str = WORKER) -> None:
        """A worker prints something."""
        worker = WorkerId(job, generation, role, rank)
        self.logs.append(worker, self.logs.extent(worker)[1], text.encode())

    def exits(
        self, job: str, rank: int = 0, *, generation: int = 1, code: int = 0, role: str = WORKER
    ) -> None:
        """A worker ends."""
        self.prints(job, f"Program exit with code {code}\n", rank, generation=generation, role=role)
        self.add_attempt(job, rank, generation=generation, role=role, ended_at=time.time(), exit_code=code)

    def answer(self, key: str, answer: Callable[[Job], Job]) -> None:
        """Answer one job."""

        def act(tx: Tx) -> None:
            job = tx.job(key)
            assert job is not None
            tx.put_job(answer(job))

        self.store.write(act)

    @contextmanager
    def answering(self, answer: Callable[[Job], Job]) -> Iterator[None]:
        """Answer every new job in this way."""
        rung, over = threading.Event(), threading.Event()

        def answer_all() -> None:
            while not over.is_set():
                rung.wait()
                rung.clear()
                for job in self.jobs():
                    if job.phase is Phase.SUBMITTED or (job.phase is Phase.PAUSED and not job.pause):
                        self.answer(job.id, answer)

        end_listening = self.store.listen(lambda _: rung.set())
        thread = threading.Thread(target=answer_all)
        thread.start()
        try:
            yield
        finally:
            end_listening()
            over.set()
            rung.set()
            thread.join(GUARD)


def tenuto(*arguments: str, typed: str | None = None) -> Result:
    """Run a command as the program does, with its exit codes."""
    result = CliRunner().invoke(app, arguments, input=typed)
    if isinstance(result.exception, TenutoError):
        result.stderr_bytes = (result.stderr_bytes or b"") + f"tenuto: {result.exception}\n".encode()
        result.exit_code = result.exception.exit_code
    elif result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def ok(*arguments: str, typed: str | None = None) -> str:
    """What a command prints that must succeed."""
    result = tenuto(*arguments, typed=typed)
    assert result.exit_code == 0, result.output
    return result.stdout


def as_json(*arguments: str) -> Any:
    return json.loads(ok(*arguments, "--json"))


def until(holds: Callable[[], bool]) -> None:
    """Wait for something that must happen."""
    give_up = time.monotonic() + GUARD
    while not holds():
        assert time.monotonic() < give_up, "it did not happen"
        time.sleep(0.01)


@dataclass
class Served:
    """A server whose store can be exchanged: to start one for each test would take longer than the tests."""

    url: str
    app: FastAPI

    def on(self, store: Store, directory: Path) -> Site:
        """The server with this store behind it."""
        files = files_in(directory)
        self.app.state.platform = Platform.over(store, files, Settings(), time.time)
        return Site(self.url, store, files.logs)


def files_in(directory: Path) -> Files:
    """Where this server keeps files."""
    return Files(LogStore(directory, 1 << 30), StepStore(directory / ".records", 1 << 20))


@contextmanager
def served(store: Store, directory: Path, port: int = 0) -> Iterator[Served]:
    """The server, while it is served."""
    application = create_app(store, files_in(directory), Settings(), time.time)
    listening = socket.create_server(("127.0.0.1", port))
    server = uvicorn.Server(uvicorn.Config(application, log_level="warning", lifespan="off", ws="none"))
    thread = threading.Thread(target=server.run, args=([listening],), name="served")
    thread.start()
    try:
        yield Served(f"http://127.0.0.1:{listening.getsockname()[1]}", application)
    finally:
        application.state.platform.bell.close()
        server.should_exit = True
        thread.join(GUARD)
        assert not thread.is_alive(), "the server did not end"


def a_store() -> Store:
    """An empty store that knows the user."""
    store = MemoryStore()
    token = Token(digest=digest_of(TOKEN), user="kim")
    store.write(lambda tx: tx.add_token(token))
    return store
