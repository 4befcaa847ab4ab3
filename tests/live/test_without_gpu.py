"""Jobs that ask for no GPU: places beside the slots, in turn, through everything that can happen to a job."""

from __future__ import annotations

from tests.live.houses import a_house, a_lone_job

from tenuto.model.job import Retry
from tenuto.model.phase import Phase
from tenuto.wire.worker import WorkerState

P = Phase


def test_it_runs_although_all_slots_are_taken() -> None:
    here = a_house({"node-0": 1})
    training = here.submit(max_workers=1, curve={1: 1.0}, deadline=150.0)

    lone = a_lone_job(here)

    job = here.job(lone)
    assert (job.phase, job.slots, job.seats) == (P.RUNNING, {}, {"node-0": (0,)})
    assert here.walk(lone) == ["submitted", "starting", "running"]
    assert job.contract is not None
    assert (job.contract.reply, job.contract.why) == ("queued", "no_slot_asked")
    assert here.job(training).slots == {"node-0": (0,)}
    (order,) = [order for order in here.engine._nodes["node-0"].wanted.values() if order.id.job == lone]
    assert (order.slot, order.env["CUDA_VISIBLE_DEVICES"]) == (None, "")


def test_one_place_each_node_and_the_next_in_turn_waits_with_the_reason() -> None:
    here = a_house({"node-0": 4})
    first, second, hurried = a_lone_job(here), a_lone_job(here), a_lone_job(here, urgent=True)
    here.wish(hurried, urgent=True)

    waits = here.job(second)
    assert (waits.phase, waits.why) == (P.QUEUED, "cpu_places_taken")
    assert waits.message == "waits for a place without a GPU: the only one is taken"

    here.exit(first)

    assert (here.phase(hurried), here.phase(second)) == (P.RUNNING, P.QUEUED)
    here.exit(hurried)
    assert (here.phase(hurried), here.phase(second)) == (P.SUCCEEDED, P.RUNNING)


def test_nothing_is_written_while_it_waits() -> None:
    here = a_house({"node-0": 4})
    for _ in range(3):
        a_lone_job(here)
    revision = here.store.revision()

    here.pass_time(1.0)

    assert here.store.revision() == revision


def test_several_workers_have_a_place_each_and_nobody_passes_them() -> None:
    here = a_house({"node-0": 1, "node-1": 1, "노드-2": 1})
    first, second = a_lone_job(here), a_lone_job(here)
    both = a_lone_job(here, workers=2)
    later = a_lone_job(here)

    assert (here.phase(both), here.phase(later)) == (P.QUEUED, P.QUEUED)

    here.exit(first)

    assert here.job(both).seats == {"node-0": (0,), "노드-2": (0,)}
    assert len(here.workers(both)) == 2
    here.exit(second)
    assert here.job(later).seats == {"node-1": (0,)}


def test_more_places_are_a_matter_of_the_settings_and_none_is_a_clear_no() -> None:
    here = a_house({"node-0": 1}, cpu_jobs=2)
    first, second = a_lone_job(here), a_lone_job(here)

    assert [here.job(job).seats for job in (first, second)] == [{"node-0": (0,)}, {"node-0": (1,)}]
    none = a_house({"node-0": 1}, cpu_jobs=0)
    refused = none.job(a_lone_job(none))
    assert (refused.phase, refused.why) == (P.UNSCHEDULABLE, "too_few_cpu_places")
    assert "needs 1 place without a GPU, there are 0 (nodes.cpu_jobs)" in refused.message


def test_who_is_bound_to_a_node_waits_for_that_one_and_others_pass() -> None:
    here = a_house({"node-0": 1, "노드-1": 1})
    first = a_lone_job(here, node="노드-1")
    bound, free = a_lone_job(here, node="노드-1"), a_lone_job(here)

    assert here.job(first).seats == {"노드-1": (0,)}
    assert here.job(bound).message == "waits for a place without a GPU on node 노드-1: the only one is taken"
    assert here.job(free).seats == {"node-0": (0,)}


def test_who_fits_nowhere_is_asked_again_when_a_node_joins() -> None:
    here = a_house({"node-0": 1})
    both = a_lone_job(here, workers=2)
    assert here.phase(both) is P.UNSCHEDULABLE

    here.engine.add_node("noch-einer", 1)
    here.settle()

    assert here.phase(both) is P.RUNNING


def test_a_place_is_free_when_its_worker_is_gone_for_certain() -> None:
    here = a_house({"node-0": 1})
    first, second = a_lone_job(here), a_lone_job(here)
    here.engine.slow_stopping(float("inf"))

    here.wish(first, cancel=True)

    assert here.phase(second) is P.QUEUED
    here.engine.finish_stopping()
    here.settle()
    assert (here.phase(first), here.phase(second)) == (P.CANCELLED, P.RUNNING)


def test_it_is_paused_resumed_drained_and_lost_like_any_job() -> None:
    here = a_house({"node-0": 1, "노드-1": 1})
    lone = a_lone_job(here)

    here.wish(lone, pause=True)
    assert (here.phase(lone), here.workers(lone), here.job(lone).seats) == (P.PAUSED, [], {})
    here.wish(lone, pause=False)
    assert here.phase(lone) is P.RUNNING

    here.drain("node-0")
    assert here.job(lone).seats == {"노드-1": (0,)}
    here.engine.lose_node("노드-1")
    here.pass_time(20.0)
    assert (here.phase(lone), here.job(lone).losses) == (P.QUEUED, 1) or here.phase(lone) is P.UNSCHEDULABLE
    here.engine.return_node("노드-1")
    here.settle()
    assert here.phase(lone) is P.RUNNING


def test_it_is_started_again_in_its_place_after_a_failure() -> None:
    here = a_house({"node-0": 1})
    lone = a_lone_job(here, retry=Retry(failures=1))

    here.exit(lone, 3)

    assert (here.phase(lone), here.job(lone).seats) == (P.STARTING, {"node-0": (0,)})
    here.pass_time(2.0)
    assert here.phase(lone) is P.RUNNING
    here.exit(lone, 3)
    assert (here.phase(lone), here.job(lone).exit_code) == (P.FAILED, 3)


def test_another_controller_takes_it_over_without_a_second_start() -> None:
    here = a_house({"node-0": 1})
    running, waiting = a_lone_job(here), a_lone_job(here)
    here.engine.reopen()
    here.new_controller()

    here.settle()

    assert (here.phase(running), here.phase(waiting)) == (P.RUNNING, P.QUEUED)
    here.engine.return_node("node-0")
    here.settle()
    assert len(here.engine.started) == 1
    (worker,) = here.engine.observe().workers.values()
    assert worker.state is WorkerState.RUNNING


def test_a_round_knows_nothing_of_it() -> None:
    here = a_house({"node-0": 1})
    training = here.submit(max_workers=1, curve={1: 1.0}, steps=100.0, deadline=150.0)
    before = here.store.read(lambda tx: tx.meta("memory"))

    lone = a_lone_job(here)
    here.exit(lone)

    assert here.store.read(lambda tx: tx.meta("memory")) == before
    assert here.job(training).promise == "holds"
