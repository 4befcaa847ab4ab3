"""Workers that were forked from a warm server: nobody can tell them from others. Real processes, a light stand-in for torch."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.engines.supervisor.node import Desk, Node, a_node, an_order, environment_of

from tenuto.wire import env
from tenuto.wire.worker import ExitReason, WorkerOrder

HEAVY = "ciezki_modul"
"""Stands for torch: a module that takes long."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("biblioteka 라이브러리")
    (directory / f"{HEAVY}.py").write_text("import os\nloaded_by = os.getpid()\n", encoding="utf-8")
    return directory


@pytest.fixture(scope="module")
def warm_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    with a_node(tmp_path_factory.mktemp("ciepły"), options=("--warm", HEAVY)) as (_, node):
        yield node


class Stage:
    """A node with a warm server for one environment, and scripts to run there."""

    def __init__(self, node: Node, library: Path, directory: Path) -> None:
        self.node = node
        self.desk: Desk = node.desk
        self.directory = directory
        self._library = library

    def script(self, code: str, *arguments: str, name: str = "trening 학습.py", **fields: Any) -> WorkerOrder:
        (self.directory / name).write_text(code, encoding="utf-8")
        return self.call(sys.executable, name, *arguments, **fields)

    def call(self, *argv: str, **fields: Any) -> WorkerOrder:
        its_env = {"PYTHONPATH": str(self._library), "PYTHONUNBUFFERED": "1"}
        own = fields.pop("env", {})
        fields = {"linked": True, "cwd": str(self.directory), "env": {**its_env, **own}, **fields}
        return an_order("", *argv, **fields)

    def warm_up(self) -> None:
        """Start workers until one comes from a warm server."""
        for _ in range(1000):
            log = self.run(self.script("import os, ciezki_modul as m\nprint('warm' if m.loaded_by != os.getpid() else 'cold')"))
            if log.startswith("warm"):
                return
        raise AssertionError("no warm server came to life")

    def run(self, order: WorkerOrder) -> str:
        """What the worker printed."""
        self.desk.want(order)
        self.desk.until_exited(order)
        return self.desk.until_logged(order, "Program exit with code")

    def world(self, order: WorkerOrder) -> dict[str, Any]:
        """What the worker printed as JSON."""
        printed = self.run(order)
        assert printed.startswith("{"), printed
        return dict(json.loads(printed.splitlines()[0]))

    def server_pids(self) -> set[int]:
        found = {pid for pid in self.node.pids() if b"warm/server.py" in _cmdline(pid)}
        return found


def _cmdline(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.fixture
def stage(warm_node: Node, library: Path, tmp_path: Path) -> Iterator[Stage]:
    warm_node.come_back()
    stage = Stage(warm_node, library, tmp_path)
    stage.warm_up()
    yield stage
    stage.node.come_back()
    stage.desk.want()
    stage.desk.until(lambda: not stage.desk.engine.observe().workers)
    stage.desk.until(lambda: stage.node.pids() == {stage.node.pid} | stage.server_pids())


SAME = """
import sys, os, json, __main__
import ciezki_modul
from helper import double
seen = dict(
    argv=sys.argv, path=sys.path, orig=sys.orig_argv, name=__name__, file=__file__, spec=str(__spec__), cached=__cached__,
    loader=type(__loader__).__name__, doc=__doc__, annotations=__annotations__,
    package=__package__, main=__main__.__dict__ is globals(), cwd=os.getcwd(), double=double(3),
    stdin=(sys.stdin.name, sys.stdin.encoding, sys.stdin.errors, sys.stdin.read()),
    stdout=(sys.stdout.name, sys.stdout.encoding, sys.stdout.errors, sys.stdout.line_buffering, sys.stdout.mode),
    stderr=(sys.stderr.name, sys.stderr.encoding, sys.stderr.errors, sys.stderr.line_buffering, sys.stderr.mode),
    same=sys.stdout is sys.__stdout__, executable=sys.executable, flags=str(sys.flags), prefix=sys.prefix,
    tenuto=sorted(name for name in sys.modules if name.startswith("tenuto")),
    environment={k: v for k, v in os.environ.items() if k not in ("TENUTO_REPORT",)},
    descriptors=[n for n in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{n}")],
    group=os.getpgid(0) == os.getpid(), session=os.getsid(0) == os.getppid(),
)
print(json.dumps(seen))
"""


def test_a_warm_worker_sees_the_same_world_as_a_cold_one(stage: Stage) -> None:
    (stage.directory / "helper.py").write_text("def double(x): return 2 * x\n", encoding="utf-8")
    order = stage.script(SAME, "--batch", "학습 2", env={"ŻÓŁW": "żółw"})
    cold = replace(order, id=replace(order.id, rank=1), linked=False)

    warm_world = stage.world(order)
    cold_world = stage.world(cold)

    assert warm_world == cold_world
