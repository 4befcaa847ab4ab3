"""Jobs that rescale in place: who stays keeps its worker, whatever happens to the others."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest
from tests.live.platform import Platform

from tenuto.engines.launch import member_ids
from tenuto.model.job import Pin, Retry, StartOrder
from tenuto.model.node import NodeState
from tenuto.model.phase import Phase
from tenuto.wire.worker import CrewOrder, WorkerId

P = Phase
TWO = {"node-0": 4, "노드-1": 4}


def training(here: Platform, workers: int = 2, **spec: Any) -> str:
    """A job on so many workers that may have up to four."""
    job = here.submit("모델", steps=None, strategy="allreduce", settle=False, **spec)
    here.wish(job, pin=Pin(workers=workers))
    assert here.phase(job) is P.RUNNING
    return job


def members(here: Platform, job: str) -> tuple[WorkerId, ...]:
    return member_ids(here.job(job))


def crew(here: Platform, job: str) -> CrewOrder:
    (order,) = [one for one in here.engine._together if one.job == job]
    return order


def seen(here: Platform, job: str) -> dict[WorkerId, tuple[int | None, str]]:
    found = here.engine.observe().workers.values()
    return {one.id: (one.generation, one.stage) for one in found if one.id.job == job}


# growing and shrinking


def test_the_first_workers_train_together_in_the_generation_of_the_plan() -> None:
    here = Platform()
    job = training(here)

    assert members(here, job) == (WorkerId(job, 1, "worker", 0), WorkerId(job, 1, "worker", 1))
    assert seen(here, job) == dict.fromkeys(members(here, job), (1, "training"))
    order = crew(here, job)
    assert (order.plan, order.members, order.lead) == (1, members(here, job), "node-0")
    assert order.hosts == {"node-0": "127.0.0.1"}
    assert order.peers == {"node-0": "127.0.0.1:29400"}


def test_who_stays_keeps_its_worker_when_the_job_grows() -> None:
    here = Platform()
    job = training(here)
    before = members(here, job)

    here.wish(job, pin=Pin(workers=4))

    after = members(here, job)
    assert after[:2] == before
    assert [(worker.generation, worker.rank) for worker in after[2:]] == [(2, 2), (2, 3)]
    assert here.walk(job)[-2:] == ["rescaling", "running"]
    assert list(here.engine.started) == list(after)
    assert set(seen(here, job).values()) == {(2, "training")}


def test_a_job_is_rescaling_until_all_its_members_train_together() -> None:
    here = Platform()
    job = training(here)
    here.engine.hold_starts()
    here.wish(job, pin=Pin(workers=4))
    assert here.phase(job) is P.RESCALING
    assert seen(here, job)[members(here, job)[0]] == (1, "training"), "the others go on meanwhile"

    here.engine.slow_forming(inf)
    here.engine.release_starts()
    here.settle()
    assert here.phase(job) is P.RESCALING

    here.engine.finish_forming()
    here.settle()
    assert here.phase(job) is P.RUNNING


def test_who_leaves_is_not_replaced_and_who_stays_keeps_its_worker_when_the_job_shrinks() -> None:
    here = Platform()
    job = training(here, 4)
    before = members(here, job)

    here.wish(job, pin=Pin(workers=1))

    assert len(members(here, job)) == 1
    assert set(members(here, job)) <= set(before)
    assert here.workers(job) == list(members(here, job))
    assert here.phase(job) is P.RUNNING
    assert len(here.engine.started) == 4


def test_a_slot_that_is_given_up_and_taken_again_gets_a_new_worker() -> None:
    here = Platform()
    job = training(here, 2)
    first = members(here, job)
    here.wish(job, pin=Pin(workers=1))
    here.wish(job, pin=Pin(workers=2))

    assert members(here, job)[0] == first[0]
    assert members(here, job)[1] not in first
    assert len(set(here.engine.started)) == len(here.engine.started) == 3


def test_a_plan_that_is_taken_back_before_anybody_followed_it_leaves_the_job_running() -> None:
    here = Platform()
    job = training(here, 2)
    here.engine.hold_starts()
    here.wish(job, pin=Pin(workers=4))
    here.wish(job, pin=Pin(workers=2))

    assert here.phase(job) is P.RUNNING
    assert set(seen(here, job).values()) == {(1, "training")}
    assert here.job(job).generation == 3


def test_workers_on_two_nodes_are_led_by_the_node_of_the_first() -> None:
    here = Platform(TWO)
    job = training(here, 2, min_workers=1, max_workers=8)
    here.wish(job, pin=Pin(workers=8))

    order = crew(here, job)
    assert order.hosts.keys() == order.peers.keys() == TWO.keys()
    assert order.lead == here.job(job).members[0].node
    assert len(order.members) == 8


def test_a_job_that_moves_as_a_whole_keeps_its_old_workers_until_the_new_ones_train() -> None:
    here = Platform(TWO)
    job = training(here, 2)
    (home,) = here.job(job).slots
    (elsewhere,) = TWO.keys() - {home}
    here.engine.hold_starts()

    here.wish(job, pin=Pin(workers=2, nodes={elsewhere: 2}))

    assert crew(here, job).lead == elsewhere
    assert crew(here, job).hosts.keys() == TWO.keys()
    here.engine.release_starts()
    here.settle()
    assert here.phase(job) is P.RUNNING
    assert here.workers(job) == sorted(members(here, job))
    assert list(here.job(job).slots) == [elsewhere]


def test_workers_that_start_in_order_do_so_when_the_job_grows_too() -> None:
    here = Platform()
    job = training(here, 2, start=StartOrder.ORDERED)

    here.wish(job, pin=Pin(workers=4))

    assert list(here.engine.started) == list(members(here, job))
    assert here.phase(job) is P.RUNNING


# losses


@pytest.mark.parametrize("how", ["killed", "vanished"])
def test_a_lost_worker_is_replaced_in_its_slot_and_the_others_go_on(how: str) -> None:
    here = Platform()
    job = training(here, 4)
    before = members(here, job)
    slots = here.job(job).slots

    if how == "killed":
        here.engine.kill_worker(before[1])
    else:
        here.engine.vanish(before[1])
    here.settle()

    after = members(here, job)
    assert after[:3] == (before[0], before[2], before[3])
    assert after[3] not in before
    assert (here.phase(job), here.job(job).slots) == (P.RUNNING, slots)
    assert here.walk(job)[-2:] == ["rescaling", "running"]
    (lost,) = here.events(job=job, kind="worker")
    assert (lost.node, lost.after, lost.data["worker"]) == ("node-0", "lost", str(before[1]))
    assert ("killed by signal 9" if how == "killed" else "vanished") in lost.reason


def test_what_the_leading_node_did_on_its_own_is_taken_over_and_no_trouble() -> None:
    here = Platform()
    job = training(here, 3, min_workers=1)
    killed = members(here, job)[0]

    here.engine.kill_worker(killed)
    assert {generation for generation, _ in seen(here, job).values()} == {1, 2}, "nobody waited for a tick"
    here.settle()

    assert here.phase(job) is P.RUNNING
    assert here.job(job).generation == max(generation or 0 for generation, _ in seen(here, job).values()) == 3
    assert here.job(job).losses == 1


def test_the_last_worker_that_is_killed_is_started_again_from_the_checkpoint() -> None:
    here = Platform()
    job = training(here, 1)
    (before,) = members(here, job)

    here.engine.kill_worker(before)
    here.settle()

    (after,) = members(here, job)
    assert after != before
    assert here.walk(job)[-4:] == ["running", "queued", "starting", "running"]
    assert here.job(job).since == after.generation


def test_a_program_that_ends_with_an_error_fails_as_ever() -> None:
    here = Platform()
    job = training(here, 2)

    here.engine.exit_worker(members(here, job)[1], 3)
    here.settle()

    assert (here.phase(job), here.job(job).exit_code) == (P.FAILED, 3)
    assert here.workers(job) == []


def test_a_program_that_may_fail_is_started_anew_as_a_whole() -> None:
    here = Platform()
    job = training(here, 2, retry=Retry(failures=1))
    before = members(here, job)

    here.engine.exit_worker(before[0], 1)
    here.settle()
    assert (here.phase(job), here.workers(job)) == (P.STARTING, [])
    here.pass_time(1.0)

    assert here.phase(job) is P.RUNNING
    assert not set(before) & set(members(here, job))


def test_a_worker_over_its_memory_is_a_failure_and_not_a_loss() -> None:
    here = Platform()
    job = training(here, 2)

    here.engine.run_out_of_memory(members(here, job)[0])
    here.settle()

    assert (here.phase(job), here.job(job).why) == (P.FAILED, "out_of_memory")


def test_losses_are_counted_only_while_there_is_no_progress_in_between() -> None:
    here = Platform()
    job = training(here, 2, retry=Retry(losses=1))
    for step in (10.0, 20.0, 30.0):
        for worker in members(here, job):
            here.engine.report(worker, step)
        here.engine.kill_worker(members(here, job)[1])
        here.settle()
        assert (here.phase(job), here.job(job).lost_in_a_row) == (P.RUNNING, 1)

    here.engine.kill_worker(members(here, job)[1])
    here.settle()

    assert here.phase(job) is P.LOST
    assert here.workers(job) == []


def test_a_lost_node_leaves_the_job_to_the_others() -> None:
    here = Platform(TWO)
    job = training(here, 4, min_workers=1, max_workers=8)
    here.wish(job, pin=Pin(workers=6))
    before = here.job(job)
    here.wish(job, pin=None, settle=False)
    here.engine.lose_node("노드-1", with_workers=True)

    here.pass_time(20.0)

    after = here.job(job)
    assert after.phase is P.RUNNING
    assert list(after.slots) == ["node-0"]
    stayed = {member for member in before.members if member.node == "node-0"}
    assert stayed <= set(after.members)
    assert [event.reason for event in here.events(job=job, kind="worker")] == ["node 노드-1 is lost"]


def test_too_few_survivors_wait_for_slots_and_start_from_the_checkpoint() -> None:
    here = Platform(TWO)
    job = training(here, 8, min_workers=8, max_workers=8, curve={8: 8.0})
    here.engine.lose_node("노드-1", with_workers=True)

    here.pass_time(20.0)

    assert (here.phase(job), here.workers(job)) == (P.QUEUED, [])
    here.engine.return_node("노드-1")
    here.settle()
    assert here.phase(job) is P.RUNNING


def test_a_drained_node_is_left_in_place() -> None:
    here = Platform(TWO)
    job = training(here, 4, min_workers=1, max_workers=8)
    here.wish(job, pin=Pin(workers=8))
    before = here.job(job)
    here.wish(job, pin=None)

    here.drain("노드-1")

    after = here.job(job)
    assert (after.phase, list(after.slots), after.losses) == (P.RUNNING, ["node-0"], 0)
    assert {member for member in before.members if member.node == "node-0"} == set(after.members)
    assert "queued" not in here.walk(job)[2:]


def test_a_job_on_a_drained_node_moves_without_a_new_start_if_its_last_worker_leaves_with_it() -> None:
    here = Platform(TWO)
    job = training(here, 1)
    (home,) = here.job(job).slots

    here.drain(home)

    assert here.phase(job) is P.RUNNING
    assert list(here.job(job).slots) != [home]


# the end


def test_the_job_is_done_when_all_who_trained_have_ended_though_a_newcomer_never_joined() -> None:
    here = Platform()
    job = training(here, 2)
    old = members(here, job)
    here.engine.hold_starts()
    here.wish(job, pin=Pin(workers=4))

    for worker in old:
        here.engine.exit_worker(worker, 0)
        here.settle()

    assert here.phase(job) is P.SUCCEEDED
    assert here.workers(job) == []


def test_the_job_is_not_done_as_long_as_one_who_trained_has_not_ended() -> None:
    here = Platform()
    job = training(here, 2)
    first, second = members(here, job)

    here.engine.exit_worker(first, 0)
    here.settle()
    assert here.phase(job) is P.RUNNING

    here.engine.exit_worker(second, 0)
    here.settle()
    assert here.phase(job) is P.SUCCEEDED


def test_a_worker_that_is_killed_while_the_others_finish_brings_the_job_back_to_its_checkpoint() -> None:
    here = Platform()
    job = training(here, 2)
    first, second = members(here, job)
    here.engine.exit_worker(second, 0)

    here.engine.kill_worker(first)
    here.settle()

    assert here.phase(job) is P.RUNNING
    assert here.job(job).losses == 1
    assert not {first, second} & set(members(here, job))


def test_survivors_that_went_on_and_finished_while_no_controller_looked_have_finished_the_job() -> None:
    here = Platform()
    job = training(here, 3)
    first, *rest = members(here, job)
    here.engine.kill_worker(first)  # its group goes on without it
    for worker in rest:
        here.engine.exit_worker(worker, 0)

    here.new_controller()
    here.settle()

    assert here.phase(job) is P.SUCCEEDED


def test_a_job_that_moves_is_done_when_its_old_workers_finish_before_the_new_ones_are_there() -> None:
    here = Platform(TWO)
    job = training(here, 2)
    first, second = members(here, job)
    (home,) = here.job(job).slots
    (elsewhere,) = TWO.keys() - {home}
    here.engine.hold_starts()
    here.wish(job, pin=Pin(workers=2, nodes={elsewhere: 2}))
    here.engine.exit_worker(second, 0)
    here.settle()
    assert here.phase(job) is P.RESCALING

    here.engine.exit_worker(first, 0)
    here.settle()

    assert (here.phase(job), here.workers(job)) == (P.SUCCEEDED, [])
    assert not [one for one in here.attempts(job) if one.ended_at is None]


def test_who_takes_over_from_everybody_is_not_waited_for_for_ever() -> None:
    here = Platform(TWO)
    job = training(here, 2)
    old = members(here, job)
    (home,) = here.job(job).slots
    (elsewhere,) = TWO.keys() - {home}
    here.engine.hold_starts()
    here.wish(job, pin=Pin(workers=2, nodes={elsewhere: 2}))
    assert here.workers(job) == sorted(old)

    here.pass_time(30.0)
    assert here.workers(job) == []
    here.engine.release_starts()
    here.settle()

    assert (here.phase(job), here.workers(job)) == (P.RUNNING, sorted(members(here, job)))


# wishes


@pytest.mark.parametrize("wish", ["pause", "cancel"])
def test_all_are_told_to_leave_by_a_newer_order_without_members(wish: str) -> None:
    here = Platform()
    job = training(here, 2)
    before = crew(here, job).plan
    here.engine.slow_stopping(inf)

    here.wish(job, **{wish: True})

    order = crew(here, job)
    assert (order.members, order.lead) == ((), "node-0")
    assert order.plan > before
    here.engine.finish_stopping()
    here.settle()
    assert here.phase(job) is (P.PAUSED if wish == "pause" else P.CANCELLED)
    assert [one for one in here.engine._together if one.job == job] == []


def test_a_job_that_is_resumed_starts_as_a_whole_with_new_workers() -> None:
    here = Platform()
    job = training(here, 2)
    before = members(here, job)
    here.wish(job, pause=True)
    here.wish(job, pause=False)

    assert here.phase(job) is P.RUNNING
    assert not set(before) & set(members(here, job))
    assert here.job(job).since == members(here, job)[0].generation


def test_a_new_controller_wants_the_very_same_of_everybody() -> None:
    here = Platform(TWO)
    job = training(here, 2, min_workers=1, max_workers=8)
    here.wish(job, pin=Pin(workers=8))
    wanted, together, started = here.engine._wanted, here.engine._together, list(here.engine.started)

    here.engine.reopen()
    here.new_controller()
    here.settle()
    for node in TWO:
        here.engine.return_node(node)
        here.settle()

    assert (here.engine._wanted, here.engine._together) == (wanted, together)
    assert (here.phase(job), list(here.engine.started)) == (P.RUNNING, started)


# restart after so many


def test_after_so_many_changes_of_size_all_workers_are_started_anew_from_the_checkpoint() -> None:
    here = Platform(max_reconfigs_before_restart=2)
    job = training(here, 1)
    first = members(here, job)
    here.wish(job, pin=Pin(workers=2))
    second = members(here, job)
    assert second[0] == first[0]
    here.engine.report(second[0], 40.0)
    here.engine.slow_stopping(inf)

    here.wish(job, pin=Pin(workers=4))

    third = members(here, job)
    assert not set(third) & set(second)
    assert crew(here, job).members == (), "first all leave, after a checkpoint"
    assert not set(third) & set(here.engine.started)
    stop = crew(here, job).plan
    here.engine.finish_stopping()
    here.settle()
    assert (here.phase(job), here.workers(job)) == (P.RUNNING, list(third))
    assert crew(here, job).plan > stop
    here.engine.slow_stopping(0.0)

    here.wish(job, pin=Pin(workers=2))

    assert set(members(here, job)) < set(third), "the count begins anew"


def test_draining_and_using_a_node_again_leads_back_to_all_slots() -> None:
    here = Platform(TWO)
    job = training(here, 4, min_workers=1, max_workers=8, curve={1: 1.0, 2: 2.0, 4: 4.0, 8: 8.0})
    here.wish(job, pin=None)
    assert here.job(job).workers == 8
    stayed = {member for member in here.job(job).members if member.node == "node-0"}
    here.drain("노드-1")
    here.drain("노드-1", NodeState.ONLINE)

    assert (here.phase(job), here.job(job).workers) == (P.RUNNING, 8)
    assert stayed <= set(here.job(job).members)
