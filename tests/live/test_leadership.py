"""One controller acts at a time, and every new one has a higher term."""

from __future__ import annotations

import pytest
from tests.live.platform import Platform

from tenuto.engines.base import TermRefused
from tenuto.live.controller import Controller
from tenuto.live.leadership import LEASE, LeadershipLost, claim, release, renew
from tenuto.store.memory import MemoryStore


def test_terms_ascend_and_a_lease_keeps_others_out() -> None:
    store = MemoryStore()
    first = store.write(lambda tx: claim(tx, "seoul", 0.0))
    assert first is not None
    assert first.term == 1
    assert store.write(lambda tx: claim(tx, "łódź", LEASE - 1.0)) is None

    second = store.write(lambda tx: claim(tx, "łódź", LEASE + 1.0))
    assert second is not None
    assert second.term == 2
    with pytest.raises(LeadershipLost):
        store.write(lambda tx: renew(tx, first, LEASE + 2.0))


def test_a_renewed_lease_goes_on_and_a_released_one_is_free_at_once() -> None:
    store = MemoryStore()
    first = store.write(lambda tx: claim(tx, "seoul", 0.0))
    assert first is not None
    assert not first.due_for_renewal(1.0)
    assert first.due_for_renewal(first.renewal)
    renewed = store.write(lambda tx: renew(tx, first, 10.0))
    assert store.write(lambda tx: claim(tx, "łódź", 20.0)) is None

    store.write(lambda tx: release(tx, renewed, 21.0))

    second = store.write(lambda tx: claim(tx, "łódź", 21.0))
    assert second is not None
    assert second.term == 2


def test_a_controller_stands_by_while_another_leads() -> None:
    here = Platform()
    here.settle()
    other = Controller(here.store, here.engine, here.clock, holder="inny")

    with pytest.raises(LeadershipLost):
        other.tick()

    here.controller.resign()
    assert other.tick()


def test_a_controller_that_was_replaced_writes_nothing_more() -> None:
    here = Platform()
    job = here.submit()
    old = here.controller
    here.new_controller()
    here.settle()
    here.engine.end_job(job)
    revision = here.store.revision()

    with pytest.raises(LeadershipLost):
        old.tick()

    assert here.store.revision() == revision
    here.settle()
    assert here.phase(job).value == "succeeded"


def test_a_controller_whose_term_the_engine_refuses_stops_acting() -> None:
    here = Platform()
    here.settle()
    here.engine.want(10, ())
    with pytest.raises(TermRefused):
        here.engine.want(9, ())

    with pytest.raises(LeadershipLost):
        here.submit()


def test_a_new_controller_restarts_nothing() -> None:
    here = Platform()
    jobs = [here.submit(f"작업 {k}", max_workers=1, deadline=900.0) for k in range(3)]
    started = list(here.engine.started)
    for _ in range(3):
        here.new_controller()
        here.pass_time(1.0)

    assert here.engine.started == started
    assert all(here.job(job).generation == 1 for job in jobs)
    terms = here.store.read(lambda tx: tx.meta("leadership"))
    assert terms["term"] == 4


def test_what_was_committed_but_not_yet_ordered_is_ordered_by_the_next_controller() -> None:
    here = Platform()
    here.settle()

    class Killed(Exception):
        pass

    def killed(*_: object) -> None:
        raise Killed

    job = here.submit(settle=False)
    want, here.engine.want = here.engine.want, killed  # type: ignore[method-assign, assignment]
    with pytest.raises(Killed):
        here.controller.tick()
    assert here.job(job).slots and not here.workers(job)

    here.engine.want = want  # type: ignore[method-assign]
    here.new_controller()
    here.settle()

    assert len(here.workers(job)) == 4
    assert here.job(job).generation == 1
