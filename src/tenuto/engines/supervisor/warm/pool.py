"""The supervisor's warm servers: started on use, few at a time, ended when nobody uses them. Never waits for one.

Whatever is not as it should be, a worker is started in the ordinary way, at once: no server yet, a slow one, a dead
one, an environment without torch.
"""

from __future__ import annotations

import array
import json
import logging
import math
import socket
import subprocess
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tenuto.engines.supervisor import warm
from tenuto.engines.supervisor.warm.become import ROOM
from tenuto.engines.supervisor.warm.call import Environment, PythonCall, environment_of, python_call
from tenuto.wire.worker import WorkerOrder

log = logging.getLogger(__name__)
_SERVER = Path(warm.__path__[0]) / "server.py"
_ROOT = Path(warm.__path__[0]).parents[3]
_ROOM_BYTES = 1 << 15


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmSettings:
    """How a pool is kept."""

    modules: tuple[str, ...] = ("torch", "safetensors.torch")
    """What a server imports if it is there; without the first it is of no use. None of them: no servers."""
    most: int = 2
    """Servers at a time; each takes some 250 MB."""
    idle: float = 600.0
    """Seconds after which a server that nobody needed ends."""
    patience: float = 3.0
    """Seconds within which a server forks a shim; then it counts as broken."""
    failed: float = 600.0
    """Seconds for which an environment is left in peace whose server ended by itself."""


@dataclass(slots=True)
class _Server:
    """One process and our end of its socket."""

    process: subprocess.Popen[bytes]
    channel: socket.socket
    used_at: float
    ready: bool = False
    handed: list[float] = field(default_factory=list)
    """When the shims were asked for that are not there yet."""

    def listen(self) -> bool:
        """Take what it has said; False if it is no more."""
        try:
            while said := self.channel.recv(64):
                self.ready = True
                if said == b"done":
                    self.handed.pop(0)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def end(self) -> None:
        """Be rid of it; what it was handed and has not begun comes back to the supervisor."""
        self.channel.close()
        self.process.kill()
        self.process.wait()


class WarmPool:
    """Called from the supervisor's loop only."""

    def __init__(self, inherited: Mapping[str, str], settings: WarmSettings | None = None) -> None:
        self._inherited = inherited
        """The variables that all processes of the supervisor get."""
        self._settings = settings or WarmSettings()
        self._servers: dict[Environment, _Server] = {}
        self._failed: dict[Environment, float] = {}

    def hand_over(self, order: WorkerOrder, directory: Path, lock: int) -> bool:
        """Have a shim forked for a worker, if that can be done at once; else see to it that it can for the next one."""
        call = python_call(order, self._inherited) if self._settings.modules else None
        if call is None:
            return False
        self.mind()
        environment = environment_of(order, call)
        server = self._servers.get(environment)
        if server is None:
            self._start(environment)
            return False
        server.used_at = time.monotonic()
        return server.ready and self._send(server, call, directory, lock)

    def use_variables(self, inherited: Mapping[str, str]) -> None:
        """Start processes with these variables from now on; servers that have others are ended."""
        if inherited != self._inherited:
            self._inherited = inherited
            self.close()

    def mind(self) -> None:
        """Let go of servers that are dead, broken or idle."""
        now = time.monotonic()
        for environment, server in list(self._servers.items()):
            alive = server.listen()
            late = bool(server.handed) and now - server.handed[0] > self._settings.patience
            if not alive or late:
                log.warning("the warm server of %s is gone or slow; it is replaced", environment.program)
                self._failed[environment] = now if not server.ready else -math.inf
            if not alive or late or now - server.used_at > self._settings.idle:
                self._servers.pop(environment).end()

    def close(self) -> None:
        """End all."""
        for server in self._servers.values():
            server.end()
        self._servers.clear()

    def _start(self, environment: Environment) -> None:
        now = time.monotonic()
        if now - self._failed.get(environment, -math.inf) < self._settings.failed:
            return
        if len(self._servers) >= self._settings.most:
            oldest = min(self._servers, key=lambda key: self._servers[key].used_at)
            self._servers.pop(oldest).end()
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        command = [
            environment.program,
            str(_SERVER),
            str(its.fileno()),
            str(_ROOT),
            ",".join(self._settings.modules),
        ]
        try:
            process = subprocess.Popen(  # noqa: S603 - our own program in the job's Python
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=environment.directory or "/",
                env={**self._inherited, **dict(environment.variables), ROOM: "-" * _ROOM_BYTES},
                pass_fds=(its.fileno(),),
                start_new_session=True,
            )
        except OSError as error:
            log.warning("no warm server for %s: %s", environment.program, error)
            self._failed[environment] = now
            ours.close()
        else:
            self._servers[environment] = _Server(process, ours, now)
        finally:
            its.close()

    def _send(self, server: _Server, call: PythonCall, directory: Path, lock: int) -> bool:
        message = json.dumps({"directory": str(directory), "call": asdict(call)}).encode()
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [lock]))
        try:
            server.channel.sendmsg([message], [rights])
        except OSError:
            return False
        server.handed.append(time.monotonic())
        return True
