"""A node with a warm server for stories, with a light stand-in for torch."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.engines.supervisor.node import HANG, Desk, Node, a_node, an_order

from tenuto.wire.worker import WorkerOrder

TRIES = 4
"""Workers that may be started until one comes from the warm server."""
HEAVY = "ciezki_modul"
"""Stands for torch: a module that takes long."""
IS_WARM = f"import os, {HEAVY}; warm = {HEAVY}.loaded_by != os.getpid()"
"""The beginning of a script that wants to know how it was started."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("biblioteka 라이브러리")
    (directory / f"{HEAVY}.py").write_text("import os, shlex\nloaded_by = os.getpid()\n", encoding="utf-8")
    return directory


@pytest.fixture(scope="module")
def warm_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    with a_node(tmp_path_factory.mktemp("ciepły"), options=("--warm", HEAVY)) as (_, node):
        yield node


class WarmStage:
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

    def warm_up(self, **fields: Any) -> None:
        """Start workers until one comes from a warm server."""
        give_up = time.monotonic() + HANG
        while not self.run(self.script(f"{IS_WARM}\nprint(warm)", **fields)).startswith("True"):
            assert time.monotonic() < give_up, "no warm server came to life"

    def started_warm(self, code: str, *arguments: str, **fields: Any) -> WorkerOrder:
        """A worker that was forked from the warm server and has printed `ready True`.

        On a busy machine the server may be too slow for one, which is then started as any other; the next one is not.
        """
        for _ in range(TRIES):
            order = self.script(code, *arguments, **fields)
            self.desk.want(order)
            until = time.monotonic() + HANG / 2
            self.desk.until(lambda order=order, until=until: self._said(order) or time.monotonic() > until)  # type: ignore[misc]
            said = self._said(order)
            assert said, f"{self.desk.seen(order)} printed only {self.desk.log(order)!r}"
            if said == "True":
                return order
            self.desk.want()
            self.desk.until(lambda: not self.desk.engine.observe().workers)
        raise AssertionError("no worker came from a warm server")

    def _said(self, order: WorkerOrder) -> str:
        found = re.search(r"^ready (True|False)$", self.desk.log(order), re.MULTILINE)
        return found[1] if found else ""

    def run(self, order: WorkerOrder) -> str:
        """What the worker printed."""
        self.desk.want(order)
        self.desk.until_exited(order)
        return self.desk.until_logged(order, "Program exit with code")

    def like_a_cold_one(self, order: WorkerOrder) -> str:
        """What a worker printed, warm and cold alike."""
        cold = replace(order, id=replace(order.id, rank=1), linked=False)
        printed = self.run(order)
        assert printed == self.run(cold)
        return printed

    def server_pids(self) -> set[int]:
        """The warm servers that run now."""
        children = psutil.Process(self.node.pid).children()
        return {child.pid for child in children if _is_server(child)}


def _is_server(process: psutil.Process) -> bool:
    try:
        return any("warm/server.py" in word for word in process.cmdline())
    except psutil.Error:
        return False


@pytest.fixture
def stage(warm_node: Node, library: Path, tmp_path: Path) -> Iterator[WarmStage]:
    warm_node.come_back()
    stage = WarmStage(warm_node, library, tmp_path)
    stage.warm_up()
    yield stage
    stage.node.come_back()
    stage.desk.want()
    stage.desk.until(lambda: not stage.desk.engine.observe().workers)
    stage.desk.until(lambda: stage.node.pids() == {stage.node.pid} | stage.server_pids())
