"""Scaling: a pin within the job's range and the nodes' slots, and no promise broken without somebody's force."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.server.serving import NOW, USER_NAME, Served, left, promised

from tenuto.model.job import Job, Pin
from tenuto.model.phase import ENDED, Phase, PromiseState
from tenuto.store.base import Tx

CURVE = {"1": 1.0, "2": 2.0, "4": 4.0}


@pytest.fixture
def running(server: Served) -> str:
    """A job of one to four workers that has two of them on one of two nodes."""
    server.join("node-0", 4)
    server.join("node-1", 4)
    id_: str = server.submit("elastyczny", workers="1..6", curve=CURVE, total={"steps": 100_000})["id"]
    server.runs(id_, node_0=(0, 1))
    return id_


@pytest.mark.parametrize(
    ("wish", "pin"),
    [
        ({"workers": 3}, Pin(workers=3)),
        ({"delta": 1}, Pin(workers=3)),
        ({"delta": -1}, Pin(workers=1)),
        ({"delta": 1, "node": "node-0"}, Pin(workers=3, nodes={"node-0": 3})),
        ({"delta": 2, "node": "node-1"}, Pin(workers=4, nodes={"node-0": 2, "node-1": 2})),
        ({"delta": -1, "node": "node-0"}, Pin(workers=1, nodes={"node-0": 1})),
        ({"nodes": {"node-0": 1, "node-1": 4}}, Pin(workers=5, nodes={"node-0": 1, "node-1": 4})),
        ({"nodes": {"node-0": 0, "node-1": 1}}, Pin(workers=1, nodes={"node-1": 1})),
    ],
)
def test_a_size_is_pinned(server: Served, running: str, wish: Any, pin: Pin) -> None:
    shown = server.post(f"/jobs/{running}/scale", wish)

    assert shown["pin"] == {"workers": pin.workers, "nodes": dict(pin.nodes)}
    assert (server.job(running).pin, server.job(running).actor) == (pin, USER_NAME)
    [event] = server.events(kind="pinned")
    assert (event.before, event.after, event.actor) == ("auto", str(pin.workers), USER_NAME)


def test_differences_add_up_before_the_controller_has_looked(server: Served, running: str) -> None:
    for _ in range(3):
        server.post(f"/jobs/{running}/scale", {"delta": 1})

    assert server.job(running).pin == Pin(workers=5)


def test_a_pin_is_released(server: Served, running: str) -> None:
    server.post(f"/jobs/{running}/scale", {"workers": 3})

    assert server.post(f"/jobs/{running}/scale", {"workers": "auto"})["pin"] is None

    assert [event.after for event in server.events(kind="pinned")] == ["3", "auto"]


def test_a_job_that_was_shrunk_for_not_using_its_gpus_is_so_no_more(server: Served, running: str) -> None:
    server.put(running, shrunk=True, idle_since=NOW - 900.0)
    assert server.get(f"/jobs/{running}")["shrunk"]

    shown = server.post(f"/jobs/{running}/scale", {"workers": "auto"})

    assert (shown["pin"], shown["shrunk"]) == (None, False)
    assert shown["idle_since"] is not None
    assert [event.after for event in server.events(kind="pinned")] == ["auto"]


def test_the_same_pin_again_is_no_new_wish(server: Served, running: str) -> None:
    server.post(f"/jobs/{running}/scale", {"workers": 3})
    before = server.everything()

    server.post(f"/jobs/{running}/scale", {"workers": 3})

    assert server.everything() == before


def test_a_size_that_nobody_measured_is_marked(server: Served, running: str) -> None:
    assert server.post(f"/jobs/{running}/scale", {"workers": 3})["interpolated"] == [3]


def test_a_waiting_job_can_be_pinned_but_not_by_a_difference(server: Served) -> None:
    server.join("node-0", 4)
    id_ = server.submit(workers="1..4")["id"]

    assert server.refused("POST", f"/jobs/{id_}/scale", {"delta": 1})["code"] == "out_of_range"
    assert server.post(f"/jobs/{id_}/scale", {"nodes": {"node-0": 2}})["pin"]["workers"] == 2


@pytest.mark.parametrize("end", sorted(ENDED))
def test_what_has_ended_has_no_size(server: Served, end: Phase) -> None:
    id_ = server.submit(workers="1..4")["id"]
    server.put(id_, phase=end)

    assert server.refused("POST", f"/jobs/{id_}/scale", {"workers": "auto"})["code"] == "ended"


def test_a_job_bound_to_a_node_stays_there(server: Served) -> None:
    server.join("node-0", 2)
    server.join("node-1", 4)
    id_ = server.submit(workers="1..4", node="node-0")["id"]

    assert server.refused("POST", f"/jobs/{id_}/scale", {"nodes": {"node-1": 1}})["code"] == "out_of_range"
    assert server.refused("POST", f"/jobs/{id_}/scale", {"workers": 3})["code"] == "not_enough_slots"
    assert server.post(f"/jobs/{id_}/scale", {"workers": 2})["pin"]["workers"] == 2


def test_slots_that_the_pins_of_others_name_are_not_given_away(server: Served, running: str) -> None:
    server.post(f"/jobs/{running}/scale", {"nodes": {"node-0": 3}})
    other = server.submit("inny", workers="1..4")["id"]

    assert (
        server.refused("POST", f"/jobs/{other}/scale", {"nodes": {"node-0": 2}})["code"] == "not_enough_slots"
    )
    assert server.post(f"/jobs/{other}/scale", {"nodes": {"node-0": 1}})["pin"]["nodes"] == {"node-0": 1}


class TestPromises:
    """Four slots; one job was promised all it needs, another one wants to grow."""

    @pytest.fixture
    def pair(self, server: Served) -> tuple[str, str]:
        server.join("node-0", 4)
        server.set_meta(epoch=NOW)
        steps = {"total": {"steps": 3600}, "curve": CURVE}
        greedy = server.submit("żarłok", workers="1..4", curve=CURVE)["id"]
        server.runs(greedy, node_0=(3,))
        careful = server.submit("obiecany", workers="1..2", deadline="+2500s", **steps)["id"]
        server.put(careful, **promised(server.job(careful), NOW + 2500), progress=left(3600))
        server.runs(careful, node_0=(0, 1))
        return greedy, careful

    def test_a_pin_that_harms_nobody_is_granted(self, server: Served, pair: tuple[str, str]) -> None:
        greedy, _ = pair

        assert server.post(f"/jobs/{greedy}/scale", {"workers": 2})["pin"]["workers"] == 2

    def test_a_pin_that_would_break_a_promise_is_refused_with_the_reason(
        self, server: Served, pair: tuple[str, str]
    ) -> None:
        _, careful = pair
        before = server.everything()

        error = server.refused("POST", f"/jobs/{careful}/scale", {"workers": 1})

        assert (error["status"], error["code"]) == (409, "would_break_promises")
        assert f"obiecany ({careful}) was promised 2027-01-15T08:41:40.000Z" in error["message"]
        assert "force" in error["remedy"]
        assert server.everything() == before

    def test_force_does_it_and_records_the_breach_with_its_cause(
        self, server: Served, pair: tuple[str, str]
    ) -> None:
        _, careful = pair

        shown = server.post(f"/jobs/{careful}/scale", {"workers": 1, "force": True})

        assert shown["promise"]["state"] == "at_risk"
        assert USER_NAME in shown["promise"]["breach"]
        assert server.job(careful).pin == Pin(workers=1)
        [pinned] = server.events(kind="pinned")
        assert pinned.data == {"forced": True, "breaks": [careful]}
        [breach] = server.events(kind="promise")
        assert (breach.job, breach.actor, breach.after) == (careful, USER_NAME, "at_risk")
        assert "forced" in breach.reason

    def test_what_changed_while_it_was_foreseen_is_foreseen_again(
        self, server: Served, pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        greedy, careful = pair
        from tenuto.server import breaches

        foreseen, seen = breaches.foreseen, []

        def meanwhile(now: Any, then: Any) -> Any:
            result = foreseen(now, then)
            seen.append(len(now.nodes))
            if len(seen) == 1:
                server.join("node-1", 4)
            return result

        monkeypatch.setattr(breaches, "foreseen", meanwhile)

        server.post(f"/jobs/{greedy}/scale", {"workers": 3})

        assert seen == [1, 2]
        assert server.job(greedy).pin == Pin(workers=3)
        assert server.job(careful).promise is PromiseState.HOLDS

    def test_who_never_gets_a_quiet_moment_is_served_inside_the_transaction(
        self, server: Served, pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        greedy, careful = pair
        from tenuto.server import breaches

        def busy(now: Any, then: Any) -> Any:
            if not writing:
                server.put(careful, message="meanwhile")
            return ()

        writing: list[bool] = []
        write = server.store.write

        def noted(act: Any) -> Any:
            def inside(tx: Tx) -> Any:
                writing.append(True)
                try:
                    return act(tx)
                finally:
                    writing.pop()

            return write(inside)

        monkeypatch.setattr(breaches, "foreseen", busy)
        monkeypatch.setattr(server.store, "write", noted)

        assert server.post(f"/jobs/{greedy}/scale", {"workers": 3})["pin"]["workers"] == 3


class TestDeadlines:
    """A promised job asks for another deadline."""

    @pytest.fixture
    def careful(self, server: Served) -> Job:
        server.join("node-0", 4)
        server.set_meta(epoch=NOW)
        id_ = server.submit(
            "obiecany", workers="1..2", deadline="+2500s", total={"steps": 3600}, curve={"1": 1.0, "2": 2.0}
        )["id"]
        server.put(id_, **promised(server.job(id_), NOW + 2500), progress=left(3600))
        return server.runs(id_, node_0=(0, 1))

    def test_one_that_can_be_promised_is_taken(self, server: Served, careful: Job) -> None:
        answer = server.http.patch(f"/jobs/{careful.id}", json={"deadline": "+2200s"})

        assert answer.status_code == 200
        assert server.job(careful.id).deadline == NOW + 2200

    def test_more_time_is_always_taken(self, server: Served, careful: Job) -> None:
        server.http.patch(f"/jobs/{careful.id}", json={"deadline": "+2d"})

        assert server.job(careful.id).deadline == NOW + 2 * 86400

    def test_one_that_cannot_be_promised_is_refused_with_an_offer(self, server: Served, careful: Job) -> None:
        before = server.everything()

        error = server.refused("PATCH", f"/jobs/{careful.id}", {"deadline": "+600s"})

        assert (error["status"], error["code"], error["field"]) == (409, "not_promisable", "deadline")
        assert "earliest" in error["message"]
        assert server.everything() == before

    @pytest.mark.parametrize("phase", [Phase.SUBMITTED, Phase.PAUSED, Phase.HELD, Phase.UNSCHEDULABLE])
    def test_who_will_be_answered_anyway_is_not_asked(
        self, server: Served, careful: Job, phase: Phase
    ) -> None:
        changed = replace(careful, phase=phase, slots={}, contract=None, promise=PromiseState.NONE)
        server.store.write(lambda tx: tx.put_job(changed))

        assert server.http.patch(f"/jobs/{careful.id}", json={"deadline": "+600s"}).status_code == 200

    def test_a_policy_without_promises_takes_every_deadline(self, server: Served, careful: Job) -> None:
        server.set_meta(scheduling={"policy": "edf"})

        assert server.http.patch(f"/jobs/{careful.id}", json={"deadline": "+600s"}).status_code == 200


def test_one_worker_is_told_as_one(server: Served) -> None:
    server.join("node-0", 4)
    id_ = server.submit("하나", workers=1)["id"]

    refused = server.refused("POST", f"/jobs/{id_}/scale", {"workers": 2})

    assert refused["message"] == f"job {id_} (하나) can have 1 worker, not 2"
