"""Another policy's world: what comes from outside comes as it did, and everything else is its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.forecast.records import EPOCH, LINEAR

from tenuto.forecast.alongside import Imagined, Outage, Past, a_world, live_along
from tenuto.forecast.ground import Ground, Shift
from tenuto.forecast.past import Course, PastJob, Wish, WishKind
from tenuto.model.phase import Phase, PromiseState
from tenuto.model.snapshot import Rules
from tenuto.plugins import policy_called

NOBODY = Course(
    phase=Phase.RUNNING,
    started=None,
    ended=None,
    declined=False,
    promised=None,
    promise=PromiseState.NONE,
    rescales=0,
    workers=0,
    stretches=(),
)
FOUR = Ground({"node-0": 4}, {"node-0": 4}, ())


def a_past(number: int = 1, *, phase: Phase = Phase.RUNNING, **known: Any) -> PastJob:
    """A job of 100 steps for exactly four slots, arrived at the epoch, unless the test says otherwise."""
    fields: dict[str, Any] = {
        "id": f"úloha-{number}",
        "number": number,
        "name": "úloha",
        "owner": "민준",
        "arrived": EPOCH,
        "total": 100.0,
        "done": 0.0,
        "rates": ((4, 1.0),),
        "wanted": 4,
        "batch": 1,
        "deadline": None,
        "urgent": False,
        "node": "",
        "wishes": (),
        "guesses": frozenset(),
        "course": replace(NOBODY, phase=phase),
    }
    return PastJob(**(fields | known))


def lived(*jobs: PastJob, policy: str = "fifo", ground: Ground = FOUR, **more: Any) -> Imagined:
    """What became of them after ten thousand seconds, in seconds since the epoch."""
    past = Past(jobs, ground, more.get("outages", ()), EPOCH)
    world = a_world(past, Rules(margin=0.0), start_cost=0.0, rescale_cost=0.0)
    for _ in live_along(world, policy_called(policy), EPOCH + more.get("until", 10_000.0)):
        pass
    seen = world.imagined()
    return replace(seen, started=seen.started - EPOCH, finished=seen.finished - EPOCH)


def test_jobs_run_as_their_curves_say_one_after_the_other() -> None:
    seen = lived(a_past(1), a_past(2, arrived=EPOCH + 10.0))

    assert seen.started.tolist() == [0.0, 100.0]
    assert seen.finished.tolist() == [100.0, 200.0]
    assert seen.usage.busy.tolist()[:2] == [4, 4]


def test_the_future_is_not_told() -> None:
    seen = lived(a_past(1), until=40.0)

    assert np.isnan(seen.finished[0])
    assert seen.held.tolist() == [4]


def test_a_job_of_unknown_length_ends_after_what_it_did() -> None:
    unknown: dict[str, Any] = {"total": None, "done": 60.0}

    assert lived(a_past(phase=Phase.SUCCEEDED, **unknown)).finished.tolist() == [60.0]
    assert np.isnan(lived(a_past(phase=Phase.RUNNING, **unknown)).finished[0])


def test_nobody_is_answered_while_the_platform_is_down() -> None:
    seen = lived(a_past(1, arrived=EPOCH + 10.0), outages=[Outage(EPOCH + 5.0, EPOCH + 50.0)])

    assert seen.started.tolist() == [50.0]


def test_slots_that_go_and_come_again_stop_a_job_meanwhile() -> None:
    away = (Shift(EPOCH + 30.0, "node-0", 0), Shift(EPOCH + 80.0, "node-0", 4))

    seen = lived(a_past(1), ground=replace(FOUR, shifts=away))

    assert seen.finished.tolist() == [150.0]
    assert seen.rescales.tolist() == [1]


def test_a_job_that_fits_nowhere_asks_again_when_nodes_come() -> None:
    late = Ground({"node-0": 2, "node-1": 4}, {"node-0": 2, "node-1": 0}, (Shift(EPOCH + 40.0, "node-1", 4),))

    seen = lived(a_past(1), ground=late, policy="elasticflow")

    assert (seen.refused.tolist(), seen.started.tolist()) == ([False], [40.0])


def test_a_job_that_no_node_of_that_time_could_hold_is_refused() -> None:
    assert lived(a_past(1, rates=((8, 1.0),), wanted=8), policy="elasticflow").refused.tolist() == [True]


def test_who_may_run_on_one_node_only_waits_for_it() -> None:
    two = Ground({"node-0": 4, "node-1": 4}, {"node-0": 4, "node-1": 4}, ())

    seen = lived(a_past(1, node="node-1"), a_past(2, node="node-1"), ground=two)

    assert seen.started.tolist() == [0.0, 100.0]


class TestDeadlines:
    JOB = a_past(1, rates=tuple(LINEAR.items()), total=400.0, deadline=EPOCH + 200.0)

    def changed(self, deadline: float) -> Imagined:
        wish = Wish(EPOCH + 20.0, WishKind.DEADLINE, EPOCH + deadline)
        return lived(replace(self.JOB, wishes=(wish,)), policy="elasticflow")

    def test_a_later_one_is_promised_instead(self) -> None:
        assert self.changed(500.0).promised.tolist() == [EPOCH + 500.0]

    def test_one_that_cannot_be_promised_is_changed_back(self) -> None:
        seen = self.changed(50.0)

        assert seen.promised.tolist() == [EPOCH + 200.0]
        assert seen.finished.tolist() == [100.0]
        assert not seen.refused.any()


@pytest.mark.parametrize("policy", ["fifo", "elasticflow"])
def test_a_world_without_nodes_or_jobs_is_quiet(policy: str) -> None:
    assert lived(ground=Ground({}, {}, ()), policy=policy).rounds == 0
    assert np.isnan(lived(a_past(1), ground=Ground({}, {}, ()), policy=policy).started[0])
