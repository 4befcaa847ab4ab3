"""A real platform for tests: `tenuto up` as a process of its own, in a home of its own, watched from outside.

Every process of a platform inherits its TENUTO_HOME, so that a test finds all of them, and none of another test's.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import psutil

from tenuto.atomic_file import is_temporary
from tenuto.client.plain import PlainClient

T = TypeVar("T")
Json = dict[str, Any]
PROGRAM = (sys.executable, "-c", "from tenuto.cli.main import main; main()")
HANG = 180.0
"""Seconds after which something is taken never to happen; the first server on a machine compiles for a minute."""


def eventually(look: Callable[[], T | None], what: str, *, within: float = HANG) -> T:
    """Wait until `look` gives something true."""
    until = time.monotonic() + within
    while True:
        if found := look():
            return found
        if time.monotonic() > until:
            raise AssertionError(f"after {within:g} s still not: {what}")
        time.sleep(0.05)


class Platform:
    """A home, and the server that runs on it now and then."""

    def __init__(self, directory: Path, *options: str) -> None:
        self.home = directory / "home"
        self.temporary = directory / "tmp"
        self.temporary.mkdir(parents=True)
        self.options = options
        self.program = PROGRAM
        """What runs the server; commands are run by PROGRAM."""
        self.settings: dict[str, str] = {}
        """More variables of the environment."""
        self.server: subprocess.Popen[bytes] | None = None
        self.log = directory / "server.log"
        self.told: Json = {}
        """What the last server said when it listened."""

    @property
    def environment(self) -> dict[str, str]:
        """Of every process of this platform."""
        mine = {"TENUTO_HOME": str(self.home), "TMPDIR": str(self.temporary)}
        others = {name: value for name, value in os.environ.items() if not name.startswith("TENUTO_")}
        return {**others, **mine, **self.settings}

    def up(self, *options: str) -> Platform:
        """Start the server and wait until it listens."""
        with self.log.open("ab") as log:
            self.server = subprocess.Popen(
                [*self.program, "up", "--json", *self.options, *options],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        assert self.server.stdout
        line = self.server.stdout.readline()
        assert line, f"the server did not come up:\n{self.log.read_text()[-4000:]}"
        self.told = json.loads(line)
        return self

    def kill(self) -> None:
        """End the server as a power cut would."""
        assert self.server
        self.server.kill()
        self._forget()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """End the server in good order; returns its exit code."""
        assert self.server
        self.server.send_signal(number)
        return self._forget()

    def _forget(self) -> int:
        assert self.server
        code = self.server.wait(HANG)
        if self.server.stdout:
            self.server.stdout.close()
        self.server = None
        return code

    def down(self, *options: str) -> subprocess.CompletedProcess[str]:
        """Drain and stop everything."""
        done = self.run("down", "--yes", *options)
        assert done.returncode == 0, done.stderr + self.log.read_text()[-4000:]
        if self.server:
            self._forget()
        return done

    def run(self, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command of the program against this platform."""
        return subprocess.run(
            [*PROGRAM, *arguments],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=2 * HANG,
            check=False,
            cwd=cwd,
        )

    def cli(self, *arguments: str, code: int = 0, cwd: Path | None = None) -> str:
        """Run a command that ends with this code; returns what it printed."""
        done = self.run(*arguments, cwd=cwd)
        assert done.returncode == code, f"exit {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout if code == 0 else done.stderr or done.stdout

    def json(self, *arguments: str, code: int = 0) -> Any:
        """The same with --json."""
        done = self.run(*arguments, "--json")
        assert done.returncode == code, f"exit {done.returncode}: {done.stdout}{done.stderr}"
        return json.loads(done.stdout)

    @contextmanager
    def client(self, patience: float = 0.0) -> Iterator[PlainClient]:
        """The REST interface, without the program around it."""
        token = (self.home / "token").read_text().strip()
        with PlainClient(self.told["url"], token, patience=patience) as client:
            yield client

    # what one sees from outside

    def processes(self) -> list[psutil.Process]:
        """Every process of this platform that lives."""
        mark = f"TENUTO_HOME={self.home}".encode()
        found = []
        for process in psutil.process_iter():
            try:
                environment = Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
                if mark in environment and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except (OSError, psutil.NoSuchProcess):
                continue
        return found

    def workers(self) -> dict[str, psutil.Process]:
        """The first process of each worker, by `job.generation.role.rank`."""
        found: dict[str, psutil.Process] = {}
        for process in self.processes():
            try:
                told = process.environ()
            except psutil.Error:
                continue
            if "TENUTO_JOB_ID" in told:
                # Workers that rescale in place have no rank of their own.
                name = told.get("TENUTO_WORKER") or ".".join(
                    told[key] for key in ("TENUTO_JOB_ID", "TENUTO_GENERATION", "TENUTO_ROLE", "RANK")
                )
                if name not in found or process.pid < found[name].pid:
                    found[name] = process
        return found

    @property
    def decides(self) -> bool:
        """Whether the controller has begun."""
        with self.client(patience=5.0) as client:
            return bool(client.cluster()["controller"]["state"] == "deciding")

    def job(self, ref: str) -> Json:
        """A job as the server tells it."""
        with self.client(patience=5.0) as client:
            return client.job(ref)

    def wait_for(self, ref: str, *states: str, within: float = HANG) -> Json:
        """Wait until a job is in one of these states."""
        with self.client(patience=5.0) as client:

            def look() -> Json | None:
                job = client.job(ref)
                return job if job["state"] in states else None

            try:
                return eventually(look, f"{ref} is {' or '.join(states)}", within=within)
            except AssertionError as error:
                raise AssertionError(f"{error}; it is {client.job(ref)}") from None

    def leaves_nothing(self) -> None:
        """No process, no port, no temporary file of this platform is there."""
        assert [process.cmdline() for process in self.processes()] == []
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", self.told["port"])) != 0
        assert list(self.temporary.iterdir()) == []
        assert [path for path in self.home.rglob(".*") if is_temporary(path.name)] == []

    def end(self) -> None:
        """Whatever happened, let nothing of this platform live on; a failed test shows the server's log."""
        if self.log.exists():
            print(self.log.read_text()[-5000:])
        if self.server:
            self.server.kill()
            self._forget()
        while living := self.processes():
            for process in living:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            psutil.wait_procs(living, timeout=5)
