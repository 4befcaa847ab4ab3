"""What one supervisor makes of what the others say: silence, restarts, a change of who leads."""

from __future__ import annotations

from dataclasses import replace

from tenuto.engines.supervisor.crews.job import CrewJob
from tenuto.engines.supervisor.crews.notes import Note
from tenuto.engines.supervisor.crews.seats import Seat
from tenuto.engines.supervisor.crews.words import Word
from tenuto.wire.membership import Member, Membership
from tenuto.wire.status import Stage, Status
from tenuto.wire.worker import CrewOrder, WorkerId

HERE, THERE = "여기", "tam"
NEAR, FAR = (WorkerId("j", 1, "worker", rank) for rank in range(2))


def an_order(*members: WorkerId, lead: str = HERE, plan: int = 1) -> CrewOrder:
    peers = {HERE: "127.0.0.1:1", THERE: "127.0.0.1:2"}
    return CrewOrder(
        job="j", plan=plan, members=members, lead=lead, peers=peers, hosts={HERE: "a", THERE: "b"}
    )


def a_seat(stage: Stage, *, since: float = 0.0, generation: int = 1, node: str = HERE) -> Seat:
    status = Status(stage=stage, since=since, generation=generation, port=7)
    return Seat(node=node, host="a", status=status)


def a_word(number: int, *, session: str = "s", **seats: Seat) -> Word:
    told = {str(FAR): seat for seat in seats.values()}
    return Word(job="j", node=THERE, session=session, number=number, address="127.0.0.1:9", seats=told)


def a_membership(*workers: WorkerId, generation: int = 1) -> Membership:
    nodes = {NEAR: HERE, FAR: THERE}
    members = tuple(Member(worker=str(w), node=nodes[w], host="a", port=7) for w in workers)
    return Membership(job="j", generation=generation, members=members, why="start")


def both_train(now: float = 0.0) -> CrewJob:
    """A job with a worker here and one there, that train together."""
    job = CrewJob.of(Note(an_order(NEAR, FAR), (a_membership(NEAR, FAR),)), HERE, now)
    job.hear(a_word(1, far=a_seat(Stage.MEETING, node=THERE)), now)
    return job


def test_one_that_has_just_begun_to_lead_listens_before_it_speaks() -> None:
    job = CrewJob(an_order(NEAR), 0.0, HERE)
    job.obey(an_order(NEAR), 0.0)
    ready = {str(NEAR): a_seat(Stage.READY, generation=0)}
    assert job.decide(ready, 0.1).membership is None

    job.hear(a_word(1, far=a_seat(Stage.TRAINING, generation=9, node=THERE)), 0.2)
    job.learn((a_membership(FAR, generation=9),), 0.2)
    decision = job.decide(ready, 0.3)

    assert decision.membership is not None
    assert (decision.membership.generation, decision.membership.why) == (10, "grow")


def test_one_that_leads_does_not_wait_for_ever_for_a_node_that_is_silent() -> None:
    job = CrewJob(an_order(NEAR), 0.0, HERE)
    job.obey(an_order(NEAR), 0.0)
    ready = {str(NEAR): a_seat(Stage.READY, generation=0)}

    assert job.decide(ready, 0.0).look_again_at == 5.0
    assert job.decide(ready, 5.0).membership is not None


def test_one_that_follows_decides_nothing() -> None:
    job = CrewJob.of(Note(an_order(NEAR, lead=THERE)), HERE, 0.0)

    assert job.decide({str(NEAR): a_seat(Stage.READY, generation=0)}, 100.0).membership is None


def test_a_worker_that_its_own_node_does_not_know_any_more_is_lost() -> None:
    job = both_train()
    near = {str(NEAR): a_seat(Stage.MEETING)}
    assert job.decide(near, 1.0).membership is None

    job.hear(a_word(2), 2.0)
    decision = job.decide(near, 2.0)

    assert decision.membership is not None
    assert (decision.membership.workers, decision.membership.lost) == ((str(NEAR),), (str(FAR),))


def test_a_silent_node_does_no_harm_while_its_workers_train() -> None:
    job = both_train()

    assert job.decide({str(NEAR): a_seat(Stage.TRAINING, since=100.0)}, 100.0).membership is None


def test_a_silent_node_is_given_up_when_the_group_fell_apart() -> None:
    job = both_train()
    alone = {str(NEAR): a_seat(Stage.READY, since=6.0)}

    decision = job.decide(alone, 6.1)

    assert decision.membership is not None
    assert decision.membership.lost == (str(FAR),)


def test_a_silent_node_is_given_up_when_the_controller_wants_nothing_of_it() -> None:
    job = both_train()

    job.obey(an_order(NEAR, plan=2), 50.0)
    decision = job.decide({str(NEAR): a_seat(Stage.MEETING)}, 57.0)

    assert decision.membership is not None
    assert decision.membership.lost == (str(FAR),)


def test_an_older_word_does_not_undo_a_newer_one() -> None:
    job = both_train()
    job.hear(a_word(3), 1.0)
    assert not job.hear(a_word(2, far=a_seat(Stage.MEETING)), 1.1)

    assert job.decide({str(NEAR): a_seat(Stage.MEETING)}, 1.2).membership is not None


def test_one_that_came_back_elsewhere_is_found_and_told_everything_again() -> None:
    job = both_train()
    assert job.addresses[THERE] == "127.0.0.1:9"

    assert job.hear(replace(a_word(1, session="t"), address="127.0.0.1:10"), 1.0)

    assert job.addresses[THERE] == "127.0.0.1:10"
    job.obey(replace(an_order(NEAR, FAR, plan=2), peers={HERE: "", THERE: ""}), 2.0)
    assert job.addresses[THERE] == "127.0.0.1:10", "what the controller does not know is kept"


def test_how_a_worker_ended_is_told_for_as_long_as_somebody_may_wait_for_it() -> None:
    job = CrewJob.of(Note(an_order(FAR, lead=THERE), (a_membership(NEAR, FAR),)), HERE, 0.0)
    gone = replace(a_seat(Stage.LEAVING), alive=False, exit_code=143)
    job.with_ended({str(NEAR): gone})

    assert job.with_ended({}) == {str(NEAR): gone}
    job.learn((a_membership(FAR, generation=2),), 1.0)
    assert job.with_ended({}) == {}


def test_a_leaver_is_kept_until_a_membership_without_it_is_known() -> None:
    job = both_train()
    job.obey(an_order(FAR, lead=THERE, plan=2), 1.0)
    assert job.keeps(str(NEAR), 1.0)

    job.learn((a_membership(FAR, generation=2),), 1.0)

    assert not job.keeps(str(NEAR), 1.0)


def test_a_leaver_is_not_kept_for_ever() -> None:
    job = both_train()
    job.obey(an_order(FAR, lead=THERE, plan=2), 1.0)

    assert not job.keeps(str(NEAR), 61.0)
