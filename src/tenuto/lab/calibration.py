"""How good forecasts are where speeds are not what curves say: a replay in which every job has a pace of its own.

Forecasts are made as on the live platform, when a job is answered and when it first has slots, and corrected by what
became of the jobs that had ended before. Nothing else is known to them: neither the paces nor who comes later.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

import numpy as np

from tenuto.forecast.eta import estimates, look
from tenuto.forecast.spread import Factors, by_situation, cohorts, factors, noted, situation_of
from tenuto.model.columns import Floats, frozen
from tenuto.model.cost import Cost
from tenuto.model.job import ANSWERED, STARTED, Foretold
from tenuto.model.plan import Action, ActionKind, Round
from tenuto.model.snapshot import Rules, Snapshot
from tenuto.policy.base import Policy
from tenuto.rounds.round import run_round
from tenuto.sim.workload import Workload
from tenuto.sim.world import World


@dataclass(frozen=True, slots=True)
class Noise:
    """How far the paces of jobs are from their curves: lognormal, the same for all sizes of a job."""

    sigma: float
    seed: int = 0

    def paces(self, jobs: int) -> Floats:
        """By what each job's speed is multiplied."""
        draws = np.random.default_rng(self.seed)
        return frozen(np.exp(self.sigma * draws.standard_normal(jobs)))


class NoisyWorld(World):
    """Jobs go at their own pace; how far they are is known, as of jobs that tell their steps."""

    def __init__(self, workload: Workload, cost: Cost, rules: Rules, paces: Floats) -> None:
        super().__init__(workload, cost, rules)
        self._paces = paces

    def _execute(self, action: Action) -> None:
        super()._execute(action)
        self.speed[action.number] *= self._paces[action.number]


@dataclass(frozen=True, slots=True)
class Check:
    """A forecast and the truth."""

    told: Foretold
    ended_at: float

    @property
    def by_median(self) -> bool:
        """Whether the job was done when it was as likely to be as not."""
        return self.ended_at <= self.told.finish

    @property
    def by_late(self) -> bool:
        """Whether it was done when nine of ten are."""
        return self.ended_at <= self.told.late


@dataclass(frozen=True, slots=True)
class Calibration:
    """What became of forecasts, in the order in which they were made."""

    checks: tuple[Check, ...]

    def of(self, moment: str, after: int = 0) -> tuple[Check, ...]:
        """Those of one moment, without the first ones, when there was no past to learn from."""
        return tuple(check for check in self.checks if check.told.moment == moment)[after:]


def share(checks: tuple[Check, ...], *, late: bool) -> float:
    """The part of forecasts that held."""
    return sum(check.by_late if late else check.by_median for check in checks) / max(len(checks), 1)


@dataclass(slots=True)
class _Seer:
    """Makes forecasts, and learns from the ends of jobs."""

    policy: Policy
    past: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    told: dict[int, list[Foretold]] = field(default_factory=dict)
    """Of jobs that are on their way."""
    promised: set[int] = field(default_factory=set)
    checks: list[Check] = field(default_factory=list)

    def foretell(self, snap: Snapshot, decided: Round, started: Floats) -> None:
        """Forecast the ends of those who are answered or get their first slots in a round."""
        answered = {number for number, verdict in decided.verdicts.items() if not verdict.refused}
        begins = {action.number for action in decided.actions if action.kind is ActionKind.START}
        first = {number for number in begins if np.isnan(started[number])}
        if not answered | first:
            return
        self.promised |= {
            number for number, verdict in decided.verdicts.items() if verdict.promised is not None
        }
        rows = np.searchsorted(snap.number, sorted(answered | first)).tolist()
        ends = estimates(snap, look(snap, self.policy, rows))
        known = cohorts(self.past, self.told.values(), snap.now)
        for row in rows:
            number = int(snap.number[row])
            moments = [ANSWERED] * (number in answered) + [STARTED] * (number in first)
            where = situation_of(runs=number in first, promised=number in self.promised)
            if ends[row] < inf:
                self._tell(number, moments, snap.now, (float(ends[row]), where, factors(known, where)))

    def _tell(
        self, number: int, moments: list[str], now: float, estimate: tuple[float, str, Factors]
    ) -> None:
        """Write forecasts down; `estimate` is the end, the situation, and how far such estimates were off."""
        end, where, off = estimate
        finish, late = off.told(now, end)
        self.told.setdefault(number, []).extend(
            Foretold(moment=moment, at=now, finish=finish, late=late, estimate=end, situation=where)
            for moment in moments
        )

    def learn(self, number: int, now: float) -> None:
        """Compare what was told of a job with when it was done."""
        told = self.told.pop(number, [])
        for where, one in by_situation(told).items():
            self.past[where] = noted(self.past.get(where, ()), one, now)
        self.checks += [Check(one, now) for one in told]


def calibrate(workload: Workload, policy: Policy, cost: Cost, rules: Rules, noise: Noise) -> Calibration:
    """Replay a trace under a policy with noisy speeds, and forecast every end."""
    world = NoisyWorld(workload, cost, rules, noise.paces(len(workload.trace)))
    seer = _Seer(policy)
    while (due := world.next_event()) < np.inf:
        before = world.live
        world.advance_to(due)
        for number in before[world.finished[before] == due].tolist():
            seer.learn(number, due)
        snap = world.snapshot()
        decided = run_round(snap, policy)
        seer.foretell(snap, decided, world.started)
        world.apply(decided)
    return Calibration(tuple(sorted(seer.checks, key=lambda check: check.told.at)))
