"""The policy in force: shown, changed, and no promise broken in passing."""

from __future__ import annotations

import pytest
from tests.server.serving import NOW, USER_NAME, Served, left, promised

from tenuto.model.phase import Phase, PromiseState


def test_the_policy_is_shown_with_its_settings(server: Served) -> None:
    shown = server.get("/policy")

    assert (shown["name"], shown["promises"]) == ("elasticflow", True)
    assert shown["settings"]["interval"] == 60.0
    assert {"fifo", "edf", "tiresias"} <= set(shown["known"])


def test_another_policy_and_other_settings_are_written_down_for_the_controller(server: Served) -> None:
    wish = {"name": "tiresias", "settings": {"interval": "2m", "placement": "pack"}}
    server.http.put("/policy", json={"name": "tiresias"})

    shown = server.http.put("/policy", json=wish).json()

    assert (shown["name"], shown["promises"], shown["settings"]["placement"]) == ("tiresias", False, "pack")
    written = server.store.read(lambda tx: tx.meta("scheduling"))
    assert (written["policy"], written["interval"], written["placement"]) == ("tiresias", 120.0, "pack")
    [first, second] = server.events(kind="policy")
    assert (first.before, first.after, first.actor) == ("elasticflow", "tiresias", USER_NAME)
    assert second.data["interval"] == [60.0, 120.0]
    assert server.get("/policy") == shown
    assert server.get("/cluster")["policy"] == "tiresias"


def test_a_policy_has_settings_of_its_own(server: Served) -> None:
    shown = server.http.put("/policy", json={"name": "gandiva", "settings": {"quantum": 90}}).json()

    assert shown["settings"]["quantum"] == 90.0
    assert server.store.read(lambda tx: tx.meta("scheduling"))["settings"] == {"quantum": 90}
    again = server.http.put("/policy", json={"settings": {"interval": "5m"}}).json()
    assert (again["settings"]["quantum"], again["settings"]["interval"]) == (90.0, 300.0)
    assert "quantum" not in server.http.put("/policy", json={"name": "fifo"}).json()["settings"]


def test_an_alias_is_written_down_as_the_name(server: Served) -> None:
    assert server.http.put("/policy", json={"name": "dlas-gpu"}).json()["name"] == "tiresias"


def test_the_same_again_is_no_change(server: Served) -> None:
    server.http.put("/policy", json={"name": "fifo"})
    before = server.everything()

    assert server.http.put("/policy", json={"name": "fifo"}).status_code == 200
    assert server.everything() == before


def test_a_mistyped_name_is_guessed(server: Served) -> None:
    error = server.refused("PUT", "/policy", {"name": "elasticflwo"})

    assert error["remedy"].startswith("Did you mean elasticflow?")


class TestPromises:
    @pytest.fixture
    def careful(self, server: Served) -> str:
        """A promised job that waits behind one without a promise, which holds all slots."""
        server.join("node-0", 4)
        server.set_meta(epoch=NOW)
        greedy = server.submit("żarłok", workers=4)["id"]
        server.runs(greedy, node_0=(0, 1, 2, 3))
        id_: str = server.submit(
            "obiecany", workers="1..2", deadline="+2500s", total={"steps": 3600}, curve={"1": 1.0, "2": 2.0}
        )["id"]
        server.put(id_, **promised(server.job(id_), NOW + 2500), phase=Phase.QUEUED, progress=left(3600))
        return id_

    def test_a_policy_that_would_break_promises_is_refused_with_their_names(
        self, server: Served, careful: str
    ) -> None:
        before = server.everything()

        error = server.refused("PUT", "/policy", {"name": "fifo"})

        assert (error["status"], error["code"]) == (409, "would_break_promises")
        assert careful in error["message"]
        assert server.everything() == before

    def test_force_sets_it_and_records_who_broke_what(self, server: Served, careful: str) -> None:
        answer = server.http.put("/policy", json={"name": "fifo", "force": True})

        assert answer.json()["name"] == "fifo"
        job = server.job(careful)
        assert job.promise is PromiseState.AT_RISK
        assert job.breach == f"forced by {USER_NAME}: the policy was set to fifo"
        [event] = server.events(kind="promise")
        assert (event.job, event.actor) == (careful, USER_NAME)
