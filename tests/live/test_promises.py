"""What becomes of promises, and what is told about it."""

from __future__ import annotations

from tests.live.platform import Platform

from tenuto.model.job import Pin, Reply
from tenuto.model.phase import Phase, PromiseState

P = Phase
S = PromiseState
TWO = {"node-0": 4, "노드-1": 4}


def promises(here: Platform, job: str) -> list[str]:
    return [event.after for event in here.events(job=job, kind="promise")]


def test_a_promise_that_a_lost_node_makes_impossible_is_at_risk_and_then_broken() -> None:
    here = Platform(TWO)
    job = here.submit(steps=640.0, deadline=100.0, max_workers=8, curve={1: 1.0, 4: 4.0, 8: 8.0})
    assert here.job(job).promise is S.HOLDS
    here.engine.lose_node("노드-1")
    here.pass_time(20.0)

    risk = here.job(job)
    assert (risk.phase, risk.promise) == (P.RUNNING, S.AT_RISK)
    assert risk.breach == "a node or its workers were lost (1 times)"
    here.pass_time(81.0)

    assert here.job(job).promise is S.BROKEN
    here.exit(job)
    assert (here.phase(job), here.job(job).promise) == (P.SUCCEEDED, S.BROKEN)
    assert promises(here, job) == ["holds", "at_risk", "broken"]


def test_a_promise_at_risk_holds_again_when_the_node_comes_back() -> None:
    here = Platform(TWO)
    job = here.submit(steps=640.0, deadline=130.0, max_workers=8, curve={1: 1.0, 4: 4.0, 8: 8.0})
    here.engine.lose_node("노드-1")
    here.pass_time(20.0)
    assert here.job(job).promise is S.AT_RISK

    here.engine.return_node("노드-1")
    here.settle()

    assert here.job(job).promise is S.HOLDS


def test_a_job_slower_than_its_curve_is_noticed_by_what_it_reports() -> None:
    here = Platform()
    job = here.submit(steps=400.0, deadline=120.0)
    for _ in range(4):
        here.clock.now += 20.0
        here.engine.report(here.workers(job)[0], 1.0 + here.clock.now - 1000.0)
        here.settle()

    late = here.job(job)
    assert (late.promise, late.breach) == (S.AT_RISK, "slower than its curve")


def test_a_pin_that_was_forced_breaks_the_promise_with_its_cause() -> None:
    here = Platform()
    job = here.submit(steps=400.0, deadline=120.0)
    here.wish(job, pin=Pin(workers=1))

    pinned = here.job(job)
    assert (pinned.phase, pinned.workers) == (P.RUNNING, 1)
    assert pinned.promise in (S.AT_RISK, S.BROKEN)
    assert pinned.breach == "forced by zofia: pinned to 1 worker"


def test_a_pin_that_the_promise_can_bear_keeps_it() -> None:
    here = Platform()
    job = here.submit(steps=100.0, deadline=500.0)
    here.wish(job, pin=Pin(workers=1))

    assert (here.job(job).workers, here.job(job).promise) == (1, S.HOLDS)
    here.wish(job, pin=None)
    assert (here.job(job).workers, here.job(job).promise) == (4, S.HOLDS)


def test_a_pin_may_ask_for_a_size_that_was_never_measured() -> None:
    here = Platform()
    job = here.submit(steps=100.0)
    here.wish(job, pin=Pin(workers=3))

    pinned = here.job(job)
    assert (pinned.workers, pinned.progress.speed) == (3, 3.0)


def test_a_later_deadline_is_promised_at_once() -> None:
    here = Platform()
    job = here.submit(steps=400.0, deadline=120.0)
    here.wish(job, deadline=here.clock.now + 240.0)

    later = here.job(job)
    assert later.contract is not None
    assert (later.promise, later.contract.promised, later.generation) == (S.HOLDS, 1240.0, 1)


def test_an_earlier_deadline_is_promised_if_it_can_be() -> None:
    here = Platform()
    job = here.submit(steps=400.0, deadline=600.0)
    here.wish(job, deadline=here.clock.now + 120.0)

    sooner = here.job(job)
    assert sooner.contract is not None
    assert (sooner.phase, sooner.promise, sooner.contract.promised) == (P.RUNNING, S.HOLDS, 1120.0)
    assert sooner.contract.reply is Reply.ADMITTED


def test_an_earlier_deadline_that_cannot_be_promised_leaves_the_old_promise() -> None:
    here = Platform()
    job = here.submit(steps=400.0, deadline=600.0)
    here.wish(job, deadline=here.clock.now + 50.0)

    same = here.job(job)
    assert same.contract is not None
    assert (same.deadline, same.contract.promised, same.promise) == (1600.0, 1600.0, S.HOLDS)
    assert (same.phase, same.generation) == (P.RUNNING, 1)
    assert any("cannot be promised" in event.reason for event in here.events(job=job, kind="verdict"))


def test_a_deadline_may_be_asked_for_later() -> None:
    here = Platform()
    job = here.submit(steps=400.0)
    here.wish(job, deadline=here.clock.now + 300.0)
    assert (here.job(job).promise, here.phase(job)) == (S.HOLDS, P.RUNNING)

    other = here.submit("inny", steps=400.0)
    here.wish(other, deadline=here.clock.now + 10.0)

    assert (here.job(other).deadline, here.job(other).promise) == (None, S.NONE)
    assert here.phase(other) in (P.RUNNING, P.QUEUED)


def test_a_deadline_that_is_taken_back_withdraws_the_promise() -> None:
    here = Platform()
    job = here.submit(steps=400.0, deadline=300.0)
    here.wish(job, deadline=None)

    assert (here.job(job).promise, here.phase(job)) == (S.WITHDRAWN, P.RUNNING)


def test_a_promise_is_withdrawn_by_cancelling_and_broken_by_failing() -> None:
    here = Platform()
    cancelled = here.submit(deadline=900.0, max_workers=1)
    failed = here.submit(deadline=900.0, max_workers=1)
    here.wish(cancelled, cancel=True)
    here.exit(failed, 1)

    assert here.job(cancelled).promise is S.WITHDRAWN
    assert (here.job(failed).promise, here.job(failed).breach) == (
        S.BROKEN,
        "worker 0 on node-0 ended with exit code 1",
    )


def test_promises_outlive_the_controller_and_a_change_to_a_policy_that_promises_too() -> None:
    here = Platform()
    job = here.submit(steps=400.0, deadline=120.0)
    here.new_controller()
    refused = here.submit("inny", steps=400.0, deadline=120.0)
    assert (here.job(job).promise, here.phase(refused)) == (S.HOLDS, P.DECLINED)

    here.set_policy("edf-admission", start_cost=0.0, rescale_cost=0.0, margin=0.0, interval=0.0)
    here.settle()
    again = here.submit("jeszcze", steps=400.0, deadline=120.0)

    assert (here.job(job).promise, here.phase(again)) == (S.HOLDS, P.DECLINED)


def test_a_policy_without_promises_says_so_and_estimates() -> None:
    here = Platform(policy="fifo")
    job = here.submit(steps=400.0, deadline=500.0)

    answer = here.job(job).contract
    assert answer is not None
    assert (answer.reply, answer.promised, answer.expected) == (Reply.QUEUED, None, 1100.0)
    assert "no promise is given" in answer.message
    assert here.job(job).promise is S.NONE


def test_a_job_whose_curve_is_measured_gets_its_firm_answer_afterwards() -> None:
    here = Platform()
    job = here.submit(steps=4000.0, deadline=3000.0, curve={}, auto=True, max_workers=2)
    answer = here.job(job).contract
    assert answer is not None
    assert (answer.reply, here.phase(job)) == (Reply.MEASURING, P.RUNNING)
    step = 0.0
    for _ in range(60):
        here.clock.now += 1.0
        workers = here.workers(job)
        step += 2.0 * len(workers)
        if workers:
            here.engine.report(workers[0], step)
        here.settle()
        firm = here.job(job).contract
        if firm is not None and firm.reply is Reply.ADMITTED:
            break

    measured = here.job(job)
    assert (measured.promise, sorted(measured.curve)) == (S.HOLDS, [1, 2])
    assert measured.phase is P.RUNNING
