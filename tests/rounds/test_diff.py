"""Wanted minus actual."""

from __future__ import annotations

import numpy as np
from tests.builders import AJob, a_job, a_snapshot

from tenuto.model.columns import Ints
from tenuto.model.plan import Action, ActionKind
from tenuto.model.snapshot import IDLE
from tenuto.rounds.diff import diff


def actions_to(jobs: list[AJob], *wanted: int) -> tuple[Action, ...]:
    snap = a_snapshot(jobs=jobs, nodes=(len(wanted),))
    layout: Ints = np.array(wanted, dtype=np.int64)
    granted = np.array([np.count_nonzero(layout == number) for number in range(len(jobs))])
    return diff(snap, granted, layout)


def test_nothing_is_done_if_nothing_changes() -> None:
    assert actions_to([a_job(on=[0, 1])], 0, 0, IDLE, IDLE) == ()


def test_who_had_nothing_is_started() -> None:
    assert actions_to([a_job()], 0, 0, IDLE, IDLE) == (Action(ActionKind.START, 0, 0, (0, 1)),)


def test_who_loses_everything_is_stopped() -> None:
    assert actions_to([a_job(on=[0, 1])], IDLE, IDLE) == (Action(ActionKind.STOP, 0, 2, ()),)


def test_who_changes_its_size_is_resized() -> None:
    assert actions_to([a_job(on=[0, 1])], 0, IDLE) == (Action(ActionKind.RESIZE, 0, 2, (0,)),)


def test_who_keeps_its_size_on_other_slots_is_moved() -> None:
    assert actions_to([a_job(on=[0, 1])], IDLE, 0, 0) == (Action(ActionKind.MOVE, 0, 2, (1, 2)),)


def test_slots_are_freed_before_they_are_taken() -> None:
    starts, grows, moves = a_job(), a_job(on=[0]), a_job(on=[1])
    shrinks, stops = a_job(on=[2, 3, 4, 5]), a_job(on=[6, 7])

    actions = actions_to([starts, grows, moves, shrinks, stops], 1, 1, 2, 3, 3, 0, 0, 0)

    assert [(action.kind, action.number) for action in actions] == [
        (ActionKind.RESIZE, 3),
        (ActionKind.STOP, 4),
        (ActionKind.MOVE, 2),
        (ActionKind.RESIZE, 1),
        (ActionKind.START, 0),
    ]
