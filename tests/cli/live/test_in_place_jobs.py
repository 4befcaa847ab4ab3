"""What people see of jobs that rescale in place: members, generations, phases of a rescale, and logs across births."""

from __future__ import annotations

import time

import pytest
from tests.cli.live.site import Site, as_json, ok

from tenuto.cli import log_follow
from tenuto.model.event import Event
from tenuto.model.job import Member
from tenuto.model.phase import Phase

CREW = (
    Member(born=1, rank=1, node="노드-0", slot=1),
    Member(born=7, rank=1, node="노드-0", slot=0),
)


@pytest.fixture
def crew(site: Site) -> Site:
    site.add_job(
        "k1",
        "학습",
        phase=Phase.RESCALING,
        spec={"strategy": "allreduce"},
        slots={"노드-0": (0, 1)},
        members=CREW,
        generation=7,
    )
    site.add_attempt("k1", 1, generation=1, node="노드-0", joined=6, stage="training")
    site.add_attempt("k1", 1, generation=7, node="노드-0", slot=0, stage="ready")
    return site


def test_show_tells_who_trains_together_and_how_far_each_is(crew: Site) -> None:
    lines = [line.split() for line in ok("show", "학습").splitlines()]

    assert ["generation", "7"] in lines
    assert ["0", "1.worker.1", "노드-0", "1", "6", "training"] in lines
    assert ["1", "7.worker.1", "노드-0", "0", "-", "ready"] in lines
    assert as_json("show", "학습")["members"][1] == {
        "rank": 1,
        "worker": "k1.7.worker.1",
        "node": "노드-0",
        "slot": 0,
        "stage": "ready",
        "generation": 0,
    }


def test_a_list_counts_those_who_train(crew: Site) -> None:
    (line,) = [line for line in ok("ps").splitlines() if "k1" in line]

    assert "1/2" in line.split()


def test_a_member_that_has_not_begun_waits_and_one_that_is_gone_has_ended(crew: Site) -> None:
    crew.change("k1", members=(*CREW, Member(born=8, rank=2, node="노드-0", slot=2)))
    crew.exits("k1", 1, generation=7)

    assert [one["stage"] for one in as_json("show", "k1")["members"]] == ["training", "ended", "waiting"]


def test_a_rescale_is_told_with_its_phases(crew: Site) -> None:
    data = {"warm_up_ms": 912.4, "agree_ms": 3.2, "form_ms": 21.0, "transfer_ms": 14.9, "first_step_ms": 30.2}
    event = Event(
        kind="rescale",
        at=time.time(),
        actor="worker:k1.1.worker.1",
        job="k1",
        before="1",
        after="2",
        reason="grow: generation 7 from step 40 on, training paused for 44 ms",
        data=data,
    )
    crew.store.write(lambda tx: tx.add_event(event))

    told = " ".join(ok("events", "학습").split())

    assert (
        "paused for 44 ms (warm-up 912 ms, agree 3 ms, form 21 ms, transfer 15 ms, first step 30 ms)" in told
    )


def test_logs_of_workers_of_every_birth_are_shown_and_told_apart(crew: Site) -> None:
    crew.prints("k1", "a\n", 1, generation=1)
    crew.prints("k1", "b\n", 1, generation=7)

    assert ok("logs", "학습").splitlines() == ["worker/1.1 | a", "worker/7.1 | b"]
    assert ok("logs", "학습", "--generation", "7") == "b\n"
    assert ok("logs", "학습", "--tail", "1").splitlines() == ["worker/1.1 | a", "worker/7.1 | b"]


def test_who_stays_is_followed_through_all_generations(crew: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_follow, "LOOK_EVERY", 0.01)
    real, looks = log_follow.LogReader.read, iter(range(1000))

    def and_then(self: log_follow.LogReader, generation: int | None, *, tail: int | None = None) -> int:
        copied = real(self, generation, tail=tail)
        match next(looks):
            case 0:
                crew.prints("k1", "old goes on\n", 1, generation=1)
                crew.change("k1", generation=9)
                crew.prints("k1", "newcomer\n", 0, generation=9)
                crew.add_attempt("k1", 0, generation=9)
            case 1:
                for born, rank in ((1, 1), (7, 1), (9, 0)):
                    crew.exits("k1", rank, generation=born)
                crew.change("k1", phase=Phase.SUCCEEDED, slots={}, members=(), ended_at=time.time())
        return copied

    monkeypatch.setattr(log_follow.LogReader, "read", and_then)

    lines = ok("logs", "-f", "학습").splitlines()

    assert "worker/1.1 | old goes on" in lines
    assert "worker/9.0 | newcomer" in lines
    assert sum("Program exit with code 0" in line for line in lines) == 3
