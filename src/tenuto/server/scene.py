"""The platform as a forecast sees it, and writing only if what the forecast looked at is still so.

Forecasts take their time, so they are made outside of any transaction. If meanwhile something changed that they
rest on, they are made again; after some tries inside the transaction, where nothing can change.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from tenuto.forecast.pauses import PAUSES, Charge, rescale_charge
from tenuto.forecast.spread import Past, past_in
from tenuto.model.job import Job
from tenuto.model.node import Node
from tenuto.model.phase import OPEN_PROMISES, Phase
from tenuto.model.rules import Rules
from tenuto.server.find import job_called
from tenuto.server.platform import Platform
from tenuto.settings import Scheduling, scheduling_in_force
from tenuto.store.base import Tx

if TYPE_CHECKING:  # they load compiled kernels, which nobody shall wait for who asks for something else
    from tenuto.forecast.picture import Scene
    from tenuto.policy.base import Policy

T = TypeVar("T")
R = TypeVar("R")
TRIES = 4


@dataclass(frozen=True)
class Rule:
    """By which rules rounds decide."""

    scheduling: Scheduling
    tuning: Mapping[str, Any]
    """Settings of the policy itself."""

    @classmethod
    def written(cls, value: Any, default: Scheduling) -> Rule:
        """What `up` and `policy set` wrote down, else the default; fields of another version are left out."""
        tuning = value.get("settings") if isinstance(value, dict) else None
        return cls(scheduling_in_force(value, default), tuning or {})

    def to_json(self) -> dict[str, Any]:
        """As it is written down."""
        plain = {one.name: getattr(self.scheduling, one.name) for one in fields(Scheduling)}
        return plain | {"placement": str(self.scheduling.placement), "settings": dict(self.tuning)}

    def policy(self) -> Policy:
        """The policy, set as it is told. Raises InputInvalid if there is none, or it cannot be used here."""
        from tenuto.plugins import lack, policy_called
        from tenuto.tuning import tuned

        policy = policy_called(self.scheduling.policy)
        if (problem := lack(policy)) is not None:
            raise problem
        return tuned(policy, self.tuning)


@dataclass(frozen=True)
class View:
    """Everything that a decision about promises rests on, at one moment."""

    now: float
    epoch: float
    jobs: tuple[Job, ...]
    nodes: tuple[Node, ...]
    rule: Rule
    memory: Any
    """As it lies in the store."""
    job: Job | None = None
    """Whom the question is about."""
    pauses: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """What rescales in place were measured to cost."""
    past: Past = field(default_factory=dict)
    """How far forecasts were off so far."""

    @property
    def mark(self) -> Hashable:
        """The same for two views exactly if the same follows from them."""
        decided = (job for job in self.jobs if job.phase is not Phase.SUBMITTED)
        about = self.job and (self.job.id, self.job.revision)
        return (
            about,
            tuple((job.id, job.revision) for job in decided),
            tuple((node.name, node.revision) for node in self.nodes),
            repr(self.rule.to_json()),
        )

    @property
    def promised(self) -> bool:
        """Whether there is any promise to break."""
        return any(job.promise in OPEN_PROMISES for job in self.jobs)

    @property
    def charge(self) -> Charge:
        """What a rescale costs now."""
        strategies = (job.spec.strategy for job in self.jobs if job.is_planned)
        return rescale_charge(self.rule.scheduling.rescale_cost, self.pauses, strategies)

    def others(self, job: Job) -> tuple[Job, ...]:
        """All but one."""
        return tuple(other for other in self.jobs if other.id != job.id)

    def with_job(self, job: Job) -> View:
        """The same with one job changed."""
        return replace(self, jobs=tuple(job if other.id == job.id else other for other in self.jobs), job=job)

    def with_rule(self, rule: Rule) -> View:
        """The same under other rules; another policy knows nothing of this one's memory."""
        same = rule.scheduling.policy == self.rule.scheduling.policy
        return replace(self, rule=rule, memory=self.memory if same else None)

    def scene(self, policy: Policy) -> Scene:
        """As forecasts want it."""
        from tenuto.forecast.picture import Scene
        from tenuto.store.policy_memory import decode

        set_to = self.rule.scheduling
        remembered = self.memory if isinstance(self.memory, dict) else {}
        ours = remembered.get("policy") in (policy.name, set_to.policy)
        return Scene(
            jobs=self.jobs,
            nodes=self.nodes,
            now=self.now,
            epoch=self.epoch,
            rules=Rules(set_to.interval, set_to.margin, set_to.placement, set_to.seed),
            start_cost=set_to.start_cost,
            rescale_cost=self.charge.seconds,
            memory=decode(remembered.get("value"), policy) if ours else None,
            promises=policy.promises,
        )


def view(here: Platform, tx: Tx, ref: str | None = None) -> View:
    """Look at everything."""
    now = here.clock()
    return View(
        now=now,
        epoch=tx.meta("epoch") or now,
        jobs=tuple(tx.live_jobs()),
        nodes=tuple(tx.nodes()),
        rule=Rule.written(tx.meta("scheduling"), here.settings.scheduling),
        memory=tx.meta("memory"),
        job=None if ref is None else job_called(tx, ref),
        pauses=tx.meta(PAUSES) or {},
        past=past_in(tx.meta),
    )


class _Stale(Exception):
    """What the forecast rests on has changed."""


def foresee_then_write(
    here: Platform, ref: str | None, foresee: Callable[[View], R], act: Callable[[Tx, R], T]
) -> T:
    """Write what was found out, if what it rests on is still so; else find out again."""

    def commit(tx: Tx, seen: View, result: R) -> T:
        if view(here, tx, ref).mark != seen.mark:
            raise _Stale
        return act(tx, result)

    for _ in range(TRIES):
        seen = here.store.read(lambda tx: view(here, tx, ref))
        result = foresee(seen)
        try:
            return here.store.write(lambda tx, seen=seen, result=result: commit(tx, seen, result))  # type: ignore[misc]
        except _Stale:
            continue

    def all_at_once(tx: Tx) -> T:
        return act(tx, foresee(view(here, tx, ref)))

    return here.store.write(all_at_once)
