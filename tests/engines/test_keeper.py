"""Supervisors of this machine are started, found again, and started again when they die."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.engines.authority import provide
from tests.engines.real_nodes import until

from tenuto.engines import keeper
from tenuto.engines.identity import ProcessIdentity
from tenuto.engines.keeper import LEFT, LOG, WHO, Keeper, LocalNode, WayIn


class Household:
    """A directory for supervisors that have no server to speak to, and what is needed to end them."""

    def __init__(self, home: Path) -> None:
        (home / "server.json").write_text('{"url": "http://127.0.0.1:9"}')
        self.way_in = WayIn(server_file=home / "server.json", provide=provide)
        self.node = LocalNode(name="węzeł-0", directory=home / "węzeł-0", slots=1)
        self.keepers: list[Keeper] = []

    def keeper(self, *nodes: LocalNode) -> Keeper:
        one = Keeper(nodes or (self.node,), self.way_in)
        self.keepers.append(one)
        one.start()
        return one

    def supervisor(self, *, other_than: ProcessIdentity | None = None) -> ProcessIdentity:
        """The node's supervisor, once it has said who it is."""
        until(lambda: self.who() not in (None, other_than), "a supervisor says who it is")
        found = self.who()
        assert found is not None
        return found

    def who(self) -> ProcessIdentity | None:
        try:
            written = json.loads((self.node.directory / WHO).read_bytes())
        except FileNotFoundError:
            return None
        found = ProcessIdentity(written["pid"], written["started"])
        return found if found.alive() else None

    def close(self) -> None:
        """End whatever runs, also what has not said yet who it is."""
        for one in self.keepers:
            one.stop_watching()
        kept = {one.process(self.node.name) for one in self.keepers} | {self.who()}
        for process in kept - {None}:
            assert process is not None
            end(process)


def end(process: ProcessIdentity) -> None:
    if process.alive():
        os.kill(process.pid, signal.SIGKILL)
        until(lambda: _reaped(process.pid) or not process.alive(), "the supervisor ends")


def _reaped(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return False


@pytest.fixture
def household(tmp_path: Path) -> Iterator[Household]:
    one = Household(tmp_path)
    yield one
    one.close()


def test_a_supervisor_is_started_in_a_session_of_its_own(household: Household) -> None:
    household.keeper()

    found = household.supervisor()

    assert os.getsid(found.pid) == found.pid
    assert (household.node.directory / LOG).stat().st_mode & 0o777 == 0o600
    assert household.node.directory.stat().st_mode & 0o777 == 0o700


def test_a_supervisor_that_is_killed_is_started_again(household: Household) -> None:
    household.keeper()
    first = household.supervisor()

    os.kill(first.pid, signal.SIGKILL)

    assert household.supervisor(other_than=first) != first


def test_a_supervisor_outlives_its_keeper_and_is_left_alone_by_the_next(household: Household) -> None:
    household.keeper().stop_watching()
    first = household.supervisor()

    second = household.keeper()
    until(lambda: second.process(household.node.name) is not None, "the next keeper has looked")

    assert second.process(household.node.name) == first
    assert first.alive()


def test_a_survivor_with_other_options_makes_way(household: Household) -> None:
    household.keeper().stop_watching()
    first = household.supervisor()

    household.keeper(replace(household.node, slots=3))

    second = household.supervisor(other_than=first)
    assert not first.alive()
    assert "3" in Path(f"/proc/{second.pid}/cmdline").read_text().split("\0")


def test_a_supervisor_that_left_by_order_is_not_started_again(household: Household) -> None:
    one = household.keeper()
    first = household.supervisor()
    assert one.ended([household.node.name], timeout=0.0) == [household.node.name]

    (household.node.directory / LEFT).touch()
    os.kill(first.pid, signal.SIGKILL)

    assert one.ended([household.node.name], timeout=20.0) == []
    until(lambda: one.process(household.node.name) is None, "the keeper has noticed")
    assert household.who() is None


def test_a_node_that_had_left_is_there_again_after_the_next_start(household: Household) -> None:
    household.node.directory.mkdir()
    (household.node.directory / LEFT).touch()

    household.keeper()

    assert household.supervisor().alive()


def test_a_supervisor_that_dies_at_once_is_started_ever_more_slowly(
    household: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper, "MODULE", "tenuto.engines.no_such_supervisor")
    one = household.keeper()
    words = household.node.directory / LOG

    until(lambda: words.read_text().count("No module named") >= 2, "it is tried again")

    assert one.ended([household.node.name], timeout=0.0) == [household.node.name]
    assert [keeper.pause_after(deaths) for deaths in (0, 1, 2, 3, 20)] == [0.0, 0.2, 0.4, 0.8, 30.0]


def test_the_log_of_a_supervisor_does_not_grow_for_ever(
    household: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper, "LOG_BYTES", 100)
    household.node.directory.mkdir()
    words = household.node.directory / LOG
    words.write_text("x" * 150 + "the last words\n")

    household.keeper()

    assert words.with_name("supervisor.old.log").read_text().endswith("xthe last words\n")
    assert len(words.with_name("supervisor.old.log").read_bytes()) == 100
    assert "x" not in words.read_text()
