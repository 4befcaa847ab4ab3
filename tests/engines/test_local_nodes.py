"""The local engine with real supervisors, real processes and real HTTP keeps the contract of engines."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from tests.contracts.crew_contract import CrewContract, Floor
from tests.contracts.engine_contract import FIRST, HANG, SECOND, EngineContract, Stage
from tests.engines.builders import an_id, an_order
from tests.engines.real_nodes import Machine, RealFloor, RealStage, a_machine, until

from tenuto.wire.worker import WorkerState

STORIES = count(1)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    with a_machine(tmp_path_factory.mktemp("기계")) as one:
        yield one


@pytest.fixture
def real_stage(machine: Machine, tmp_path: Path) -> Iterator[RealStage]:
    machine.all_there()
    before = 100 * next(STORIES)
    stage = RealStage(machine, tmp_path, before)
    machine.engine.want(before, [])
    yield stage
    stage.close(before + 99)


class TestLocalEngineKeepsTheContract(EngineContract):
    @pytest.fixture
    def stage(self, real_stage: RealStage) -> Iterator[Stage]:
        yield real_stage

    def test_what_a_worker_prints_arrives_in_the_log(self, stage: RealStage) -> None:
        order = self.order(stage, an_id("말하는-일"))
        stage.engine.want(1, [order])
        self.running(stage, order.id)

        stage.tell(order.id, "print 안녕")
        stage.let_exit(order.id, 0)
        self.exited(stage, order.id)

        logs = stage.machine.logs.logs
        until(lambda: "안녕\n".encode() in bytes(logs.get(order.id, b"")), "its words arrive")

    def test_a_command_that_does_not_exist_is_told_as_such(self, stage: RealStage) -> None:
        order = an_order(an_id("broken"), node=FIRST, argv=("/no/such/program",))

        stage.engine.want(1, [order])

        assert "/no/such/program" in self.exited(stage, order.id).message

    def test_workers_of_a_killed_supervisor_go_on_and_the_next_one_takes_them_over(
        self, stage: RealStage
    ) -> None:
        order = self.order(stage, an_id())
        stage.engine.want(1, [order])
        worker = self.running(stage, order.id)
        killed = stage.machine.supervisor(FIRST)

        os.kill(killed, signal.SIGKILL)
        until(lambda: stage.machine.supervisor(FIRST) != killed, "another supervisor is there")
        stage.let_report(order.id, 7)
        self.reported(stage, order.id, 7)

        assert self.running(stage, order.id).pid == worker.pid
        stage.let_exit(order.id, 6)
        assert self.exited(stage, order.id).exit_code == 6
        assert list(stage.starts()) == [order.id]


class TestLocalEngineKeepsTheContractOfCrews(CrewContract):
    @pytest.fixture
    def floor(self, machine: Machine, tmp_path: Path) -> Iterator[Floor]:
        machine.all_there()
        before = 100 * next(STORIES)
        floor = RealFloor(machine, tmp_path, before)
        machine.engine.want(before, [])
        yield floor
        floor.close(before + 99)


def test_a_server_that_comes_back_elsewhere_finds_the_workers_as_they_are(tmp_path: Path) -> None:
    home, played = tmp_path / "home", tmp_path / "played"
    home.mkdir()
    played.mkdir()
    worker = an_id("일")
    with a_machine(home) as machine:
        before = RealStage(machine, played, after_term=1)
        order = an_order(worker, node=FIRST, **before.command(worker, slow_to_stop=False))
        before.engine.want(1, [order])
        until(lambda: list(before.starts()) == [worker], "the worker has started")

        machine.restart_server()
        machine.all_there()
        assert machine.engine.observe().workers[worker].state is WorkerState.RUNNING

        after = RealStage(machine, played, after_term=10)
        after.engine.want(1, [order])
        after.let_exit(worker, 5)
        until(lambda: machine.engine.observe().workers[worker].exit_code == 5, "its end is seen")
        assert list(after.starts()) == [worker]


def test_a_node_that_was_removed_while_the_server_was_away_leaves_when_it_is_heard_of(tmp_path: Path) -> None:
    with a_machine(tmp_path) as machine:
        machine.all_there()
        until(lambda: machine.obeyed(FIRST) == 1, "the node has obeyed somebody")

        machine.restart_server()
        machine.engine.want(2, [])
        machine.engine.forget_node(FIRST)

        assert machine.keeper.ended([FIRST], HANG) == []
        until(lambda: set(machine.engine.observe().nodes) == {SECOND}, "only the other node is there")
