"""The local engine with real supervisors, real processes and real HTTP keeps the contract of engines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from tests.contracts.engine_contract import FIRST, EngineContract, Stage
from tests.engines.builders import an_id, an_order
from tests.engines.real_nodes import Machine, RealStage, a_machine, until

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
