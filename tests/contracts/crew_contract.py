"""What every engine promises about workers that rescale in place; run on the fake one and on real supervisors."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pytest
from tests.contracts.engine_contract import FIRST, HANG, SECOND
from tests.engines.builders import an_order

from tenuto.engines.base import Engine, Observation
from tenuto.wire.worker import WORKER, CrewOrder, ExitReason, WorkerId, WorkerOrder, WorkerSeen, WorkerState

JOB = "taniec"
TRAINS = ("training", "meeting")


class Floor(Protocol):
    """What can be done to workers that train together, from outside."""

    @property
    def engine(self) -> Engine: ...

    def command(self, worker: WorkerId) -> Mapping[str, Any]:
        """What the order of a worker needs that keeps to its memberships."""
        ...

    def kill(self, worker: WorkerId) -> None:
        """The worker is killed by SIGKILL."""
        ...

    def finish(self) -> None:
        """All who train together have trained to the end."""
        ...


@dataclass
class Crew:
    """A job whose members a test chooses."""

    floor: Floor
    term: int = 1
    plan: int = 0
    orders: dict[WorkerId, WorkerOrder] = field(default_factory=dict)

    def born(self, *places: tuple[str, int]) -> list[WorkerId]:
        """New workers for these slots, born in the next plan."""
        new = [WorkerId(JOB, self.plan + 1, WORKER, rank) for rank in range(len(places))]
        for worker, (node, slot) in zip(new, places, strict=True):
            command = self.floor.command(worker)
            self.orders[worker] = an_order(worker, node=node, slot=slot, linked=True, **command)
        return new

    def want(self, members: Sequence[WorkerId]) -> None:
        """Have these, and only these, train together."""
        self.plan = max(self.plan, self.newest()) + 1
        nodes = self.floor.engine.observe().nodes
        order = CrewOrder(
            job=JOB,
            plan=self.plan,
            members=tuple(members),
            lead=self.orders[members[0]].node if members else FIRST,
            peers={name: node.peer for name, node in nodes.items()},
            hosts={name: node.address for name, node in nodes.items()},
        )
        self.floor.engine.want(self.term, [self.orders[worker] for worker in members], [order])

    def newest(self) -> int:
        return max((one.generation or 0 for one in self.floor.engine.observe().workers.values()), default=0)

    def until(self, holds: Callable[[Observation], bool], what: str) -> Observation:
        give_up = time.monotonic() + HANG
        while not holds(seen := self.floor.engine.observe()):
            assert time.monotonic() < give_up, f"it never came to pass that {what}: {seen.workers}"
            time.sleep(0.005)
        return seen

    def together(self, members: Sequence[WorkerId], *, after: WorkerSeen | None = None) -> list[WorkerSeen]:
        """Wait until these, and nobody else, train in one generation, later than the one that somebody was in."""
        before = 0 if after is None else after.generation or 0

        def so(seen: Observation) -> bool:
            training = {one.id for one in seen.workers.values() if one.stage in TRAINS and _lives(one)}
            joined = {seen.workers[worker].generation or 0 for worker in members if worker in seen.workers}
            return training == set(members) and len(joined) == 1 and min(joined) > before

        seen = self.until(so, f"{members} train together")
        return [seen.workers[worker] for worker in members]

    def gone(self, *workers: WorkerId) -> None:
        self.until(lambda seen: not set(workers) & seen.workers.keys(), f"{workers} are gone")


def _lives(worker: WorkerSeen) -> bool:
    return worker.state in (WorkerState.RUNNING, WorkerState.STOPPING)


class CrewContract:
    """Inherited by the tests of each engine, which give the fixture `floor`."""

    @pytest.fixture
    def floor(self) -> Iterator[Floor]:
        raise NotImplementedError

    @pytest.fixture
    def crew(self, floor: Floor) -> Crew:
        return Crew(floor)

    def test_members_train_together_in_the_generation_of_the_plan_or_a_later_one(self, crew: Crew) -> None:
        members = crew.born((FIRST, 0), (SECOND, 0))

        crew.want(members)

        (generation,) = {one.generation for one in crew.together(members)}
        assert generation is not None
        assert generation >= crew.plan

    def test_who_stays_lives_on_when_others_come_and_go(self, crew: Crew) -> None:
        old = crew.born((FIRST, 0))
        crew.want(old)
        (before,) = crew.together(old)

        new = crew.born((FIRST, 1), (SECOND, 1))
        crew.want([*old, *new])
        grown = crew.together([*old, *new], after=before)
        crew.want([*old, new[1]])
        shrunk = crew.together([*old, new[1]], after=grown[0])

        crew.gone(new[0])
        assert grown[0].pid == shrunk[0].pid == before.pid
        assert shrunk[1].pid == grown[2].pid

    def test_survivors_of_a_killed_worker_go_on_without_an_order(self, crew: Crew) -> None:
        first, second = crew.born((FIRST, 0), (SECOND, 0))
        crew.want([first, second])
        before = crew.together([first, second])

        crew.floor.kill(second)

        (after,) = crew.together([first], after=before[0])
        assert after.pid == before[0].pid
        lost = crew.floor.engine.observe().workers[second]
        assert (lost.state, lost.exit_code) == (WorkerState.EXITED, 137)

    def test_a_lost_worker_is_replaced_by_one_with_another_name(self, crew: Crew) -> None:
        first, second = crew.born((FIRST, 0), (FIRST, 1))
        crew.want([first, second])
        before = crew.together([first, second])
        crew.floor.kill(first)
        crew.together([second], after=before[1])

        (third,) = crew.born((FIRST, 0))
        crew.want([second, third])

        after = crew.together([second, third])
        assert after[0].pid == before[1].pid
        crew.gone(first)

    def test_a_job_moves_to_other_workers_altogether(self, crew: Crew) -> None:
        old = crew.born((FIRST, 0))
        crew.want(old)
        crew.together(old)

        new = crew.born((SECOND, 0), (SECOND, 1))
        crew.want(new)

        crew.together(new)
        crew.gone(*old)

    def test_all_leave_when_nobody_is_wanted(self, crew: Crew) -> None:
        members = crew.born((FIRST, 0), (SECOND, 0))
        crew.want(members)
        crew.together(members)

        crew.want([])

        crew.gone(*members)

    def test_who_trained_to_the_end_ends_by_itself(self, crew: Crew) -> None:
        members = crew.born((FIRST, 0), (SECOND, 0))
        crew.want(members)
        crew.together(members)

        crew.floor.finish()

        seen = crew.until(
            lambda seen: all(seen.workers[one].state is WorkerState.EXITED for one in members), "all ended"
        )
        ends = [(seen.workers[one].exit_code, seen.workers[one].reason) for one in members]
        assert ends == [(0, ExitReason.ENDED)] * 2
        assert {seen.workers[one].generation for one in members} != {None}

    def test_whoever_listens_is_told_of_another_generation(self, crew: Crew) -> None:
        members = crew.born((FIRST, 0), (FIRST, 1))
        crew.want(members)
        before = crew.together(members)
        rung: list[int] = []
        end = crew.floor.engine.listen(lambda: rung.append(crew.newest()))

        crew.want(members[:1])
        (after,) = crew.together(members[:1], after=before[0])

        crew.until(lambda _: after.generation in rung, "somebody rang after the last change")
        end()
