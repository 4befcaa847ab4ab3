"""Killing parts of a platform under load, and looking from outside whether anything was lost, doubled or forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

import psutil
from tests.crash.ledger import Ledger
from tests.crash.load import FAILS, Users
from tests.e2e.platform import Platform, eventually

from tenuto.errors import Conflict
from tenuto.store.base import Store
from tenuto.store.open import open_store

Json = dict[str, Any]
ENDED = {"succeeded", "failed", "cancelled", "lost", "declined"}
RETRIES, LOSSES, NODES = 1, 3, 3


class Siege:
    """One platform, its users, and somebody who kills."""

    def __init__(self, directory: Path, seed: int, *options: str) -> None:
        self.random = Random(seed)
        self.platform = Platform(directory, "--nodes", str(NODES), "--slots", "3", *options)
        self.ledger = Ledger(directory / "ledger")
        self.users = Users(self.platform, self.ledger.directory, seed)
        self.term = 0
        self.harmed = False
        """Whether workers were killed too, so that some may have been lost."""
        self.platform.up()
        eventually(lambda: self.platform.decides, "the first controller has compiled what it needs")

    # acts

    def kill_server(self) -> None:
        """Under load, at some moment, the server dies; it comes back and everything is as it was."""
        self.users.during(lambda: self._at_some_moment(self.platform.kill))
        survivors = {name: process.pid for name, process in self.platform.workers().items()}
        self.platform.up()
        self.users.ask_again()
        self.check()
        self._check_survivors(survivors)

    def kill_supervisor(self) -> None:
        """Under load, one supervisor dies; it is started again and knows its workers."""
        before = eventually(self._all_supervisors, "all supervisors are there")
        victim = self.random.choice(sorted(before, key=lambda process: process.pid))
        self.users.during(lambda: self._at_some_moment(victim.kill))
        eventually(self._all_supervisors, "the supervisor is back")
        self.users.ask_again()
        self.check()

    def kill_workers(self) -> None:
        """Under load, half of all workers die."""
        self.harmed = True

        def kill_half() -> None:
            for process in self.platform.workers().values():
                if self.random.random() < 0.5:
                    with suppress(psutil.NoSuchProcess):
                        process.kill()

        self.users.during(lambda: self._at_some_moment(kill_half))
        self.users.ask_again()
        self.check()

    def kill_everything(self) -> None:
        """Under load, the power goes."""
        self.harmed = True
        self.users.during(lambda: self._at_some_moment(self.platform.end))
        self.platform.up()
        self.users.ask_again()
        self.check()

    def _at_some_moment(self, kill: Callable[[], object]) -> None:
        """Often while the controller decides, sometimes while it still begins."""
        if self.random.random() < 0.75:
            eventually(lambda: self.platform.decides, "the controller decides")
        Event().wait(self.random.uniform(0.0, 2.0))
        kill()

    def _all_supervisors(self) -> set[psutil.Process]:
        found = self._supervisors()
        return found if len(found) == NODES else set()

    def _supervisors(self) -> set[psutil.Process]:
        return {process for process in self.platform.processes() if _is_supervisor(process)}

    # what must be true

    def check(self) -> None:
        """At any time."""
        self.ledger.check()
        with self.platform.client(patience=20.0) as client:
            jobs = list(_pages(lambda cursor: client.jobs(limit=100, cursor=cursor)))
            events = list(_events(client))
        self._check_jobs(jobs)
        _check_events(events, jobs)
        self._check_term()

    def _check_jobs(self, jobs: list[Json]) -> None:
        known = {job["id"]: job for job in jobs}
        names = [job["name"] for job in jobs]
        assert len(names) == len(set(names)), "a job was made twice"
        lost = {name for name, id in self.users.accepted.items() if id not in known}  # noqa: A001
        assert lost == set(), "accepted jobs are not known any more"
        for job in jobs:
            assert job["restarts"]["failures"] <= RETRIES, job
            assert job["restarts"]["losses"] <= (LOSSES if self.harmed else 0), job

    def _check_survivors(self, survivors: dict[str, int]) -> None:
        """Whoever lived when the server died lives on, or has come to an end of its own or on demand."""
        alive = {name: process.pid for name, process in self.platform.workers().items()}
        written = self.ledger.workers()
        for name, pid in survivors.items():
            ended = name in written and written[name][-1].kind == "exit"
            assert ended or alive.get(name) == pid, f"{name} was process {pid}, now {alive.get(name)}"

    def _check_term(self) -> None:
        store: Store = open_store(f"sqlite:///{self.platform.home / 'store.sqlite'}")
        try:
            told = store.read(lambda tx: tx.meta("leadership"))
        finally:
            store.close()
        if told is not None:
            assert told["term"] >= self.term
            self.term = told["term"]

    def conclude(self) -> None:
        """Let everything come to its end, and reckon up."""
        with self.platform.client(patience=20.0) as client:
            for id in self.users.accepted.values():  # noqa: A001
                with suppress(Conflict):
                    client.act(id, "resume")

            def all_ended() -> list[Json]:
                jobs = list(_pages(lambda cursor: client.jobs(limit=100, cursor=cursor)))
                return jobs if {job["state"] for job in jobs} <= ENDED else []

            jobs = eventually(all_ended, "all jobs have ended") if self.users.accepted else []
            for job in jobs:
                _check_ran_once(job, client.attempts(job["id"])["items"])
            events = list(_events(client))
        self.check()
        for job in jobs:
            *_, last = (event for event in events if event["job"] == job["id"] and event["kind"] == "phase")
            assert last["after"] == job["state"], (last, job)
        self._reckon(jobs)
        self.platform.down()
        self.platform.leaves_nothing()

    def _reckon(self, jobs: list[Json]) -> None:
        workers = self.ledger.workers()
        for job in jobs:
            mine = {name: lines for name, lines in workers.items() if name.startswith(f"{job['id']}.")}
            codes = [lines[-1].code for lines in mine.values() if lines[-1].kind == "exit"]
            if job["state"] == "succeeded":
                assert 0 in codes, job
            if job["state"] == "failed" and not self.harmed:
                assert FAILS in codes, job
            assert self.harmed or job["state"] != "lost", job


def _is_supervisor(process: psutil.Process) -> bool:
    try:
        line = process.cmdline()
    except psutil.Error:
        return False
    return "tenuto.engines.supervisor" in " ".join(line) and "shim" not in " ".join(line)


def _pages(page: Callable[[str | None], Json]) -> Iterator[Json]:
    cursor = None
    while True:
        told = page(cursor)
        yield from told["items"]
        cursor = told["next"]
        if cursor is None:
            return


def _events(client: Any) -> Iterator[Json]:
    after = 0
    while items := client.events(after=after, limit=500)["items"]:
        yield from items
        after = items[-1]["id"]


def _check_events(events: list[Json], jobs: list[Json]) -> None:
    """Numbered without a gap; and each job's phases form a chain from its submission to where it is now."""
    numbers = [event["id"] for event in events]
    assert numbers == list(range(1, len(numbers) + 1)), "an event is missing"
    for job in jobs:
        chain = [event for event in events if event["job"] == job["id"] and event["kind"] == "phase"]
        for earlier, later in pairwise(chain):
            assert earlier["after"] == later["before"], (earlier, later)
        assert any(event["kind"] == "submitted" and event["job"] == job["id"] for event in events), job


def _check_ran_once(job: Json, attempts: list[Json]) -> None:
    """At most one generation came to its end by itself, and none was started after it."""
    generations: dict[int, list[Json]] = {}
    for attempt in attempts:
        if attempt["role"] == "worker":
            generations.setdefault(attempt["generation"], []).append(attempt)
    begun = [number for number, workers in generations.items() if any(one["started_at"] for one in workers)]
    complete = [
        number
        for number, workers in generations.items()
        if all(worker["exit_code"] == 0 and worker["reason"] == "ended" for worker in workers)
    ]
    # A wish to cancel wins over an end that nobody had seen yet.
    assert len(complete) == 1 or job["state"] != "succeeded", (job, attempts)
    assert len(complete) == 0 or job["state"] in ("succeeded", "cancelled"), (job, attempts)
    assert complete in ([], [max(begun, default=0)]), (job, attempts)
