"""Who trains together next: each rule as a story, and all of them under random orders, deaths and hangs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engines.supervisor.crews.company import Company, worker

from tenuto.wire.membership import Membership
from tenuto.wire.status import Stage

A, B, C, D = (worker(number) for number in range(4))


def training(*names: str) -> Company:
    """These train together."""
    company = Company()
    company.want(*names)
    company.settle()
    assert company.together == set(names)
    company.published.clear()
    return company


def issued(company: Company) -> list[tuple[str, tuple[str, ...]]]:
    return [(membership.why, membership.workers) for membership in company.published]


def test_a_start_waits_until_all_are_ready() -> None:
    company = Company()
    company.want(B, A)
    company.come(A)
    assert company.published == []

    company.come(B)

    assert issued(company) == [("start", (B, A))]


def test_a_start_goes_on_without_a_newcomer_that_died() -> None:
    company = Company()
    company.want(A, B)
    company.come(A)

    company.kill(B)

    assert issued(company) == [("start", (A,))]


def test_newcomers_join_when_all_of_them_are_ready_and_come_last() -> None:
    company = training(B, A)
    company.want(C, A, D, B)
    company.come(C)
    assert company.published == []

    company.come(D)

    assert issued(company) == [("grow", (B, A, C, D))]


def test_a_newcomer_that_is_ready_waits_only_so_long_for_another() -> None:
    company = training(A)
    company.want(A, B, C)
    company.come(B)

    company.wait(10.0)

    assert issued(company) == [("grow", (A, B))]


def test_a_shrink_waits_for_nobody() -> None:
    company = training(A, B, C)

    company.want(C, A, D)

    assert issued(company) == [("shrink", (A, C))]


def test_the_same_workers_again_change_nothing() -> None:
    company = training(A, B)

    company.want(B, A)
    company.settle()

    assert company.published == []


def test_a_move_takes_the_newcomers_in_before_the_old_ones_leave() -> None:
    company = training(A, B)

    company.want(C, D)
    company.come(C)
    assert company.published == []
    company.settle()

    assert issued(company) == [("grow", (A, B, C, D)), ("shrink", (C, D))]
    assert company.together == {C, D}
    assert company.actors[A].exit_code == 143


def test_a_move_whose_newcomers_take_too_long_goes_over_a_checkpoint() -> None:
    company = training(A)
    company.want(B)

    company.wait(30.0)
    assert issued(company) == [("stop", ())]
    company.come(B)
    assert issued(company) == [("stop", ())], "A has not saved its state yet"
    company.settle()

    assert issued(company) == [("stop", ()), ("start", (B,))]
    assert company.together == {B}


def test_if_nobody_is_wanted_all_leave_after_a_checkpoint() -> None:
    company = training(A, B)

    company.want()
    company.settle()

    assert issued(company) == [("stop", ())]
    assert {actor.exit_code for actor in company.actors.values()} == {143}


def test_a_loss_is_answered_at_once_by_those_who_are_left() -> None:
    company = training(A, B, C)

    company.kill(A)

    assert issued(company) == [("loss", (B, C))]
    assert company.published[0].lost == (A,)


def test_the_lost_are_told_for_every_generation_that_somebody_may_be_in() -> None:
    company = training(A, B)
    company.want(A, B, C)
    company.come(C)
    company.kill(C)
    company.kill(B)

    assert issued(company) == [("grow", (A, B, C)), ("loss", (A, B)), ("loss", (A,))]
    assert company.published[-1].lost == (B, C)


def test_a_leaver_that_is_killed_is_told_as_lost_to_those_who_wait_for_it() -> None:
    company = training(A, B)
    company.hang(B)
    company.want(A)
    assert issued(company) == [("shrink", (A,))]

    company.kill(B)

    assert company.published[-1].lost == (B,)
    company.settle()
    assert company.together == {A}


def test_a_leaver_that_left_in_peace_is_not_lost() -> None:
    company = training(A, B)

    company.want(A)
    company.settle()

    assert [membership.lost for membership in company.published] == [()]


def test_if_nobody_survives_the_replacements_start_anew() -> None:
    company = training(A, B)
    company.kill(A)
    company.kill(B)
    company.published.clear()

    company.want(A, B, C, D)
    company.settle()

    assert issued(company) == [("start", (C, D))]


def test_workers_that_finish_are_left_in_peace() -> None:
    company = training(A, B)
    company.want(A, B, C)

    company.kill(A, code=0)
    company.come(C)
    assert company.published == []
    company.kill(B, code=0)

    assert issued(company) == [("start", (C,))], "it finds nothing left to do"


def test_a_worker_that_hangs_is_killed_and_the_others_go_on() -> None:
    company = training(A, B, C)
    company.hang(B)

    company.wait(1.0)
    company.wait(4.0)
    assert company.actors[B].alive
    company.wait(6.0)

    assert company.actors[B].exit_code == 137
    company.settle()
    assert company.together == {A, C}


def test_a_worker_that_does_not_hear_of_a_loss_is_taken_for_hung() -> None:
    company = training(A, B, C)
    company.kill(A)
    company.actors[B].stage = Stage.MEETING
    company.actors[B].since = company.now
    company.actors[C].stage = Stage.FORMING
    company.actors[C].since = company.now

    company.wait(6.0)

    assert company.actors[B].exit_code == 137
    assert company.published[-1].workers == (C,)


@pytest.mark.parametrize("wanted", [(A,), (A, B, C), (C, D), ()])
def test_a_second_order_during_a_rescale_wins(wanted: Sequence[str]) -> None:
    company = training(A, B)
    company.want(A, B, C, D)
    company.come(C)
    company.come(D)
    company.look(A)

    company.want(*wanted)
    company.settle()

    assert company.together == set(wanted)


def test_a_plan_that_is_newer_than_all_generations_gives_the_number() -> None:
    company = training(A)
    company.plan = 40

    company.want(A, B)
    company.settle()

    assert company.published[-1].generation == 41


ACTS = st.one_of(
    st.tuples(st.just("want"), st.sets(st.integers(0, 7), max_size=4)),
    st.tuples(st.sampled_from(["come", "look", "kill", "hang", "refuse"]), st.integers(0, 7)),
    st.tuples(st.sampled_from(["agree", "form"])),
    st.tuples(st.just("wait"), st.floats(0.1, 12.0)),
)


@given(st.lists(ACTS, max_size=60))
@settings(max_examples=80, deadline=None)
def test_whatever_happens_all_living_wanted_workers_end_up_together(acts: list[tuple[object, ...]]) -> None:
    company = Company()
    company.want(A, B)
    for act, *rest in acts:
        play(company, str(act), *rest)
    company.settle()
    check_history(company.published)

    company.want(*company.living_wanted, worker(100))
    company.settle()

    assert company.together == company.living_wanted
    assert worker(100) in company.together
    check_history(company.published)


def play(company: Company, act: str, *rest: object) -> None:
    before = len(company.published)
    dead = {a.name for a in company.actors.values() if not a.alive}
    if act == "want":
        (numbers,) = rest
        assert isinstance(numbers, set)
        company.want(*(worker(number) for number in sorted(numbers)))
    elif act in ("come", "look", "kill", "hang", "refuse"):
        name = worker(int(str(rest[0])))
        if name in company.actors and company.actors[name].alive:
            if act == "refuse":
                company.actors[name].refuses = True
            else:
                getattr(company, act)(name)
    elif act == "wait":
        company.wait(float(str(rest[0])))
    else:
        getattr(company, act)()
    for membership in company.published[before:]:
        assert not dead & set(membership.workers), "a worker that is known to be dead"


def check_history(published: Sequence[Membership]) -> None:
    """Generations ascend, nobody changes places, and nothing is said twice."""
    for earlier, later in pairwise(published):
        assert earlier.generation < later.generation
        stay = [name for name in earlier.workers if name in later.workers]
        if stay and later.why != "start":
            assert list(later.workers[: len(stay)]) == stay
        assert (earlier.workers, earlier.lost) != (later.workers, later.lost)
