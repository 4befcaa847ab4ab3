"""A company of simulated workers that keep to the protocol of `wire.membership`, strictly: whoever waits for a worker
that is gone waits for ever, unless it is told that it is lost. Time and order of events are chosen by the test."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tenuto.engines.supervisor.crews.coordinator import coordinate
from tenuto.engines.supervisor.crews.seats import Seat, Situation, prune, published
from tenuto.wire.membership import Membership
from tenuto.wire.status import Stage, Status
from tenuto.wire.worker import CrewOrder, WorkerId

JOB = "작업"


@dataclass
class Actor:
    """One simulated worker."""

    name: str
    stage: Stage = Stage.STARTING
    since: float = 0.0
    generation: int = 0
    alive: bool = True
    exit_code: int | None = None
    hangs: bool = False
    refuses: bool = False
    """It does not leave when it is told to."""
    group: Membership | None = None
    """In which it trains."""
    forming: Membership | None = None
    seen: Membership | None = None
    """The newest it was told."""

    @property
    def newest(self) -> Membership | None:
        """A membership that is newer than where it stands; None if there is none."""
        here = self.forming or self.group
        new = self.seen is not None and (here is None or self.seen.generation > here.generation)
        return self.seen if new else None

    def end(self, code: int) -> None:
        self.alive, self.exit_code, self.group, self.forming = False, code, None, None


@dataclass
class Company:
    """Workers, and a coordinator that is asked whenever something has happened."""

    now: float = 0.0
    actors: dict[str, Actor] = field(default_factory=dict)
    situation: Situation = field(
        default_factory=lambda: Situation(order=an_order((), plan=0), ordered_at=0.0, seats={})
    )
    published: list[Membership] = field(default_factory=list)
    plan: int = 0

    # what the controller does

    def want(self, *names: str) -> None:
        self.plan = max([self.plan, *(m.generation for m in self.published)]) + 1
        for name in names:
            self.actors.setdefault(name, Actor(name, since=self.now))
        order = an_order(names, plan=self.plan)
        self.situation = replace(self.situation, order=order, ordered_at=self.now)
        self.coordinate()

    # what happens to workers

    def come(self, name: str) -> None:
        """It has imported and built everything."""
        self._come(self.actors[name])
        self.coordinate()

    def kill(self, name: str, code: int = 137) -> None:
        self.actors[name].end(code)
        self.coordinate()

    def hang(self, name: str) -> None:
        self.actors[name].hangs = True

    def look(self, name: str) -> None:
        """It sees the newest membership, and does what it can by itself."""
        self._look(self.actors[name])
        self.coordinate()

    def agree(self) -> None:
        """A group whose members all know of a newer membership goes over."""
        for actor in list(self.actors.values()):
            if (group := actor.group) is None:
                continue
            members = [self.actors[worker] for worker in group.workers]
            if all(one.alive and not one.hangs and one.group == group and one.newest for one in members):
                for one in members:
                    one.group = None
                    self._enter(one)
        self.coordinate()

    def form(self) -> None:
        """A generation whose members are all there begins to train."""
        for actor in list(self.actors.values()):
            if (target := actor.forming) is None:
                continue
            members = [self.actors[worker] for worker in target.workers]
            if all(one.alive and not one.hangs and one.forming == target for one in members):
                for one in members:
                    one.group, one.forming, one.generation = target, None, target.generation
                    self._show(one, Stage.TRAINING)
        self.coordinate()

    def wait(self, seconds: float) -> None:
        """Time passes; who waits for somebody that hangs shows it."""
        self.now += seconds
        stuck = [a.group for a in self.actors.values() if a.hangs and a.alive and a.group is not None]
        for actor in self.actors.values():
            if actor.alive and not actor.hangs and actor.group in stuck and actor.stage is Stage.TRAINING:
                self._show(actor, Stage.MEETING)
        self.coordinate()

    def _come(self, actor: Actor) -> None:
        if actor.alive and actor.stage is Stage.STARTING:
            self._show(actor, Stage.READY)

    def _look(self, actor: Actor) -> None:
        if actor.alive and not actor.hangs:
            actor.seen = self.situation.last
            self._leave_the_lost(actor)
            if actor.group is None and actor.forming is None:
                self._enter(actor)

    def _leave_the_lost(self, actor: Actor) -> None:
        lost = set() if actor.newest is None else set(actor.newest.lost)
        if (actor.group and lost & set(actor.group.workers)) or (
            actor.forming and lost & set(actor.forming.workers)
        ):
            actor.group = actor.forming = None

    def _enter(self, actor: Actor) -> None:
        seen = actor.seen
        if seen is None or actor.stage is Stage.STARTING:
            return
        if actor.name in seen.workers:
            actor.forming = seen
            self._show(actor, Stage.FORMING)
        elif actor.generation > 0 and not actor.refuses:
            self._show(actor, Stage.LEAVING)
            actor.end(143)

    def _show(self, actor: Actor, stage: Stage) -> None:
        actor.stage, actor.since = stage, self.now

    # the supervisors' part

    def coordinate(self) -> None:
        """Ask until there is nothing more to do now; kill whoever hangs, and who neither is wanted nor leaves."""
        for _ in range(50):
            self.situation = prune(
                replace(self.situation, seats={a.name: _seat(a) for a in self.actors.values()})
            )
            decision = coordinate(self.situation, self.now)
            for name in decision.evict:
                self.actors[name].end(137)
            if decision.membership is not None:
                self.published.append(decision.membership)
                self.situation = published(self.situation, decision.membership, self.now)
            if not decision.evict and decision.membership is None:
                return
        raise AssertionError("the coordinator does not come to rest")

    def settle(self) -> None:
        """Let everything happen that will happen by itself."""
        for _ in range(10):
            for _ in range(4):
                for actor in self.actors.values():
                    self._come(actor)
                    self._look(actor)
                self.agree()
                self.form()
            self.wait(6.0)
            self._stop_the_unwanted()

    def _stop_the_unwanted(self) -> None:
        last = () if self.situation.last is None else self.situation.last.workers
        for actor in self.actors.values():
            if actor.alive and actor.name not in self.situation.wanted and actor.name not in last:
                self._stop(actor)

    def _stop(self, actor: Actor) -> None:
        """SIGTERM ends who has not begun; SIGKILL ends who does not leave, after a grace that has passed here."""
        in_a_group = actor.group is not None or actor.forming is not None
        actor.end(137 if in_a_group else 143)
        self.coordinate()

    @property
    def together(self) -> set[str]:
        """Those who train in the newest generation."""
        return {
            a.name for a in self.actors.values() if a.alive and a.group == self.situation.last and a.group
        }

    @property
    def living_wanted(self) -> set[str]:
        return {name for name in self.situation.wanted if self.actors[name].alive}


def an_order(names: tuple[str, ...], *, plan: int) -> CrewOrder:
    members = tuple(WorkerId.parse(name) for name in names)
    return CrewOrder(job=JOB, plan=plan, members=members, lead="n", peers={}, hosts={})


def worker(number: int) -> str:
    return str(WorkerId(JOB, 1, "worker", number))


def _seat(actor: Actor) -> Seat:
    status = Status(stage=actor.stage, since=actor.since, generation=actor.generation, port=1000)
    return Seat(
        node="węzeł",
        host="127.0.0.1",
        alive=actor.alive,
        exit_code=actor.exit_code,
        status=status,
        step_seconds=0.1,
    )
