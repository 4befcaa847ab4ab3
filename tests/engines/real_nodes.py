"""Two nodes with real supervisors on this machine, served by a local engine over real HTTP."""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.contracts.engine_contract import FIRST, HANG, SECOND
from tests.engines import puppet
from tests.engines.authority import provide
from tests.engines.serving import KeptLogs, Server, an_app
from tests.engines.supervisor.crews import dancer

from tenuto.engines.keeper import LEFT, WHO, Keeper, LocalNode, WayIn
from tenuto.engines.local import LocalEngine
from tenuto.settings import Nodes, Settings
from tenuto.wire.worker import CrewOrder, WorkerId, WorkerOrder

HEARTBEAT = 0.1
SETTINGS = Settings(nodes=Nodes(heartbeat=HEARTBEAT))


def until(holds: Callable[[], bool], what: str) -> None:
    """Look until it is so."""
    give_up = time.monotonic() + HANG
    while not holds():
        assert time.monotonic() < give_up, f"it never came to pass that {what}"
        time.sleep(0.005)


class Machine:
    """A server and what its keeper keeps alive."""

    def __init__(self, home: Path) -> None:
        self.logs = KeptLogs()
        self.nodes = {name: home / name for name in (FIRST, SECOND)}
        self._way_in = WayIn(server_file=home / "server.json", provide=provide)
        self._serve()
        self.keeper = Keeper(
            [LocalNode(name=name, directory=at, slots=2) for name, at in self.nodes.items()], self._way_in
        )
        self.keeper.start()

    def _serve(self) -> None:
        self.engine, self._server = LocalEngine(), Server()
        self._server.app = an_app(self.engine, self.logs, SETTINGS)
        self._way_in.server_file.write_text(json.dumps({"url": self._server.url}))

    def restart_server(self) -> None:
        """Another server, at another port, that knows nothing."""
        self._stop_serving()
        self._serve()

    def _stop_serving(self) -> None:
        self.engine.close()
        self._server.close()

    def supervisor(self, node: str) -> int:
        """The pid of the node's supervisor."""
        return int(json.loads((self.nodes[node] / WHO).read_bytes())["pid"])

    def obeyed(self, node: str) -> int:
        """The newest term that the node's supervisor has obeyed."""
        return int(json.loads((self.nodes[node] / "state.json").read_bytes())["term"])

    def all_there(self) -> None:
        """Wait until both nodes are seen; one that has left by order comes back."""

        def complete() -> bool:
            for at in self.nodes.values():
                (at / LEFT).unlink(missing_ok=True)
            return set(self.engine.observe().nodes) == set(self.nodes)

        until(complete, "both nodes are there")

    def close(self) -> None:
        """Let everything end."""
        for name in self.nodes:
            self.engine.forget_node(name)
        left = self.keeper.ended(self.nodes, HANG)
        self.keeper.stop_watching()
        self._stop_serving()
        assert not left, f"the supervisors of {left} did not end"


@contextmanager
def a_machine(home: Path) -> Iterator[Machine]:
    machine = Machine(home)
    try:
        machine.all_there()
        machine.engine.want(1, [])
        yield machine
    finally:
        machine.close()


class LaterTerms:
    """The engine, with terms counted from a point on: supervisors that have heard a term obey no older one."""

    def __init__(self, engine: LocalEngine, after: int) -> None:
        self._engine = engine
        self._after = after
        self.observe = engine.observe
        self.forget_node = engine.forget_node
        self.listen = engine.listen
        self.close = engine.close

    def want(self, term: int, orders: Sequence[WorkerOrder], crews: Sequence[CrewOrder] = ()) -> None:
        self._engine.want(self._after + term, orders, crews)


class RealStage:
    """What can be done to real workers and real supervisors."""

    def __init__(self, machine: Machine, directory: Path, after_term: int) -> None:
        self.machine = machine
        self._directory = directory
        self._engine = LaterTerms(machine.engine, after_term)

    @property
    def engine(self) -> LaterTerms:
        return self._engine

    def command(self, worker: WorkerId, *, slow_to_stop: bool) -> Mapping[str, Any]:
        pipe = self._pipe(worker)
        if not pipe.exists():
            os.mkfifo(pipe)
        manner = ("slow",) if slow_to_stop else ()
        program = (sys.executable, "-ISE", puppet.__file__)
        return {"argv": (*program, str(self._directory), str(worker), *manner)}

    def let_exit(self, worker: WorkerId, code: int) -> None:
        self.tell(worker, f"exit {code}")

    def let_report(self, worker: WorkerId, step: float) -> None:
        self.tell(worker, f"report {step}")

    def release(self, worker: WorkerId) -> None:
        self.tell(worker, "exit 143")

    def silence(self, node: str) -> None:
        os.kill(self.machine.supervisor(node), signal.SIGSTOP)
        until(lambda: self._quiet_for(node) > 3 * HEARTBEAT, f"{node} is silent")

    def unsilence(self, node: str) -> None:
        os.kill(self.machine.supervisor(node), signal.SIGCONT)

    def starts(self) -> Sequence[WorkerId]:
        with suppress(FileNotFoundError):
            return [WorkerId.parse(line) for line in (self._directory / "starts").read_text().splitlines()]
        return []

    def tell(self, worker: WorkerId, line: str) -> None:
        """Write into the worker's pipe, as soon as it reads."""
        opened: list[int] = []
        until(lambda: _opened(self._pipe(worker), opened), f"{worker} listens")
        os.write(opened[0], f"{line}\n".encode())
        os.close(opened[0])

    def close(self, term: int) -> None:
        """Let all workers go, also those that are slow to stop."""
        self.machine.engine.want(term, [])
        for pipe in self._directory.glob("*.pipe"):
            opened: list[int] = []
            if _opened(pipe, opened):
                with suppress(BrokenPipeError):  # it has just gone by itself
                    os.write(opened[0], b"exit 143\n")
                os.close(opened[0])
        until(lambda: not self.machine.engine.observe().workers, "all workers are gone")

    def _pipe(self, worker: WorkerId) -> Path:
        return self._directory / f"{worker}.pipe"

    def _quiet_for(self, node: str) -> float:
        return time.time() - self.machine.engine.observe().nodes[node].heard_at


class RealFloor:
    """What can be done to real workers that keep to their memberships."""

    def __init__(self, machine: Machine, directory: Path, after_term: int) -> None:
        self._machine = machine
        self._directory = directory
        self._engine = LaterTerms(machine.engine, after_term)
        (directory / "doors").touch()

    @property
    def engine(self) -> LaterTerms:
        return self._engine

    def command(self, worker: WorkerId) -> Mapping[str, Any]:
        return {"argv": (sys.executable, dancer.__file__, str(self._directory)), "grace": 0.2}

    def kill(self, worker: WorkerId) -> None:
        pid = self._engine.observe().workers[worker].pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)

    def finish(self) -> None:
        (self._directory / "finish").touch()

    def close(self, term: int) -> None:
        """Let all workers go."""
        self._machine.engine.want(term, [])
        until(lambda: not self._machine.engine.observe().workers, "all workers are gone")


def _opened(pipe: Path, into: list[int]) -> bool:
    """Open a pipe for writing if anyone reads from it."""
    try:
        into.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return False
    return True
