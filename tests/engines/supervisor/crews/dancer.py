"""A worker that keeps to `wire.membership` without training anything: run as a program by real supervisors in tests.

Its group meets in files on the `floor`: who has come, how far each is, who has heard of the next generation. Like real
workers it waits for ever for one that is gone, unless it is told that it is lost.

usage: dancer.py FLOOR [refuses] [silent] [stumbles] [deaf]
    `refuses`: it does not leave; `silent`: it rings no bell; `stumbles`: it hangs when there is something to
    stumble on; `deaf`: it goes when it gets a signal
"""

# ruff: noqa: PTH103, PTH105, PTH110, PTH119, PTH120, PTH123 (a worker that imports little starts fast)

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import time
from dataclasses import replace
from typing import NoReturn

from tenuto.wire import env, membership
from tenuto.wire.membership import Membership
from tenuto.wire.status import Stage, Status, StatusPage

LOOK = 0.002
STEP = 0.005
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND


class Dancer:
    def __init__(self, floor: str, manner: set[str]) -> None:
        self.floor, self.manner = floor, manner
        self.link, self.me = os.environ[env.LINK], os.environ[env.WORKER]
        self.page = StatusPage(f"{self.link}/{membership.STATUS}")
        self.status = Status(since=time.monotonic())
        self.page.put(self.status)
        faulthandler.register(signal.SIGUSR2, file=os.open(f"{self.link}/{membership.STACK}", _APPEND))
        signal.signal(signal.SIGTERM, self.take_signal)

    def take_signal(self, *_: object) -> None:
        print("SIGTERM", flush=True)
        if "deaf" in self.manner:  # it hears of nothing but signals, and takes its time to go
            time.sleep(0.2)
            print("bye", flush=True)
            sys.exit(143)

    def live(self) -> None:
        while not os.path.exists(f"{self.floor}/doors"):
            time.sleep(LOOK)
        self.show(Stage.READY, port=29500)
        here = 0
        while True:
            newest = self.newer_than(here)
            if newest is None:
                time.sleep(LOOK)
            elif self.me not in newest.workers:
                self.leave_or_wait(newest)
            else:
                here = newest.generation
                if self.form(newest):
                    self.dance(newest)
                self.show(Stage.READY)

    def form(self, group: Membership) -> bool:
        """Wait for the others; False if one of them is lost."""
        self.show(Stage.FORMING)
        self.write(group, self.me, str(self.status.step))
        while not all(os.path.exists(self.path(group, worker)) for worker in group.workers):
            if self.is_broken(group):
                return False
            time.sleep(LOOK)
        step = max(int(self.read(group, worker) or 0) for worker in group.workers)
        self.show(Stage.TRAINING, generation=group.generation, step=step)
        return True

    def dance(self, group: Membership) -> None:
        """Step after step with all others, until all of them go over to another group."""
        while True:
            time.sleep(STEP)
            if "stumbles" in self.manner and os.path.exists(f"{self.floor}/stumble"):
                self.stumble()
            self.propose(group)
            step = self.status.step + 1
            self.write(group, f"{self.me}.step", str(step))
            self.show(Stage.MEETING)
            while not all(self.reached(group, worker, step) for worker in group.workers):
                if self.is_broken(group):
                    return
                time.sleep(LOOK)
            self.show(Stage.TRAINING, step=step)
            switch = self.read(group, "switch").split()
            if switch and int(switch[0]) <= step:
                if switch[1] == "finish":
                    self.finish()
                return

    def propose(self, group: Membership) -> None:
        """Say that we know of a newer group; the first one names the step when all do."""
        newest = self.newer_than(group.generation)
        name = "finish" if os.path.exists(f"{self.floor}/finish") else newest.name if newest else ""
        if not name or "refuses" in self.manner:
            return
        self.write(group, f"{self.me}.{name}", "")
        known = all(os.path.exists(self.path(group, f"{worker}.{name}")) for worker in group.workers)
        if group.workers[0] == self.me and known and not self.read(group, "switch"):
            self.write(group, "switch", f"{self.status.step + 1} {name}")

    def leave_or_wait(self, newest: Membership) -> None:
        if self.status.generation == 0 or "refuses" in self.manner:
            time.sleep(LOOK)
            return
        self.show(Stage.LEAVING)
        print(f"left at step {self.status.step} of generation {self.status.generation}", flush=True)
        sys.exit(143)

    def stumble(self) -> NoReturn:
        while True:
            time.sleep(1000)

    def finish(self) -> NoReturn:
        self.show(Stage.FINISHED)
        sys.exit(0)

    def newer_than(self, generation: int) -> Membership | None:
        newest = membership.read(self.link)
        return newest if newest is not None and newest.generation > generation else None

    def is_broken(self, group: Membership) -> bool:
        newest = self.newer_than(group.generation)
        return newest is not None and bool(set(newest.lost) & set(group.workers))

    def reached(self, group: Membership, worker: str, step: int) -> bool:
        return int(self.read(group, f"{worker}.step") or 0) >= step

    def show(self, stage: Stage, **fields: int) -> None:
        before = self.status
        since = before.since if stage is before.stage else time.monotonic()
        self.status = replace(before, stage=stage, since=since, **fields)
        self.page.put(self.status)
        if (stage is not Stage.MEETING and before.stage is not Stage.MEETING) and "silent" not in self.manner:
            bell = os.open(os.environ[env.BELL], os.O_WRONLY | os.O_NONBLOCK)
            os.write(bell, f"{os.path.basename(os.path.dirname(self.link))}\n".encode())
            os.close(bell)

    def path(self, group: Membership, name: str) -> str:
        return f"{self.floor}/{group.name}/{name}"

    def read(self, group: Membership, name: str) -> str:
        try:
            with open(self.path(group, name)) as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def write(self, group: Membership, name: str, text: str) -> None:
        os.makedirs(f"{self.floor}/{group.name}", exist_ok=True)
        new = self.path(group, f"{self.me}.new")
        with open(new, "w") as file:
            file.write(text)
        os.replace(new, self.path(group, name))


if __name__ == "__main__":
    Dancer(sys.argv[1], set(sys.argv[2:])).live()
