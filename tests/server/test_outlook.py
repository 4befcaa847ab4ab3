"""ETAs of jobs over the API: looked at beside the questions, never for long."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest
from tests.forecast.records import NOW as THEN
from tests.forecast.records import a_contract, a_node, a_record
from tests.server.serving import NOW, Served

from tenuto.forecast.eta import Eta
from tenuto.model.job import Reply
from tenuto.model.phase import Phase
from tenuto.server.outlook import OLDEST, Outlook, Seen, foreseen
from tenuto.server.scene import Rule, View
from tenuto.settings import Scheduling

HANG = 60.0
"""Seconds after which a test gives up waiting."""


class Hands:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def a_view(*jobs: Any) -> View:
    scheduling = Scheduling(policy="fifo", start_cost=0.0, rescale_cost=0.0, margin=0.0)
    return View(THEN, THEN - 1000.0, jobs, (a_node(),), Rule(scheduling, {}), None)


def a_runner(number: int = 1) -> Any:
    contract = a_contract(Reply.QUEUED)
    return a_record(number, slots={"node-0": (0, 1, 2, 3)}, contract=contract)


def test_a_look_tells_of_everybody_who_was_answered() -> None:
    waits = a_record(2, phase=Phase.QUEUED, contract=a_contract(Reply.QUEUED))

    seen = foreseen(a_view(a_runner(), waits))

    assert {id_: eta.finish for id_, eta in seen.etas.items()} == {
        "job-0001": THEN + 25.0,
        "job-0002": THEN + 50.0,
    }
    assert seen.as_of == THEN


def test_where_nobody_was_answered_nothing_is_looked_at() -> None:
    broken = replace(a_view(a_record(1)), rule=Rule(Scheduling(policy="no such policy"), {}))

    assert foreseen(broken) == Seen(THEN)


def test_the_same_state_is_looked_at_once_until_it_is_old() -> None:
    clock, looks = Hands(), []

    def take() -> View:
        looks.append(clock.now)
        return a_view(a_runner())

    outlook = Outlook(clock)
    for _ in range(3):
        assert outlook.now(7, take, HANG).etas
    assert len(looks) == 1
    clock.now += OLDEST + 1.0
    outlook.now(7, take, HANG)
    outlook.now(8, take, HANG)
    assert len(looks) == 3


def test_after_a_long_look_nobody_looks_for_a_while() -> None:
    clock, looks = Hands(), []

    def take() -> View:
        looks.append(clock.now)
        clock.now += 2.0
        return a_view(a_runner())

    outlook = Outlook(clock)
    outlook.now(1, take, HANG)
    outlook.now(2, take, HANG)
    assert looks == [100.0]
    clock.now += 8.0
    outlook.now(3, take, HANG)
    assert looks == [100.0, 110.0]


def test_after_a_look_for_which_kernels_were_compiled_etas_are_not_old_for_minutes() -> None:
    clock, looks = Hands(), []

    def take() -> View:
        looks.append(clock.now)
        clock.now += 70.0
        return a_view(a_runner())

    outlook = Outlook(clock)
    outlook.now(1, take, HANG)
    clock.now += OLDEST
    outlook.now(2, take, HANG)
    assert looks == [100.0, 170.0 + OLDEST]


def test_nobody_waits_for_a_look_that_takes_long() -> None:
    free, looking = threading.Event(), threading.Event()

    def take() -> View:
        looking.set()
        assert free.wait(HANG)
        return a_view(a_runner())

    outlook = Outlook()
    try:
        assert outlook.now(1, take, 0.0) == Seen()
        assert looking.wait(HANG)
        assert outlook.now(2, take, 0.0) == Seen()
    finally:
        free.set()
    assert outlook.now(1, take, HANG).etas


def test_a_policy_that_fails_hides_no_list_and_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    broken = replace(a_view(a_runner()), rule=Rule(Scheduling(policy="no such policy"), {}))

    assert Outlook().now(1, lambda: broken, HANG).etas == {}
    assert "cannot be foreseen" in caplog.text and "no such policy" in caplog.text


def answered(server: Served, id_: str, **fields: Any) -> None:
    server.put(id_, contract=a_contract(Reply.QUEUED), **fields)


def test_queued_and_running_jobs_show_when_they_will_be_done(server: Served) -> None:
    server.join("node-0")
    server.set_meta(
        epoch=NOW, scheduling={"policy": "fifo", "start_cost": 0.0, "rescale_cost": 0.0, "margin": 0.0}
    )
    fields = {"workers": 4, "total": {"steps": 100}, "curve": {"4": 1.0}}
    first, second, third = (server.submit(name, **fields)["id"] for name in ("첫째", "둘째", "셋째"))
    answered(server, first)
    server.runs(first, node_0=(0, 1, 2, 3))
    answered(server, second, phase=Phase.QUEUED)
    answered(server, third, phase=Phase.PAUSED, pause=True)
    patient(server)

    one, two = server.get(f"/jobs/{first}")["eta"], server.get(f"/jobs/{second}")["eta"]

    assert one == {
        "start": None,
        "finish": "2027-01-15T08:01:40.000Z",
        "finish_p90": "2027-01-15T08:01:40.000Z",
        "as_of": "2027-01-15T08:00:00.000Z",
    }
    assert (two["start"], two["finish"]) == ("2027-01-15T08:01:40.000Z", "2027-01-15T08:03:20.000Z")
    assert [job["eta"] for job in server.get("/jobs")["items"]] == [None, two, one]


@pytest.mark.parametrize("phase", [Phase.SUCCEEDED, Phase.CANCELLED, Phase.HELD, Phase.UNSCHEDULABLE])
def test_a_job_that_goes_nowhere_now_has_no_eta_whatever_was_foreseen(server: Served, phase: Phase) -> None:
    id_ = server.submit()["id"]
    server.put(id_, phase=phase)
    outlook = server.app.state.platform.outlook
    outlook._seen = Seen(NOW, {id_: Eta(start=NOW, finish=NOW + 1.0, late=NOW + 1.0)})

    assert server.get(f"/jobs/{id_}")["eta"] is None


def patient(server: Served) -> None:
    """Have the next look made and wait for it, however slow this machine is."""
    from tenuto.server.scene import view

    here = server.app.state.platform
    here.outlook.now(here.store.revision(), lambda: here.store.read(lambda tx: view(here, tx)), HANG)
