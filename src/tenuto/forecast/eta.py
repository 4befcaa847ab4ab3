"""When each job will begin and be done, as things stand: the median, and a moment that holds nine times of ten."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from math import ceil, inf

import numpy as np

from tenuto.forecast.ahead import FARTHEST, Ahead, Reach, ahead
from tenuto.forecast.picture import UNKNOWN_LEFT, Picture
from tenuto.forecast.spread import Factors, Past, cohorts, factors, situation
from tenuto.model.columns import Floats
from tenuto.model.job import Job
from tenuto.model.phase import OPEN_PROMISES
from tenuto.model.plan import Round
from tenuto.model.snapshot import Snapshot
from tenuto.policy.base import Policy

ROWS_TIMES_ROUNDS = 20_000
"""What a look ahead may cost: at a thousand jobs less than a tenth of a second."""
FEWEST_ROUNDS, MOST_ROUNDS = 8, 120
OF_A_ROUND = 50
"""Rows that cost as much as a round without any."""
SPAN = 1e5
"""How many times farther than the first event the last one is reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Eta:
    """A job's future, in Unix seconds; None where it cannot be foreseen."""

    start: float | None = None
    """When it first has slots: for one that has them, now."""
    finish: float | None = None
    """As likely earlier as later."""
    late: float | None = None
    """Nine of ten such jobs are done by then; the finish itself, where nothing is uncertain."""
    estimate: float | None = None
    """The finish before it was corrected by how far forecasts were off."""
    situation: str = ""
    """In which they were."""


def reach_of(rows: int) -> Reach:
    """As far as can be seen at a bounded cost: half of the rounds for ends of jobs, half for the policy's wishes."""
    rounds = min(max(ROWS_TIMES_ROUNDS // (rows + OF_A_ROUND), FEWEST_ROUNDS), MOST_ROUNDS)
    return Reach(rounds=rounds, ends=ceil(2 * rows / rounds), grain=SPAN ** (2.0 / rounds) - 1.0)


def etas_seen(taken: Picture, seen: Ahead, past: Past, rows: Collection[int] | None = None) -> dict[str, Eta]:
    """The future of the jobs of a picture, or of some rows, by id; `past` is how far forecasts were off so far."""
    wanted = range(len(taken.jobs)) if rows is None else rows
    done, now = estimates(taken.snapshot, seen), taken.epoch + taken.snapshot.now
    known = cohorts(past, (job.foretold for job in taken.jobs), now)
    off: dict[str, Factors] = {}
    found = {}
    for row in wanted:
        job, start, finish = taken.jobs[row], float(seen.start[row]), float(done[row])
        promised = _promised(job, seen, row)
        where = situation(job, runs=start <= taken.snapshot.now, promised=promised)
        if where not in off:
            off[where] = factors(known, where)
        begun = None if start - taken.snapshot.now > FARTHEST else taken.epoch + start
        ends = None if finish - taken.snapshot.now > FARTHEST else taken.epoch + finish
        found[job.id] = _told(Eta(start=begun, estimate=ends, situation=where), now, off[where])
    return found


def _told(eta: Eta, now: float, off: Factors) -> Eta:
    """The estimate corrected by how far such estimates were off."""
    if eta.estimate is None:
        return eta
    finish, late = off.told(now, eta.estimate)
    start = eta.start if eta.start is None or eta.start <= now else min(off.told(now, eta.start)[0], finish)
    return replace(eta, start=start, finish=finish, late=late)


def look(snap: Snapshot, policy: Policy, rows: Collection[int], first: Round | None = None) -> Ahead:
    """Look ahead for these rows: at every event if they are few, else as closely as a bounded cost allows.

    `first` is the round of now, if it was run already.
    """
    watch = [row for row in rows if snap.left[row] < UNKNOWN_LEFT]  # others end beyond everything
    reach = reach_of(len(snap))
    if reach.ends == 1:
        seen = ahead(snap, policy, watch=watch, reach=Reach(rounds=reach.rounds // 2), first=first)
        if (seen.finish[watch] <= seen.seen_until).all():
            return seen
        first = seen.first
    return ahead(snap, policy, watch=watch, reach=reach, first=first)


def estimates(snap: Snapshot, seen: Ahead) -> Floats:
    """When each row is done: as it was seen or is planned, else as it would go on. Refused rows never are."""
    known = np.isfinite(seen.finish) & (seen.finish > snap.now)
    found: Floats = np.where(seen.refused, inf, np.where(known, seen.finish, seen.onward))
    return found


def _promised(job: Job, seen: Ahead, row: int) -> bool:
    verdict = seen.verdicts.get(row)
    return job.promise in OPEN_PROMISES if verdict is None else verdict.promised is not None
