"""The picture and its round, taken again as long as jobs on their way have asked in vain, or may be helped. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tenuto.forecast.memory import forgetting, promised_numbers
from tenuto.forecast.picture import Picture, Scene, picture
from tenuto.live.change import Change
from tenuto.live.decide import asked_in_vain
from tenuto.model.phase import PromiseState
from tenuto.model.plan import Answer, Round
from tenuto.policy.base import Policy
from tenuto.rounds.round import run_round

MOST_HELPED = 10
"""Promises at risk that are planned anew in one round."""


@dataclass(frozen=True)
class Ruled:
    """A picture, its round, and the changes that it was taken from."""

    changes: Mapping[str, Change]
    picture: Picture
    round: Round


def rule(changes: Mapping[str, Change], scene: Scene, policy: Policy) -> Ruled:
    """Decide on these changes; `scene` says everything but the jobs."""
    while True:
        ruled = _tried(changes, scene, policy)
        undone = asked_in_vain(changes, ruled.picture, ruled.round)
        if not undone:
            return _helped(ruled, scene, policy)
        changes = {**changes, **undone}


def _helped(ruled: Ruled, scene: Scene, policy: Policy) -> Ruled:
    """Plan promises at risk anew where that gives them a plan in time.

    A plan that was made when nodes were missing is not better by itself when they are back: it is kept, late as it
    is. Forgetting it lets the job ask like a newcomer, beside all other promises.
    """
    if not policy.promises:
        return ruled
    promised = promised_numbers(scene.memory)
    at_risk = [
        change.job.number
        for change in ruled.changes.values()
        if change.job.promise is PromiseState.AT_RISK and change.job.number in promised
    ]
    for number in at_risk[:MOST_HELPED]:
        anew = replace(scene, memory=forgetting(scene.memory, [number]))
        tried = _tried(ruled.changes, anew, policy)
        verdict = tried.round.verdicts.get(number)
        in_time = verdict is not None and verdict.answer is Answer.ADMITTED
        if in_time and not asked_in_vain(tried.changes, tried.picture, tried.round):
            ruled, scene = tried, anew
    return ruled


def _tried(changes: Mapping[str, Change], scene: Scene, policy: Policy) -> Ruled:
    jobs = [change.job for change in changes.values()]
    left = {change.job.number: change.left for change in changes.values()}
    taken = picture(replace(scene, jobs=jobs, left=left))
    return Ruled(changes, taken, run_round(taken.snapshot, policy))
