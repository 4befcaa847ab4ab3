"""What is said about a job's end when it is answered and when it first has slots, and what became of it.

Forecasts are kept in the job's own record. When it is done, its ratios are added to the past in the transaction that
writes its end, so that each counts once.
"""

from __future__ import annotations

from collections.abc import Mapping

from tenuto.forecast.eta import Eta
from tenuto.forecast.rates import being_measured
from tenuto.forecast.spread import RATIOS, by_situation, noted
from tenuto.live.change import Change
from tenuto.model.job import ANSWERED, STARTED, Foretold, Job
from tenuto.model.phase import Phase
from tenuto.model.plan import ActionKind, Round
from tenuto.store.base import Tx


def to_foretell(jobs: Mapping[int, Job], decided: Round) -> set[int]:
    """The numbers of jobs whose end is to be foretold in a round: answered in it, or given their first slots."""
    answered = {number for number, verdict in decided.verdicts.items() if not verdict.refused}
    starts = {action.number for action in decided.actions if action.kind is ActionKind.START}
    return {
        number
        for number in answered | starts
        if number in jobs and not being_measured(jobs[number]) and _is_news(jobs[number], number in answered)
    }


def _is_news(job: Job, answered: bool) -> bool:
    return answered or all(told.moment != STARTED for told in job.foretold)


def foretold(change: Change, eta: Eta | None, *, answered: bool) -> Change:
    """Write down what was foretold of a job in a round; with a new answer, all earlier forecasts are void."""
    job = change.job
    if eta is None or job.ending is not None or job.phase in (Phase.PAUSED, Phase.UNSCHEDULABLE):
        return change
    kept = () if answered else job.foretold
    moments = [ANSWERED] if answered else []
    if job.slots and all(told.moment != STARTED for told in kept):
        moments.append(STARTED)
    if eta.estimate is None or eta.finish is None or eta.late is None:
        return change.put(foretold=kept)
    news = tuple(
        Foretold(
            moment=moment,
            at=change.at,
            finish=eta.finish,
            late=eta.late,
            estimate=eta.estimate,
            situation=eta.situation,
        )
        for moment in moments
    )
    return change.put(foretold=(*kept, *news))


def keep_ratios(tx: Tx, before: Job, after: Job) -> None:
    """Remember how far forecasts were off of a job that is done now. How long others would have taken, nobody knows."""
    if before.phase is Phase.SUCCEEDED or after.phase is not Phase.SUCCEEDED or after.ended_at is None:
        return
    for where, told in by_situation(after.foretold).items():
        tx.set_meta(RATIOS + where, noted(tx.meta(RATIOS + where) or (), told, after.ended_at))
