"""A node for stories: a real server on a port of its own, a real supervisor process, real workers."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from tests.engines.authority import OpenAuthority

from tenuto.engines.local import LocalEngine
from tenuto.engines.node_api import node_router
from tenuto.settings import Logs, Nodes, Settings
from tenuto.wire.worker import WORKER, CrewOrder, WorkerId, WorkerOrder, WorkerSeen, WorkerState

NODE = "węzeł-1"
TOKEN = "geheim"
MARK = "TENUTO_TEST_MARK"
HANG = 60.0
"""Seconds after which a story that does not go on has failed."""


class KeptLogs:
    """Logs in memory: what is new is appended, a gap is filled with nothing."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self.text: dict[WorkerId, bytearray] = {}
        self.ends: dict[WorkerId, int] = {}
        self._ring = ring

    def append(self, worker: WorkerId, offset: int, data: bytes) -> int:
        end = self.ends.get(worker, 0)
        new = data[max(0, end - offset) :]
        if new:
            self.text.setdefault(worker, bytearray()).extend(new)
            self.ends[worker] = offset + len(data)
        self._ring()
        return self.ends.get(worker, 0)


class Desk:
    """The server's end; it can go down, and come back on the same port or another one."""

    def __init__(self, settings: Settings) -> None:
        inherit = f"{settings.workers.inherit} {MARK}"  # by which a test finds the processes of its node
        self.settings = replace(settings, workers=replace(settings.workers, inherit=inherit))
        self.term = 0
        self.port = 0
        self._bell = threading.Condition()
        self.logs = KeptLogs(self.ring)
        self.engine = LocalEngine()
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def up(self) -> None:
        """Be there, without memory; a new controller begins a new term."""
        self.engine = LocalEngine()
        self.engine.listen(self.ring)
        self.term += 1
        config = uvicorn.Config(
            self.make_app(), port=self.port, log_level="critical", lifespan="off", timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run)
        self._thread.start()
        server = self._server
        self.until(lambda: server.started)
        self.port = server.servers[0].sockets[0].getsockname()[1]

    def make_app(self) -> FastAPI:
        """What is served."""
        app = FastAPI()
        app.include_router(node_router(self.engine, self.logs, OpenAuthority(TOKEN), self.settings))
        return app

    def down(self) -> None:
        assert self._server is not None
        assert self._thread is not None
        self.engine.close()
        self._server.should_exit = True
        self._thread.join(HANG)
        assert not self._thread.is_alive()

    def ring(self) -> None:
        with self._bell:
            self._bell.notify_all()

    def until(self, holds: Callable[[], Any]) -> Any:
        """Wait until something holds; files and processes do not ring, so it is looked at again and again too."""
        give_up = time.monotonic() + HANG
        with self._bell:
            while not (value := holds()):
                assert time.monotonic() < give_up, "the story does not go on"
                self._bell.wait(0.02)
        return value

    def want(self, *orders: WorkerOrder, crews: Sequence[CrewOrder] = ()) -> None:
        self.engine.want(self.term, orders, crews)

    def seen(self, order: WorkerOrder) -> WorkerSeen | None:
        return self.engine.observe().workers.get(order.id)

    def until_state(self, order: WorkerOrder, state: WorkerState) -> WorkerSeen:
        def look() -> WorkerSeen | None:
            seen = self.seen(order)
            return seen if seen is not None and seen.state is state else None

        found: WorkerSeen = self.until(look)
        return found

    def until_running(self, order: WorkerOrder) -> WorkerSeen:
        return self.until_state(order, WorkerState.RUNNING)

    def until_exited(self, order: WorkerOrder) -> WorkerSeen:
        return self.until_state(order, WorkerState.EXITED)

    def until_forgotten(self, order: WorkerOrder) -> None:
        self.until(lambda: self.engine.observe().nodes and self.seen(order) is None)

    def log(self, order: WorkerOrder) -> str:
        return bytes(self.logs.text.get(order.id, b"")).decode()

    def until_logged(self, order: WorkerOrder, text: str) -> str:
        self.until(lambda: text in self.log(order))
        return self.log(order)


class Node:
    """A supervisor process on a directory of its own."""

    def __init__(
        self, desk: Desk, directory: Path, *, by_file: bool = False, options: tuple[str, ...] = ()
    ) -> None:
        self.desk = desk
        self.name = NODE
        self.options = options
        """Further arguments of its supervisors."""
        self.directory = directory / "węzły" / "노드"
        self.mark = uuid.uuid4().hex
        self.process: subprocess.Popen[bytes] | None = None
        self._by_file = by_file
        self._server_file = directory / "server.json"
        self._token = directory / "token"
        self._token.write_text(f"{TOKEN}\n", encoding="utf-8")
        self._complaints = directory / "complaints"
        self.write_url()

    def write_url(self) -> None:
        """Say where the server is now, for supervisors that read it from a file."""
        self._server_file.write_text(json.dumps({"url": self.desk.url}), encoding="utf-8")

    def start(self) -> None:
        with self._complaints.open("ab") as complaints:
            self.process = self.spawn(stderr=complaints)

    def spawn(self, *more: str, **popen: Any) -> subprocess.Popen[bytes]:
        """Start a supervisor; more arguments win over the usual ones."""
        server = ("--server-file", self._server_file) if self._by_file else ("--server", self.desk.url)
        usual = ("--dir", self.directory, "--node", self.name, "--token-file", self._token, "--slots", "4")
        return subprocess.Popen(
            [sys.executable, "-m", "tenuto.engines.supervisor", *server, *usual, *self.options, *more],
            env={**os.environ, MARK: self.mark, "TENUTO_TOKEN": "nobody's business"},
            **popen,
        )

    def complaints(self) -> str:
        """What supervisors have written to their operator."""
        return self._complaints.read_text(encoding="utf-8")

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait(HANG)

    def terminate(self) -> int:
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(HANG)

    def come_back(self) -> None:
        """Be there again after whatever happened, and listened to."""
        if self.process is None or self.process.poll() is not None:
            self.start()
        self.desk.until(self.has_signed_in)

    def leave(self) -> int:
        """Be told to leave, and do so."""
        self.come_back()
        self.desk.want()
        self.desk.engine.forget_node(self.name)
        assert self.process is not None
        return self.process.wait(HANG)

    def has_signed_in(self) -> bool:
        """Whether the present supervisor, and not one before it, has told what it sees."""
        state = self.directory / "state.json"
        known = self.desk.engine._nodes.get(self.name)
        return (
            known is not None
            and known.workers is not None
            and state.exists()
            and known.hello.session == json.loads(state.read_bytes())["session"]
            and (self.directory / "supervisor.json").exists()
            and json.loads((self.directory / "supervisor.json").read_bytes())["pid"] == self.pid
        )

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def pids(self) -> set[int]:
        """Every process that descends from the supervisor, however it has hidden."""
        return {pid for pid in _all_pids() if f"{MARK}={self.mark}".encode() in _environ(pid)}

    def files(self, order: WorkerOrder) -> Path:
        return self.directory / "workers" / str(order.id)

    def shim_pid(self, order: WorkerOrder) -> int:
        return int(json.loads((self.files(order) / "shim.json").read_bytes())["pid"])


@contextmanager
def a_node(
    directory: Path,
    settings: Settings | None = None,
    *,
    by_file: bool = False,
    options: tuple[str, ...] = (),
    desk: Desk | None = None,
) -> Iterator[tuple[Desk, Node]]:
    """A server and a supervisor; afterwards nothing of them may be left: no process, no file."""
    desk = desk or Desk(settings or some_settings())
    desk.up()
    node = Node(desk, directory, by_file=by_file, options=options)
    try:
        node.come_back()
        yield desk, node
        assert node.leave() == 0
        assert not node.pids()
        assert [left.name for left in node.directory.iterdir()] == ["left"]
    finally:
        for pid in node.pids():
            os.kill(pid, signal.SIGKILL)
        if node.process is not None:
            node.process.wait(HANG)
        desk.down()


def some_settings(*, dead_man: float | None = None, spool_bytes: int = 1 << 20) -> Settings:
    return Settings(nodes=Nodes(heartbeat=0.5, dead_man=dead_man), logs=Logs(spool_bytes=spool_bytes))


_numbers = itertools.count(1)


def an_order(job: str = "", *argv: str, slot: int | None = 0, rank: int = 0, **fields: Any) -> WorkerOrder:
    """A worker that waits to be stopped; of a job of its own if none is named."""
    order = WorkerOrder(
        id=WorkerId(
            job or f"job{next(_numbers)}", fields.pop("generation", 1), fields.pop("role", WORKER), rank
        ),
        node=NODE,
        slot=slot,
        argv=argv or ("sleep", "1000"),
        env={},
        grace=5.0,
    )
    return replace(order, **fields)


def a_script(line: str, job: str = "", **fields: Any) -> WorkerOrder:
    """A worker that is a line of shell."""
    return an_order(job, "/bin/sh", "-c", line, **fields)


def a_program(code: str, job: str = "", **fields: Any) -> WorkerOrder:
    """A worker that is a Python program."""
    return an_order(job, sys.executable, "-c", code, **fields)


def environment_of(pid: int) -> Mapping[str, str]:
    pairs = (pair.decode().partition("=") for pair in _environ(pid) if pair)
    return {name: value for name, _, value in pairs}


def _all_pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _environ(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []
