"""A whole platform in memory for stories: real store, real controller, a fake engine, and a clock that a test moves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tenuto.engines.fake import FakeEngine
from tenuto.live.controller import Controller
from tenuto.model.event import Event
from tenuto.model.job import After, Condition, Job, JobSpec, Progress
from tenuto.model.node import NodeState
from tenuto.model.phase import Phase
from tenuto.settings import Nodes, Scheduling, Settings
from tenuto.store.base import Attempt, EventQuery, Store
from tenuto.store.memory import MemoryStore
from tenuto.wire.worker import WorkerId

LINEAR: Mapping[int, float] = {1: 1.0, 2: 2.0, 4: 4.0}
MOST_TICKS = 50


class Clock:
    """Unix seconds that pass only when told."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Platform:
    """What a story needs: submit, tick until nothing more happens, look."""

    def __init__(
        self,
        nodes: Mapping[str, int] | None = None,
        *,
        store: Store | None = None,
        policy: str = "elasticflow",
        start: float = 1000.0,
        timeout: float = 15.0,
        **scheduling: Any,
    ) -> None:
        self.clock = Clock(start)
        self.store = MemoryStore() if store is None else store
        self.engine = FakeEngine(self.clock)
        free: dict[str, Any] = {"start_cost": 0.0, "rescale_cost": 0.0, "margin": 0.0, "interval": 0.0}
        self.set_policy(policy, **(free | scheduling))
        for name, slots in ({"node-0": 4} if nodes is None else nodes).items():
            self.engine.add_node(name, slots)
        self.settings = Settings(scheduling=Scheduling(), nodes=Nodes(timeout=timeout))
        self.controller = self.new_controller()

    def new_controller(self) -> Controller:
        """The next controller, as after a crash of the one before."""
        self.controller = Controller(self.store, self.engine, self.clock, self.settings, force=True)
        return self.controller

    def set_policy(self, policy: str, **scheduling: Any) -> None:
        value = {"policy": policy, **scheduling}
        self.store.write(lambda tx: tx.set_meta("scheduling", value))

    # what users do

    def submit(
        self,
        name: str = "훈련",
        *,
        steps: float | None = 100.0,
        deadline: float | None = None,
        curve: Mapping[int, float] | None = None,
        after: str = "",
        condition: Condition = Condition.OK,
        settle: bool = True,
        **spec: Any,
    ) -> str:
        """Submit a job for up to four workers; the deadline is in seconds from now."""
        speeds = LINEAR if curve is None else curve
        asked: dict[str, Any] = {"run": ("train",), "min_workers": 1, "max_workers": 4, "steps": steps} | spec
        if after:
            asked["after"] = After(job=after, condition=condition)
        now = self.clock.now
        new = self.store.write(
            lambda tx: (
                tx.add_job(
                    Job(
                        id=f"job-{tx.revision:05d}",
                        number=0,
                        revision=0,
                        spec=JobSpec(name=name, **asked),
                        owner="자오",
                        submitted_at=now,
                        deadline=None if deadline is None else now + deadline,
                        actor="자오",
                        curve=dict(speeds),
                        progress=Progress(left=steps or 0.0, as_of=now),
                    )
                ).id
            )
        )
        if settle:
            self.settle()
        return new

    def wish(self, job: str, *, settle: bool = True, **fields: Any) -> None:
        """Write wishes as the server does."""
        self.store.write(lambda tx: tx.put_job(replace(self._found(tx.job(job)), actor="zofia", **fields)))
        if settle:
            self.settle()

    def drain(self, node: str, state: NodeState = NodeState.DRAINING) -> None:
        def act(tx: Any) -> None:
            tx.put_node(replace(tx.node(node), state=state))

        self.store.write(act)
        self.settle()

    # what happens

    def settle(self) -> None:
        """Tick until nothing changes any more."""
        for _ in range(MOST_TICKS):
            before = self.store.revision()
            observed = self.engine.observe().workers
            complete = self.controller.tick()
            if complete and self.store.revision() == before and self.engine.observe().workers == observed:
                return
        raise AssertionError("the controller does not come to rest")

    def pass_time(self, seconds: float) -> None:
        self.clock.now += seconds
        self.settle()

    def exit(self, job: str, code: int = 0) -> None:
        """All workers of a job end by themselves."""
        self.engine.end_job(job, code)
        self.settle()

    # looking

    @staticmethod
    def _found(job: Job | None) -> Job:
        assert job is not None
        return job

    def job(self, name: str) -> Job:
        return self._found(self.store.read(lambda tx: tx.job(name)))

    def phase(self, name: str) -> Phase:
        return self.job(name).phase

    def events(self, **query: Any) -> list[Event]:
        return self.store.read(lambda tx: tx.events(EventQuery(limit=10_000, **query)))

    def walk(self, job: str) -> list[str]:
        """The phases that a job has gone through."""
        phases = [event for event in self.events(job=job) if event.kind == "phase"]
        return [*(event.before for event in phases[:1]), *(event.after for event in phases)]

    def attempts(self, job: str) -> list[Attempt]:
        return self.store.read(lambda tx: tx.attempts(job))

    def workers(self, job: str) -> list[WorkerId]:
        return sorted(self.engine.living(job))
