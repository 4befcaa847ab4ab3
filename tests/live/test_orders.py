"""Which workers are wanted: never two generations at once, and nothing is unwanted before it was seen."""

from __future__ import annotations

from tests.live.platform import Platform

from tenuto.model.job import StartOrder
from tenuto.model.phase import Phase

P = Phase
TWO = {"node-0": 4, "노드-1": 4}


def test_a_worker_that_was_ordered_but_not_seen_may_run_so_the_next_generation_waits_for_it() -> None:
    here = Platform(TWO)
    here.settle()
    for node in TWO:
        here.engine.lose_node(node)  # orders are on their way, and nobody knows what became of them
    job = here.submit()
    assert (here.phase(job), here.engine.started) == (P.STARTING, [])
    home = next(iter(here.job(job).slots))
    (elsewhere,) = TWO.keys() - {home}
    here.engine.return_node(elsewhere)
    here.drain(home)
    assert list(here.job(job).slots) == [elsewhere]
    assert here.engine.started == [], "who knows whether generation 1 has begun"

    here.engine.return_node(home)
    here.settle()

    assert {worker.generation for worker in here.workers(job)} == {2}
    starts = [worker.generation for worker in here.engine.started]
    assert starts == sorted(starts)


def test_a_job_that_is_cancelled_while_its_workers_are_ordered_ends_when_they_were_seen_and_have_gone() -> (
    None
):
    here = Platform()
    here.settle()
    here.engine.lose_node("node-0")
    job = here.submit()
    here.wish(job, cancel=True)
    assert here.phase(job) is P.STARTING

    here.engine.return_node("node-0")
    here.settle()

    assert (here.phase(job), here.workers(job)) == (P.CANCELLED, [])


def test_a_new_controller_starts_no_generation_while_an_older_one_may_live_on_a_node_not_heard_of_yet() -> (
    None
):
    here = Platform(TWO)
    job = here.submit()
    home = next(iter(here.job(job).slots))
    (elsewhere,) = TWO.keys() - {home}
    here.engine.reopen()
    here.new_controller()
    here.engine.return_node(elsewhere)
    here.drain(home)
    assert (list(here.job(job).slots), here.job(job).generation) == ([elsewhere], 2)
    assert {worker.generation for worker in here.workers(job)} == {1}

    here.engine.return_node(home)
    here.settle()

    assert {worker.generation for worker in here.workers(job)} == {2}


def test_workers_that_were_ordered_on_a_lost_node_keep_nobody_waiting() -> None:
    here = Platform(TWO)
    here.settle()
    for node in TWO:
        here.engine.lose_node(node)
    job = here.submit()
    home = next(iter(here.job(job).slots))
    (elsewhere,) = TWO.keys() - {home}
    here.engine.return_node(elsewhere)
    here.pass_time(20.0)

    assert (here.phase(job), list(here.job(job).slots)) == (P.RUNNING, [elsewhere])


def test_a_new_controller_does_not_stop_workers_that_were_started_in_order() -> None:
    here = Platform(TWO)
    job = here.submit(min_workers=8, max_workers=8, curve={8: 8.0}, start=StartOrder.ORDERED)
    started = list(here.engine.started)
    assert len(started) == 8
    here.engine.reopen()
    here.new_controller()
    here.settle()
    here.engine.return_node("노드-1")  # the one with the higher ranks is heard of first
    here.settle()
    here.engine.return_node("node-0")
    here.settle()

    assert (here.phase(job), here.engine.started, len(here.workers(job))) == (P.RUNNING, started, 8)


def test_every_job_on_a_node_gets_a_port_of_its_own() -> None:
    here = Platform({"node-0": 8})
    jobs = [here.submit(f"작업 {k}", max_workers=1, settle=False) for k in range(8)]
    here.settle()

    assert len({here.job(job).port for job in jobs}) == 8
