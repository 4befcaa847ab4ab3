"""Guests: two jobs on one slot where both have agreed, and nobody else is the worse for it."""

from __future__ import annotations

import pytest
from tests.live.houses import a_house, a_lone_job, one_worker, with_gpus

from tenuto.model.job import Member
from tenuto.model.phase import Phase, PromiseState
from tenuto.settings import Sharing

P = Phase


def test_two_jobs_that_share_are_on_one_slot_whose_memory_suffices() -> None:
    here = with_gpus(0.4)
    holder = one_worker(here, "holder")

    guest = one_worker(here, "손님")

    job = here.job(guest)
    assert (job.phase, job.slots, job.seats) == (P.RUNNING, {}, {"노드-0": (0,)})
    assert here.job(holder).slots == {"노드-0": (0,)}
    assert len(here.workers(holder)) == len(here.workers(guest)) == 1
    scaled = [event for event in here.events(job=guest) if event.kind == "scaled"]
    assert [(event.before, event.after, event.reason) for event in scaled] == [
        ("", "노드-0:1", f"starts as a guest of job {holder} on 노드-0:1")
    ]


def test_a_slot_whose_memory_is_in_use_takes_no_guest_and_the_reason_is_told_once() -> None:
    here = with_gpus(0.6)
    one_worker(here, "holder")

    guest = one_worker(here, "손님")

    job = here.job(guest)
    assert (job.phase, job.why) == (P.QUEUED, "memory_in_use")
    assert job.message == (
        "waits for slots; 60% of the memory is in use on slot 0 of 노드-0, and a guest may come below 50%"
    )
    here.engine.use_memory("노드-0", 0.62)
    revision = here.store.revision()
    here.settle()
    assert here.store.revision() == revision
    here.engine.use_memory("노드-0", 0.3)
    here.settle()
    assert here.phase(guest) is P.RUNNING


def test_what_nobody_can_tell_of_a_gpu_is_no_yes() -> None:
    here = with_gpus(None)
    one_worker(here, "holder")

    assert here.job(one_worker(here, "손님")).why == "memory_unknown"


def test_memory_tells_nothing_before_those_on_the_gpu_have_run_for_a_while() -> None:
    here = with_gpus(0.0, sharing=Sharing(settle=30.0))
    one_worker(here, "holder")
    guest = one_worker(here, "손님")
    assert here.job(guest).why == "not_settled"

    here.pass_time(29.0)
    assert here.phase(guest) is P.QUEUED
    here.pass_time(1.0)

    assert here.phase(guest) is P.RUNNING


def test_on_cpu_shares_the_number_alone_decides() -> None:
    here = a_house({"node-0": 1}, sharing=Sharing(jobs=3))
    jobs = [one_worker(here, f"job {number}") for number in range(4)]

    assert [here.phase(job) for job in jobs] == [P.RUNNING] * 3 + [P.QUEUED]
    assert (
        here.job(jobs[3]).message == "waits for slots; on each slot that is shared there are 3 jobs already"
    )


@pytest.mark.parametrize(("holder_shares", "guest_shares"), [(True, False), (False, True), (False, False)])
def test_both_must_have_agreed(holder_shares: bool, guest_shares: bool) -> None:
    here = a_house({"node-0": 1})
    one_worker(here, "holder", share=holder_shares)

    assert here.phase(one_worker(here, "손님", share=guest_shares)) is P.QUEUED


def test_sharing_can_be_turned_off() -> None:
    here = a_house({"node-0": 1}, sharing=Sharing(jobs=1))
    one_worker(here, "holder")

    assert here.phase(one_worker(here, "손님")) is P.QUEUED


def test_a_job_with_a_deadline_neither_has_guests_nor_is_one() -> None:
    here = a_house({"node-0": 1})
    promised = one_worker(here, "promised", deadline=150.0)
    waiting = one_worker(here, "손님")
    assert here.job(promised).promise is PromiseState.HOLDS
    assert here.phase(waiting) is P.QUEUED


def test_a_guest_gets_out_of_the_way_of_a_promise() -> None:
    here = a_house({"node-0": 1})
    holder, guest = one_worker(here, "holder", steps=10_000.0), one_worker(here, "손님", steps=10_000.0)
    here.engine.slow_stopping(float("inf"))

    promised = one_worker(here, "promised", share=False, deadline=110.0)

    assert here.job(promised).promise is PromiseState.HOLDS
    assert (here.phase(holder), here.phase(guest)) == (P.QUEUED, P.QUEUED)
    assert here.job(guest).message == f"makes room for job {promised}; waits"
    assert here.workers(promised) == []
    here.engine.slow_stopping(0.0)
    here.engine.finish_stopping()
    here.settle()
    assert here.phase(promised) is P.RUNNING
    here.exit(promised)
    assert {here.phase(holder), here.phase(guest)} == {P.RUNNING}


def test_a_guest_moves_to_slots_of_its_own_as_soon_as_the_policy_gives_them() -> None:
    here = a_house({"node-0": 1})
    one_worker(here, "holder", steps=10_000.0)
    guest = one_worker(here, "손님", steps=10_000.0)

    here.engine.add_node("노드-1", 1)
    here.settle()

    job = here.job(guest)
    assert (job.phase, job.slots, job.seats) == (P.RUNNING, {"노드-1": (0,)}, {})
    assert here.walk(guest)[-3:] == ["running", "rescaling", "running"]


def test_the_last_guest_becomes_the_holder_without_a_restart() -> None:
    here = a_house({"node-0": 1})
    holder, guest = one_worker(here, "holder"), one_worker(here, "손님")
    (worker,) = here.workers(guest)

    here.exit(holder)

    job = here.job(guest)
    assert (job.phase, job.slots, job.seats) == (P.RUNNING, {"node-0": (0,)}, {})
    assert here.workers(guest) == [worker]
    third = one_worker(here, "third")
    assert here.job(third).seats == {"node-0": (0,)}


def test_the_time_as_a_guest_counts_as_run_but_not_as_slots_held() -> None:
    here = a_house({"node-0": 1})
    holder, guest = one_worker(here, "holder"), one_worker(here, "손님", steps=10_000.0)
    here.pass_time(30.0)
    here.exit(holder)
    assert here.job(guest).slots

    here.pass_time(20.0)
    here.wish(guest, pause=True)

    job = here.job(guest)
    assert (job.ran_for, job.slot_seconds) == pytest.approx((50.0, 20.0))


def test_a_guest_of_several_workers_has_its_smallest_size_on_one_node_if_that_is_possible() -> None:
    here = a_house({"node-0": 1, "노드-1": 2})
    for slot in range(3):
        one_worker(here, f"holder {slot}", steps=10_000.0)

    guest = here.submit("손님", min_workers=2, max_workers=4, share=True)

    assert here.job(guest).seats == {"노드-1": (0, 1)}


def test_a_guest_that_rescales_in_place_takes_its_state_with_it_to_its_own_slot() -> None:
    here = a_house({"node-0": 1})
    one_worker(here, "holder", steps=10_000.0)
    guest = one_worker(here, "손님", steps=10_000.0, strategy="allreduce")
    assert here.job(guest).members == (Member(born=1, rank=0, node="node-0", slot=0),)

    here.engine.add_node("노드-1", 1)
    here.settle()

    job = here.job(guest)
    assert (job.phase, job.slots, job.since) == (P.RUNNING, {"노드-1": (0,)}, 1)
    assert here.workers(guest)[0].generation > 1


def test_a_deadline_for_the_holder_sends_the_guest_away() -> None:
    here = a_house({"node-0": 1})
    holder, guest = one_worker(here, "holder"), one_worker(here, "손님")

    here.wish(holder, deadline=here.clock.now + 500.0)

    assert here.job(holder).promise is PromiseState.HOLDS
    assert (here.phase(guest), here.job(guest).why) == (P.QUEUED, "made_room")


def test_a_guest_is_paused_cancelled_drained_and_lost_like_any_job() -> None:
    here = a_house({"node-0": 1, "노드-1": 1})
    for number in range(2):
        one_worker(here, f"holder {number}", steps=10_000.0)
    guest = one_worker(here, "손님", steps=10_000.0)

    here.wish(guest, pause=True)
    assert (here.phase(guest), here.job(guest).seats) == (P.PAUSED, {})
    here.wish(guest, pause=False)
    assert here.job(guest).seats == {"node-0": (0,)}

    here.engine.vanish(here.workers(guest)[0])
    here.settle()
    assert (here.phase(guest), here.job(guest).losses) == (P.RUNNING, 1)
    here.engine.lose_node("node-0", with_workers=True)
    here.pass_time(20.0)
    assert here.job(guest).seats.keys() | here.job(guest).slots.keys() <= {"노드-1"}
    here.wish(guest, cancel=True)
    assert here.phase(guest) is P.CANCELLED


def test_another_controller_takes_guests_over_without_a_second_start() -> None:
    here = a_house({"node-0": 1})
    holder, guest = one_worker(here, "holder"), one_worker(here, "손님")
    here.engine.reopen()
    here.new_controller()
    here.settle()
    here.engine.return_node("node-0")

    here.settle()

    assert (here.phase(holder), here.phase(guest)) == (P.RUNNING, P.RUNNING)
    assert len(here.engine.started) == 2


def test_nothing_is_written_while_guests_are_there() -> None:
    here = a_house({"node-0": 1})
    for number in range(3):
        one_worker(here, f"job {number}", steps=None)
    a_lone_job(here)
    revision = here.store.revision()

    here.pass_time(1.0)

    assert here.store.revision() == revision
