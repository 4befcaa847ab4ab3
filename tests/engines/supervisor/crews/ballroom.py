"""Two nodes with real supervisors, and crews of dancers on them."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from tests.engines.supervisor.crews import dancer
from tests.engines.supervisor.node import Desk, Node, some_settings

from tenuto.wire import membership as memberships
from tenuto.wire.membership import Membership
from tenuto.wire.worker import WORKER, CrewOrder, WorkerId, WorkerOrder, WorkerSeen, WorkerState

FIRST, SECOND = "węzeł-1", "노드-2"
_jobs = count(1)


class RecordingDesk(Desk):
    """A server that keeps what is told of workers."""

    def __init__(self) -> None:
        super().__init__(some_settings())
        self.records: list[dict[str, Any]] = []

    def make_app(self) -> FastAPI:
        app = super().make_app()
        app.post("/api/v1/jobs/{job}/metrics")(self._take)
        return app

    async def _take(self, request: Request) -> dict[str, int]:
        told = json.loads(await request.body())
        self.records += told["records"]
        self.ring()
        return {"next": told["first"] + len(told["records"])}


class Ballroom:
    """A server and two nodes."""

    def __init__(self, directory: Path) -> None:
        self.desk = RecordingDesk()
        self.desk.up()
        self.nodes: dict[str, Node] = {}
        for name in (FIRST, SECOND):
            (directory / name).mkdir()
            self.nodes[name] = Node(self.desk, directory / name, by_file=True, options=("--warm", ""))
            self.nodes[name].name = name
            self.nodes[name].start()
        for node in self.nodes.values():
            self.desk.until(node.has_signed_in)

    def pids(self) -> set[int]:
        return {pid for node in self.nodes.values() for pid in node.pids()}

    def close(self) -> None:
        """Let the nodes leave; nothing of them may be left."""
        for node in self.nodes.values():
            assert node.leave() == 0, node.complaints()
        assert not self.pids()

    def clear(self) -> None:
        """Whatever a story failed at."""
        for pid in self.pids():
            os.kill(pid, signal.SIGKILL)
        for node in self.nodes.values():
            if node.process is not None:
                node.process.wait()
        self.desk.down()


@contextmanager
def a_ballroom(directory: Path) -> Iterator[Ballroom]:
    ballroom = Ballroom(directory)
    try:
        yield ballroom
        ballroom.close()
    finally:
        ballroom.clear()


class Troupe:
    """One job whose workers are dancers."""

    def __init__(self, ballroom: Ballroom, floor: Path) -> None:
        self.ballroom, self.desk, self.nodes = ballroom, ballroom.desk, ballroom.nodes
        self.floor = floor
        self.job = f"taniec-{next(_jobs)}"
        self.plan = 0
        self.orders: dict[WorkerId, WorkerOrder] = {}
        self.known: dict[WorkerId, WorkerOrder] = {}
        self._ranks = count()
        self.open_doors()

    def open_doors(self) -> None:
        """Let those in who wait outside: newcomers become ready only then."""
        (self.floor / "doors").touch()

    def close_doors(self) -> None:
        (self.floor / "doors").unlink()

    def dancer(self, *manner: str, node: str = FIRST, slot: int = 0, **fields: Any) -> WorkerOrder:
        """One that may be wanted; `shell`: it is a child of a shell, as commands in a line of text are."""
        argv: tuple[str, ...] = (sys.executable, dancer.__file__, str(self.floor), *manner)
        if "shell" in manner:
            argv = ("/bin/sh", "-c", '"$@"; exit $?', "sh", *argv)
        order = WorkerOrder(
            id=WorkerId(self.job, self.plan + 1, WORKER, next(self._ranks)),
            node=node,
            slot=slot,
            argv=argv,
            env={},
            grace=10.0,
            linked=True,
        )
        return replace(order, **fields)

    def want(self, *orders: WorkerOrder, lead: str = FIRST, also: Sequence[WorkerOrder] = ()) -> None:
        """Have these dance together; `also` names others that run beside them."""
        self.plan = max(self.plan, self.newest_number()) + 1
        self.known |= {order.id: order for order in orders}
        seen = self.desk.engine.observe().nodes
        crew = CrewOrder(
            job=self.job,
            plan=self.plan,
            members=tuple(order.id for order in orders),
            lead=lead,
            peers={name: seen[name].peer if name in seen else "" for name in self.nodes},
            hosts=dict.fromkeys(self.nodes, "127.0.0.1"),
        )
        self.desk.want(*orders, *also, crews=[crew])

    def together(self, *orders: WorkerOrder) -> list[WorkerSeen]:
        """Wait until these, and only these, dance in one generation, as the server sees it."""

        def look() -> list[WorkerSeen] | None:
            workers = self.desk.engine.observe().workers.values()
            dancing = [w for w in workers if w.id.job == self.job and w.stage in ("training", "meeting")]
            dancing = [w for w in dancing if w.state in (WorkerState.RUNNING, WorkerState.STOPPING)]
            same = len({w.generation for w in dancing}) == 1
            return dancing if same and {w.id for w in dancing} == {o.id for o in orders} else None

        found: list[WorkerSeen] = self.desk.until(look)
        return found

    def formed(self, *orders: WorkerOrder) -> Membership:
        """Wait until these dance together without asking the server."""

        def look() -> Membership | None:
            newest = [memberships.read(self.link(order)) for order in orders]
            names = {one.name for one in newest if one is not None}
            one = newest[0]
            if one is None or len(names) != 1 or set(one.workers) != {str(order.id) for order in orders}:
                return None
            return one if all((self.floor / one.name / f"{w}.step").exists() for w in one.workers) else None

        found: Membership = self.desk.until(look)
        return found

    def until_step(self, order: WorkerOrder, step: int) -> None:
        """Wait until it has danced so many steps."""

        def reached() -> bool:
            paths = self.floor.glob(f"*/{order.id}.step")
            return any(int(path.read_text() or 0) >= step for path in paths)

        self.desk.until(reached)

    def newest(self, order: WorkerOrder) -> Membership | None:
        return memberships.read(self.link(order))

    def newest_number(self) -> int:
        told = [self.newest(order) for order in self.known.values() if self.link(order).is_dir()]
        return max([one.generation for one in told if one is not None], default=0)

    def link(self, order: WorkerOrder) -> Path:
        return self.nodes[order.node].files(order) / "link"

    def pid(self, order: WorkerOrder) -> int:
        pid = self.desk.until_running(order).pid
        assert pid is not None
        return pid

    def kill(self, order: WorkerOrder, number: int = signal.SIGKILL) -> None:
        os.kill(self.pid(order), number)

    def records(self, kind: str) -> list[dict[str, Any]]:
        mine = [record for record in self.desk.records if str(record.get("worker")).startswith(self.job)]
        return [record for record in mine if record["kind"] == kind]

    def disband(self) -> None:
        """Nobody is wanted any more."""
        for node in self.nodes.values():
            node.come_back()
        self.want()
        self.desk.until(lambda: set(self.desk.engine.observe().nodes) == set(self.nodes))
        self.desk.until(lambda: not self.desk.engine.observe().workers)
        self.desk.want()
