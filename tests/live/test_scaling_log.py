"""The log of a job's sizes tells whose doing each change was: a user's, a failure's, or the policy's."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from tests.live.platform import Platform

from tenuto.model.job import Pin
from tenuto.model.phase import PromiseState
from tenuto.store.open import open_store

TWO = {"node-0": 4, "노드-1": 4}


def sizes(here: Platform, job: str) -> list[tuple[str, str, str]]:
    return [(event.before, event.after, event.reason) for event in here.events(job=job, kind="scaled")]


def test_two_steps_out_and_one_in_are_told_in_order_even_after_a_restart(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'sklep'}"
    with closing(open_store(url)) as store:
        here = Platform(store=store)
        job = here.submit(settle=False)
        for workers in (1, 2, 3, 2):
            here.wish(job, pin=Pin(workers=workers))

    with closing(open_store(url)) as store:
        assert sizes(Platform(store=store), job) == [
            ("", "node-0:1", "pinned by zofia"),
            ("node-0:1", "node-0:2", "pinned by zofia"),
            ("node-0:2", "node-0:3", "pinned by zofia"),
            ("node-0:3", "node-0:2", "pinned by zofia"),
        ]
        assert {event.actor for event in Platform(store=store).events(job=job, kind="scaled")} == {"zofia"}


def test_what_the_policy_does_is_told_as_its_doing() -> None:
    here = Platform(policy="edf")
    job = here.submit(steps=1000.0)
    here.submit("pilne", steps=100.0, deadline=100.0)

    assert sizes(here, job) == [
        ("", "node-0:4", "chosen by the policy"),
        ("node-0:4", "", "gave its slots to others"),
    ]


def test_a_new_place_after_a_loss_is_told_with_the_loss() -> None:
    here = Platform(TWO)
    job = here.submit()
    home = next(iter(here.job(job).slots))
    other = next(iter(TWO.keys() - {home}))
    here.engine.lose_node(home)
    here.pass_time(20.0)

    assert sizes(here, job)[-1] == ("", f"{other}:4", f"node {home} is lost; it is started again")


def test_a_promise_at_risk_does_not_hold_again_because_nobody_plans_any_more() -> None:
    here = Platform()
    job = here.submit(steps=400.0, deadline=120.0)
    here.wish(job, pin=Pin(workers=1), promise=PromiseState.AT_RISK, breach="forced by zofia", settle=False)
    here.set_policy("fifo")

    here.settle()

    assert (here.job(job).promise, here.job(job).breach) == (PromiseState.AT_RISK, "forced by zofia")
