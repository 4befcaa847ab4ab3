"""One trace under one policy, simulated and in fast-forward on a platform of its own."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from tenuto.lab.replay import Replay, Tell, Terms, load_kernels, replay
from tenuto.live.policy_in_force import rules_of
from tenuto.model.event import Event
from tenuto.policy.base import Policy
from tenuto.rehearsal.compare import Difference, Parting, differences, parting
from tenuto.rehearsal.fast_forward import FastForward
from tenuto.rehearsal.score import Score
from tenuto.rehearsal.stage import a_stage
from tenuto.rehearsal.walk import Walk, simulated_walks
from tenuto.server.scene import Rule
from tenuto.settings import Scheduling


@dataclass(frozen=True)
class Rehearsed:
    """What both said."""

    replay: Replay
    """The simulator's, as `tenuto replay` has it."""
    simulated: Sequence[Walk]
    live: Sequence[Walk]
    trouble: str
    """What went wrong with the policy on the platform, if anything did."""
    seconds: float
    """That the platform took for it."""

    @cached_property
    def differences(self) -> list[Difference]:
        """Everything that is not exactly the same."""
        return differences(self.simulated, self.live)

    @property
    def parting(self) -> Parting | None:
        """Where it begins to differ."""
        return parting(self.simulated, self.live)


def rehearse(score: Score, policy: Policy, rule: Rule, tell: Tell) -> Rehearsed:
    """Ask the simulator, then play it on a platform under a clock that jumps."""
    terms = terms_of(rule.scheduling)
    done = replay(score.workload, policy, terms, lambda _done, _all: None, load_kernels(policy, terms))
    begun = time.perf_counter()
    with a_stage(score.workload.cluster, rule) as stage:
        live = FastForward(stage, score, rule.scheduling).play(tell)
        trouble = _trouble(stage.events("policy"))
    seconds = time.perf_counter() - begun
    return Rehearsed(done, simulated_walks(score, done.outcome), live, trouble, seconds)


def terms_of(scheduling: Scheduling) -> Terms:
    """How the simulator must replay to be comparable."""
    costs = f"{scheduling.start_cost!r},{scheduling.rescale_cost!r}"
    return Terms(rules=rules_of(scheduling), overhead=costs, layouts=True)


def _trouble(events: Iterable[Event]) -> str:
    return next((event.reason for event in events if event.after == "failed"), "")
