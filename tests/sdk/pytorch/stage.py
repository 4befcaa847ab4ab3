"""Real workers on a small stage: a test plays the supervisor, with the platform's own coordinator.

    with Stage(tmp_path) as stage:
        stage.want(2)
        stage.until(lambda: stage.world == 2)
        stage.kill(0)
        stage.until_all_left()

Training is held at a step limit that `until` raises where a change needs steps: nothing runs away, nothing sleeps.
Workers are forked by a nursery that has imported torch (`nursery.py`).
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from tenuto.engines.supervisor.crews.coordinator import coordinate
from tenuto.engines.supervisor.crews.seats import Activity, Seat, Situation, prune, published
from tenuto.wire import env, membership
from tenuto.wire.membership import Membership
from tenuto.wire.status import Stage as At
from tenuto.wire.status import Status, read_status
from tenuto.wire.worker import CrewOrder, WorkerId

HERE = Path(__file__).parent
TOY = HERE / "scripts" / "toy.py"
GUARD = 120.0
"""Seconds after which a story is stuck."""
_STRIDE = 3
_WITHOUT = (env.RANK, env.WORLD_SIZE, env.MASTER_ADDR, env.MASTER_PORT, env.LINK, env.WORKER, env.BELL)


class Nursery:
    """Starts workers and tells when they end."""

    def __init__(self) -> None:
        source = HERE.parents[2] / "src"
        surroundings = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
        surroundings["PYTHONPATH"] = os.pathsep.join([str(source), str(HERE.parents[2])])
        for name in _WITHOUT:
            surroundings.pop(name, None)
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "nursery.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=surroundings,
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._orders, self._news = self._process.stdin, self._process.stdout
        self._pending = b""
        self._told: list[dict[str, Any]] = []
        self.undisturbed: dict[tuple[tuple[str, str], ...], dict[str, Any]] = {}
        self._await("ready")

    @property
    def descriptor(self) -> int:
        return self._news.fileno()

    def start(self, order: Mapping[str, Any]) -> int:
        self._orders.write(json.dumps(order).encode() + b"\n")
        self._orders.flush()
        return int(self._await("started"))

    def ended(self) -> dict[int, int]:
        """Exit codes by process id, since the last call."""
        self._listen(0.0)
        found = {message["exited"]: message["code"] for message in self._told if "exited" in message}
        self._told = [message for message in self._told if "exited" not in message]
        return found

    def wait_for(self, pids: list[int]) -> list[int]:
        """Their exit codes."""
        found: dict[int, int] = {}
        ends = time.monotonic() + GUARD
        while not found.keys() >= set(pids):
            if time.monotonic() > ends:
                for pid in set(pids) - found.keys():
                    os.kill(pid, signal.SIGKILL)
                raise AssertionError("they do not end")
            self._listen(0.1)
            found |= self.ended()
        return [found[pid] for pid in pids]

    def close(self) -> None:
        self._orders.close()
        self._process.kill()  # its children are killed by the kernel
        self._process.wait()
        self._news.close()

    def _await(self, key: str) -> Any:
        ends = time.monotonic() + GUARD
        while time.monotonic() < ends:
            for message in self._told:
                if key in message:
                    self._told.remove(message)
                    return message[key]
            self._listen(1.0)
        raise AssertionError(f"the nursery did not say {key}")

    def _listen(self, seconds: float) -> None:
        while select.select([self.descriptor], [], [], seconds)[0]:
            heard = os.read(self.descriptor, 1 << 16)
            if not heard:
                raise AssertionError("the nursery is gone")
            *lines, self._pending = (self._pending + heard).split(b"\n")
            self._told += [json.loads(line) for line in lines]
            seconds = 0.0


@dataclass
class Actor:
    """One worker process."""

    id: WorkerId
    pid: int
    link: Path
    exit_code: int | None = None
    is_halted: bool = False
    is_told: bool = False
    _last: Status | None = None

    @property
    def is_alive(self) -> bool:
        return self.exit_code is None

    @property
    def status(self) -> Status | None:
        if self.exit_code is None or self._last is None:
            self._last = read_status(self.link / membership.STATUS)
        return self._last


@dataclass
class Stage:
    """One job, its workers and its supervisor."""

    home: Path
    nursery: Nursery
    script: Path = TOY
    environ: Mapping[str, str] = field(default_factory=dict)
    job: str = "ärger-1"
    actors: dict[str, Actor] = field(default_factory=dict)
    memberships: list[Membership] = field(default_factory=list)
    evicted: list[str] = field(default_factory=list)
    _situation: Situation | None = None
    _plan: int = 0

    def __enter__(self) -> Stage:
        self.home.mkdir(parents=True, exist_ok=True)
        (self.home / "limit").write_bytes(struct.pack("<q", 0))
        with (self.home / "limit").open("r+b") as file:
            self._limit = mmap.mmap(file.fileno(), 8)
        os.mkfifo(self.home / "bell")
        self._bell = os.open(self.home / "bell", os.O_RDWR | os.O_NONBLOCK)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if error is not None:
            error.add_note(self.story())
        for actor in self.actors.values():
            if actor.is_alive:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(actor.pid, signal.SIGKILL)
        self._wait_for_the_killed()
        self._limit.close()
        os.close(self._bell)

    # --- what a supervisor does ---

    def want(self, count: int, *, without: tuple[str, ...] = (), **environ: str) -> tuple[str, ...]:
        """So many members: those who are wanted already and live, in their order, then new ones."""
        stay = [worker for worker in self.wanted if self.actors[worker].is_alive and worker not in without][
            :count
        ]
        self._plan = max(self._plan, self.generation) + 1
        new = [self._start(rank, environ) for rank in range(len(stay), count)]
        self._order([*stay, *new])
        return tuple(new)

    def want_exactly(self, workers: list[str]) -> None:
        """These, in this order."""
        self._plan = max(self._plan, self.generation) + 1
        self._order(workers)

    def kill(self, worker: str) -> None:
        os.kill(self.actors[worker].pid, signal.SIGKILL)

    def halt(self, worker: str) -> None:
        os.kill(self.actors[worker].pid, signal.SIGSTOP)
        self.actors[worker].is_halted = True

    def pump_once(self) -> None:
        """The same, and wait a moment for news."""
        self.pump()
        self._wait_for_news()

    def pump(self) -> None:
        """Look at everybody, and publish what the coordinator decides."""
        for pid, code in self.nursery.ended().items():
            for actor in self.actors.values():
                if actor.pid == pid:
                    actor.exit_code, actor._last = code, None
        if self._situation is None:
            return
        now = time.monotonic()
        self._situation = replace(self._situation, seats=self._seats())
        decision = coordinate(self._situation, now)
        for worker in decision.evict:
            self.evicted.append(worker)
            self.kill(worker)
        if decision.membership is not None:
            self._publish(decision.membership, now)
        self._stop_the_unwanted()

    # --- what a test waits for ---

    def until(self, is_so: Callable[[], bool], *, train: bool = True, guard: float = GUARD) -> None:
        """Let them train as far as they need for the changes that were published, until it is so."""
        ends = time.monotonic() + guard
        while not is_so():
            if time.monotonic() > ends:
                raise AssertionError("the story is stuck")
            if any(0 < (actor.exit_code or 0) < 128 for actor in self.actors.values()):
                raise AssertionError("a worker failed")
            if train and self.step >= self.limit and self._is_about_to_change():
                self.limit = self.step + _STRIDE
            self.pump_once()

    def until_step(self, step: int) -> None:
        self.limit = max(self.limit, step)
        self.until(lambda: self.step >= step, train=False)

    def until_trained_by(self, world: int, steps: int = 2) -> None:
        """Until the wanted members are a group of that size and have made some steps."""
        self.until(lambda: self.is_trained_by(world))
        self.until_step(self.step + steps)

    def is_trained_by(self, world: int) -> bool:
        present = self.memberships[-1] if self.memberships else None
        return (
            present is not None
            and len(present.members) == world
            and set(present.workers) == set(self.wanted)
            and all(self._has_formed(worker, present.generation) for worker in present.workers)
        )

    def until_all_left(self) -> None:
        self.limit = 1 << 40
        self.until(lambda: all(not actor.is_alive for actor in self.actors.values()), train=False)

    @property
    def wanted(self) -> tuple[str, ...]:
        return () if self._situation is None else self._situation.wanted

    @property
    def generation(self) -> int:
        return self.memberships[-1].generation if self.memberships else 0

    @property
    def alive(self) -> list[str]:
        return [worker for worker, actor in self.actors.items() if actor.is_alive]

    @property
    def step(self) -> int:
        """The newest applied update of anybody alive."""
        found = [actor.status for actor in self.actors.values() if actor.is_alive]
        return max((status.step for status in found if status is not None), default=0)

    @property
    def limit(self) -> int:
        return int(struct.unpack("<q", self._limit[:8])[0])

    @limit.setter
    def limit(self, step: int) -> None:
        self._limit[:8] = struct.pack("<q", step)

    def moments(self) -> list[dict[str, Any]]:
        """Every applied step of every worker, with who it was."""
        found = []
        for worker in self.actors:
            path = self.home / f"{worker}.steps"
            if path.exists():
                found += [{"worker": worker, **json.loads(line)} for line in path.read_text().splitlines()]
        return found

    def final(self) -> dict[str, Any]:
        """The weights that the first member had at the end."""
        (path,) = self.home.glob("*.final")
        return dict(json.loads(path.read_text()))

    def told(self, kind: str) -> list[dict[str, Any]]:
        """The records of one kind of all workers."""
        found = []
        for actor in self.actors.values():
            text = b"".join(path.read_bytes() for path in sorted((actor.link / membership.STEPS).glob("*")))
            found += [json.loads(line) for line in text.splitlines()]
        return [record for record in found if record["kind"] == kind]

    def has_trained(self, worker: str) -> bool:
        """Whether it has ever been in a group."""
        status = self.actors[worker].status
        return status is not None and status.generation > 0

    def logs(self) -> str:
        """All that the workers wrote."""
        return "".join((self.home / worker / "log").read_text(errors="replace") for worker in self.actors)

    def exit_codes(self) -> dict[str, int | None]:
        return {worker: actor.exit_code for worker, actor in self.actors.items()}

    def story(self) -> str:
        """For whoever looks into a failure."""
        lines = [
            f"generation {m.generation} {m.why}: {m.workers} lost {m.lost}" for m in self.memberships[-6:]
        ]
        for worker, actor in self.actors.items():
            if actor.is_alive or actor.exit_code not in (0, 137, 143):
                log = self.home / worker / "log"
                tail = log.read_text(errors="replace")[-3000:] if log.exists() else ""
                lines.append(f"{worker} exit {actor.exit_code} {actor.status}\n{tail}")
        return "\n".join(lines)

    # --- behind the scenes ---

    def _start(self, rank: int, environ: Mapping[str, str]) -> str:
        worker = WorkerId(self.job, self._plan, "worker", rank)
        home = self.home / str(worker)
        link = home / "link"
        link.mkdir(parents=True)
        surroundings = {
            "STAGE": str(self.home),
            "STAGE_NAME": str(worker),
            env.LINK: str(link),
            env.WORKER: str(worker),
            env.BELL: str(self.home / "bell"),
            env.JOB_ID: self.job,
            env.CHECKPOINT_DIR: str(self.home / "checkpoints"),
            **self.environ,
            **environ,
        }
        pid = self.nursery.start(
            {
                "script": str(self.script),
                "arguments": [],
                "env": surroundings,
                "without": [],
                "log": str(home / "log"),
            }
        )
        self.actors[str(worker)] = Actor(worker, pid, link)
        return str(worker)

    def _order(self, workers: list[str]) -> None:
        order = CrewOrder(
            job=self.job,
            plan=self._plan,
            members=tuple(self.actors[worker].id for worker in workers),
            lead="nötig",
            peers={},
            hosts={"nötig": "127.0.0.1"},
        )
        now = time.monotonic()
        if self._situation is None:
            self._situation = Situation(order=order, ordered_at=now, seats=self._seats())
        else:
            self._situation = replace(self._situation, order=order, ordered_at=now)
        self.pump()

    def _seats(self) -> dict[str, Seat]:
        return {
            worker: Seat(
                node="nötig",
                host="127.0.0.1",
                alive=actor.is_alive,
                exit_code=actor.exit_code,
                status=actor.status,
                activity=Activity.HALTED if actor.is_halted else Activity.IDLE,
                step_seconds=0.01,
            )
            for worker, actor in self.actors.items()
        }

    def _publish(self, new: Membership, now: float) -> None:
        assert self._situation is not None
        self.memberships.append(new)
        for actor in self.actors.values():
            if actor.is_alive:
                membership.write(actor.link, new)
        self._situation = prune(published(self._situation, new, now))

    def _stop_the_unwanted(self) -> None:
        """Newcomers that nobody wants any more; members leave when the group agrees."""
        present = self.memberships[-1].workers if self.memberships else ()
        for worker, actor in self.actors.items():
            if actor.is_alive and not actor.is_told and worker not in {*self.wanted, *present}:
                status = actor.status
                if status is not None and status.stage is At.READY and not status.generation:
                    actor.is_told = True
                    os.kill(actor.pid, signal.SIGTERM)

    def _is_about_to_change(self) -> bool:
        """Whether somebody alive must come to the end of a step to join, or to leave."""
        present = self.memberships[-1] if self.memberships else None
        return present is not None and any(
            actor.is_alive
            and (worker in present.workers or self.has_trained(worker))
            and not (worker in present.workers and self._has_formed(worker, present.generation))
            for worker, actor in self.actors.items()
        )

    def _has_formed(self, worker: str, generation: int) -> bool:
        status = self.actors[worker].status
        return status is not None and status.generation == generation and status.stage is not At.FORMING

    def _wait_for_news(self) -> None:
        select.select([self._bell, self.nursery.descriptor], [], [], 0.005)
        with contextlib.suppress(BlockingIOError):
            os.read(self._bell, 1 << 16)

    def _wait_for_the_killed(self) -> None:
        ends = time.monotonic() + GUARD
        while any(actor.is_alive for actor in self.actors.values()) and time.monotonic() < ends:
            for pid, code in self.nursery.ended().items():
                for actor in self.actors.values():
                    if actor.pid == pid:
                        actor.exit_code = code
            select.select([self.nursery.descriptor], [], [], 0.1)


@contextlib.contextmanager
def a_nursery() -> Iterator[Nursery]:
    nursery = Nursery()
    try:
        yield nursery
    finally:
        nursery.close()


def run_alone(nursery: Nursery, home: Path, **environ: str) -> dict[str, Any]:
    """The undisturbed run of one process without any platform; what it ended with. Equal runs are made once."""
    asked = tuple(sorted(environ.items()))
    if asked not in nursery.undisturbed:
        home.mkdir(parents=True, exist_ok=True)
        order = {
            "script": str(TOY),
            "arguments": [],
            "env": {"STAGE": str(home), **environ},
            "without": list(_WITHOUT),
            "log": str(home / "log"),
        }
        assert nursery.wait_for([nursery.start(order)]) == [0], (home / "log").read_text(errors="replace")
        nursery.undisturbed[asked] = json.loads((home / "alone.final").read_text())
    return nursery.undisturbed[asked]
