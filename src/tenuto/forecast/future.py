"""What becomes of everybody in a scene under a policy: the material of dry runs and of before-and-after questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from math import inf

import numpy as np

from tenuto.forecast.ahead import Ahead, Reach, ahead
from tenuto.forecast.eta import Eta, etas_seen, look
from tenuto.forecast.picture import UNKNOWN_LEFT, Picture, Scene, picture
from tenuto.forecast.spread import Past
from tenuto.model.job import Job
from tenuto.model.phase import OPEN_PROMISES, PromiseState
from tenuto.model.plan import Answer, Round
from tenuto.policy.base import Policy
from tenuto.rounds.only import only
from tenuto.rounds.round import run_round

PATIENCE = 1e-3
"""Seconds after a promised moment in which a job is still in time, against rounding."""
MOST_TRIES = 5
"""Pictures that are taken until nobody asks in vain."""


class Standing(StrEnum):
    """How it stands with a job's promise."""

    NONE = "none"
    HOLDS = "holds"
    AT_RISK = "at_risk"
    BROKEN = "broken"
    REFUSED = "refused"
    """It asks for its first answer, and the answer is no."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What becomes of one job. Times are Unix seconds; None where nothing can be foreseen."""

    eta: Eta
    later_than: float | None
    """Where its finish is not seen: up to here it was looked for; `inf` if it never ends as things stand."""
    never: bool
    """Nothing that is ahead lets it begin."""
    promised: float | None
    standing: Standing


@dataclass(frozen=True)
class Future:
    """A look ahead, with what its rows are called."""

    picture: Picture
    policy: Policy
    seen: Ahead
    exact: bool
    """Whether every event was looked at."""
    past: Past
    broken: frozenset[str] = frozenset()
    """Ids of jobs whose promises this policy cannot take over."""

    @cached_property
    def rows(self) -> Mapping[str, int]:
        """Where each job stands, by id."""
        return {job.id: row for row, job in enumerate(self.picture.jobs)}

    @property
    def etas(self) -> dict[str, Eta]:
        """When everybody begins and is done, by id."""
        return etas_seen(self.picture, self.seen, self.past)

    def fates(self, ids: Iterable[str]) -> dict[str, Fate]:
        """What becomes of these jobs, by id; who is not part of the picture is left out."""
        rows = [self.rows[id_] for id_ in ids if id_ in self.rows]
        etas = etas_seen(self.picture, self.seen, self.past, rows)
        jobs = [(row, self.picture.jobs[row]) for row in rows]
        return {job.id: self._fate(row, job, etas[job.id]) for row, job in jobs}

    def _fate(self, row: int, job: Job, eta: Eta) -> Fate:
        endless = self.picture.snapshot.left[row] >= UNKNOWN_LEFT or self.seen.refused[row]
        unseen = None if endless else self.picture.epoch + self.seen.seen_until
        return Fate(
            eta=eta,
            later_than=unseen if eta.finish is None else None,
            never=self.seen.to_the_end
            and not self.seen.refused[row]
            and bool(np.isinf(self.seen.start[row])),
            promised=self._promised(row, job),
            standing=self._standing(row, job),
        )

    def _promised(self, row: int, job: Job) -> float | None:
        verdict = self.seen.verdicts.get(row)
        if verdict is not None and verdict.promised is not None:
            return job.deadline
        return None if job.contract is None else job.contract.promised

    def _standing(self, row: int, job: Job) -> Standing:
        if job.id in self.broken or job.promise is PromiseState.BROKEN:
            return Standing.BROKEN
        if self.seen.refused[row]:
            return Standing.REFUSED
        promised = self._promised(row, job)
        if promised is None or (row not in self.seen.verdicts and job.promise not in OPEN_PROMISES):
            return Standing.NONE
        late = self.picture.epoch + float(self.seen.finish[row]) > promised + PATIENCE
        if late and (np.isfinite(self.seen.finish[row]) or self.seen.seen_until == inf):
            return Standing.AT_RISK
        return Standing.HOLDS


def foresee(scene: Scene, policy: Policy, past: Past, work: int) -> Future:
    """Look ahead with an amount of work (see `Reach.within`)."""
    settled = _settled(replace(scene, promises=policy.promises), policy)
    return _looked(settled, policy, past, work)


def foresee_cheaply(scene: Scene, policy: Policy, past: Past) -> Future:
    """Look ahead as closely as ETAs in a list are worth."""
    taken = picture(replace(scene, promises=policy.promises))
    return Future(taken, policy, look(taken.snapshot, policy, range(len(taken.jobs))), False, past)


def foresee_without(future: Future, jobs: frozenset[str], work: int) -> Future:
    """The same look as if some newcomers were not there."""
    taken = future.picture
    rows = [row for row, job in enumerate(taken.jobs) if job.id not in jobs]
    fewer = replace(
        taken,
        snapshot=only(taken.snapshot, np.array(rows, dtype=np.int64)),
        jobs=tuple(taken.jobs[row] for row in rows),
    )
    return _looked(_Settled(fewer, None, future.broken), future.policy, future.past, work)


@dataclass(frozen=True, slots=True)
class _Settled:
    """A picture in which nobody asks in vain for a promise that he holds already."""

    picture: Picture
    round: Round | None
    """Its round, if that was run."""
    broken: frozenset[str]
    """Whose promises are broken by that."""


def _looked(settled: _Settled, policy: Policy, past: Past, work: int) -> Future:
    taken = settled.picture
    reach = Reach.within(work, len(taken.jobs))
    seen = ahead(taken.snapshot, policy, reach=reach, first=settled.round)
    return Future(taken, policy, seen, reach.exact, past, settled.broken)


def _settled(scene: Scene, policy: Policy) -> _Settled:
    """What the controller does before it accepts a round: who asks in vain for what he was promised goes on without."""
    broken: frozenset[str] = frozenset()
    taken, decided = picture(scene), None
    for _ in range(MOST_TRIES):
        if not taken.asked_again:
            break
        decided = run_round(taken.snapshot, policy)
        undone = _asked_in_vain(taken, decided)
        if not undone:
            break
        broken |= {job.id for job in undone.values() if job.promise is PromiseState.BROKEN}
        scene = replace(scene, jobs=[undone.get(job.number, job) for job in scene.jobs])
        taken, decided = picture(scene), None
    return _Settled(taken, decided, broken)


def _asked_in_vain(taken: Picture, decided: Round) -> dict[int, Job]:
    undone = {}
    for job in taken.jobs:
        verdict, old = decided.verdicts.get(job.number), job.contract
        if job.number not in taken.asked_again or verdict is None or verdict.answer is Answer.ADMITTED:
            continue
        if old is None or (old.promised is None and not verdict.refused):
            continue
        if old.promised is None or job.deadline != old.promised:
            undone[job.number] = replace(job, deadline=old.promised)
        else:
            undone[job.number] = replace(job, promise=PromiseState.BROKEN)
    return undone
