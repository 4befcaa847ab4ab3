"""Nodes that come, go, fall silent, are drained or removed, and what that means for the jobs on them."""

from __future__ import annotations

from typing import Any

from tests.live.platform import Platform

from tenuto.model.job import Retry
from tenuto.model.node import NodeState
from tenuto.model.phase import Phase, PromiseState

P = Phase
TWO = {"node-0": 4, "노드-1": 4}


def state(here: Platform, node: str) -> NodeState:
    found = here.store.read(lambda tx: tx.node(node))
    assert found is not None
    return found.state


def test_a_node_is_recorded_when_it_is_first_heard_of() -> None:
    here = Platform(TWO)
    here.settle()

    nodes = here.store.read(lambda tx: tx.nodes())
    assert [(node.name, node.state, len(node.slots)) for node in nodes] == [
        ("node-0", NodeState.ONLINE, 4),
        ("노드-1", NodeState.ONLINE, 4),
    ]
    assert [event.reason for event in here.events(kind="node")] == ["joined with 4 slots"] * 2


def test_a_silent_node_goes_offline_and_its_jobs_go_on_elsewhere() -> None:
    here = Platform(TWO)
    jobs = [here.submit(max_workers=4, min_workers=4) for _ in range(2)]
    on_lost = next(job for job in jobs if "노드-1" in here.job(job).slots)
    stays = next(job for job in jobs if job != on_lost)
    here.engine.lose_node("노드-1")
    here.pass_time(15.0)
    assert state(here, "노드-1") is NodeState.ONLINE

    here.pass_time(0.1)

    assert state(here, "노드-1") is NodeState.OFFLINE
    assert (here.phase(on_lost), here.job(on_lost).losses) == (P.QUEUED, 1)
    assert (here.phase(stays), here.job(stays).generation) == (P.RUNNING, 1)
    here.exit(stays)
    assert (here.phase(on_lost), list(here.job(on_lost).slots)) == (P.RUNNING, ["node-0"])


def test_time_in_which_the_server_did_not_listen_counts_against_no_node() -> None:
    here = Platform()
    job = here.submit()
    here.engine.lose_node("node-0")
    here.pass_time(10.0)
    here.clock.now += 3600.0
    here.engine.stall(3600.0)
    here.settle()
    assert (state(here, "node-0"), here.phase(job)) == (NodeState.ONLINE, P.RUNNING)
    assert here.controller.next_look(here.clock.now) == here.clock.now + 5.0

    here.pass_time(5.1)

    assert state(here, "node-0") is NodeState.OFFLINE


def test_workers_on_a_node_that_comes_back_are_stopped_if_their_job_went_on_elsewhere() -> None:
    here = Platform(TWO)
    job = here.submit()
    home = next(iter(here.job(job).slots))
    here.engine.lose_node(home)
    here.pass_time(20.0)
    assert here.job(job).slots.keys() == TWO.keys() - {home}
    assert {worker.generation for worker in here.workers(job)} == {1, 2}, "nobody could tell the old ones"

    here.engine.return_node(home)
    here.settle()

    assert state(here, home) is NodeState.ONLINE
    assert {worker.generation for worker in here.workers(job)} == {2}
    assert (here.phase(job), here.job(job).generation) == (P.RUNNING, 2)


def test_a_job_that_lost_too_many_nodes_is_lost() -> None:
    here = Platform(TWO)
    job = here.submit(retry=Retry(losses=0))
    here.engine.lose_node(next(iter(here.job(job).slots)))
    here.pass_time(20.0)

    assert (here.phase(job), here.job(job).why) == (P.LOST, "workers_lost")


def test_a_new_controller_gives_nodes_time_to_be_heard_of() -> None:
    here = Platform(TWO)
    job = here.submit()
    home = next(iter(here.job(job).slots))
    here.clock.now += 3600.0
    here.engine.reopen()
    here.new_controller()
    here.settle()
    assert (here.phase(job), here.job(job).generation) == (P.RUNNING, 1)

    here.pass_time(14.0)
    here.engine.return_node(home)
    here.pass_time(14.0)

    assert (here.phase(job), here.job(job).generation, here.job(job).losses) == (P.RUNNING, 1, 0)
    assert len(here.engine.started) == 4
    (silent,) = TWO.keys() - {home}
    assert state(here, silent) is NodeState.OFFLINE


def test_exits_that_nobody_saw_are_seen_when_the_node_is_heard_of() -> None:
    here = Platform()
    job = here.submit(deadline=500.0)
    here.engine.reopen()
    here.clock.now += 30.0
    here.engine.end_job(job)
    here.clock.now += 600.0
    here.new_controller()
    here.settle()
    assert here.phase(job) is P.RUNNING
    here.engine.return_node("node-0")
    here.settle()

    done = here.job(job)
    assert (done.phase, done.ended_at, done.promise) == (P.SUCCEEDED, 1030.0, PromiseState.BROKEN)


def test_a_drained_node_keeps_no_worker_and_gets_none() -> None:
    here = Platform(TWO)
    job = here.submit(deadline=500.0)
    home = next(iter(here.job(job).slots))
    here.drain(home)

    moved = here.job(job)
    assert (moved.phase, moved.losses, moved.promise) == (P.RUNNING, 0, PromiseState.HOLDS)
    assert moved.slots.keys() == TWO.keys() - {home}
    assert all(seen.node != home for seen in here.engine.observe().workers.values())

    here.drain(home, NodeState.ONLINE)
    other = here.submit("inny", min_workers=4)
    assert list(here.job(other).slots) == [home]


def test_a_removed_node_is_forgotten_and_its_jobs_go_on_elsewhere() -> None:
    here = Platform(TWO)
    job = here.submit()
    home = next(iter(here.job(job).slots))

    def act(tx: Any) -> None:
        tx.remove_node(home)

    here.store.write(act)
    here.settle()

    assert home not in here.engine.observe().nodes
    assert here.store.read(lambda tx: tx.node(home)) is None
    assert (here.phase(job), here.job(job).losses) == (P.RUNNING, 0)
    assert here.job(job).slots.keys() == TWO.keys() - {home}


def test_the_next_generation_waits_for_workers_on_a_removed_node() -> None:
    here = Platform(TWO)
    here.engine.slow_stopping(float("inf"))
    job = here.submit()
    home = next(iter(here.job(job).slots))

    def act(tx: Any) -> None:
        tx.remove_node(home)

    here.store.write(act)
    here.settle()
    assert {worker.generation for worker in here.workers(job)} == {1}

    here.engine.finish_stopping()
    here.settle()

    assert {worker.generation for worker in here.workers(job)} == {2}


def test_no_round_is_run_before_enough_nodes_have_joined() -> None:
    here = Platform({"node-0": 4}, wait_nodes=2)
    job = here.submit()
    assert here.phase(job) is P.SUBMITTED

    here.engine.add_node("노드-1", 4)
    here.settle()

    assert here.phase(job) is P.RUNNING


def test_a_node_that_comes_back_smaller_holds_no_job_beyond_its_slots() -> None:
    here = Platform({"node-0": 4})
    job = here.submit(max_workers=4)
    here.engine.forget_node("node-0")
    here.engine.add_node("node-0", 2)
    here.settle()

    assert (here.phase(job), here.job(job).slots) == (P.RUNNING, {"node-0": (0, 1)})


def test_when_the_platform_is_shut_down_everything_stops_and_goes_on_at_the_next_start() -> None:
    here = Platform()
    job = here.submit(deadline=900.0)
    here.store.write(lambda tx: tx.set_meta("draining", True))
    here.settle()
    assert (here.phase(job), here.workers(job), here.job(job).why) == (P.QUEUED, [], "shutting_down")
    waits = here.submit("później")
    assert here.phase(waits) is P.SUBMITTED

    here.store.write(lambda tx: tx.set_meta("draining", False))
    here.new_controller()
    here.settle()

    assert (here.phase(job), here.job(job).promise) == (P.RUNNING, PromiseState.HOLDS)
