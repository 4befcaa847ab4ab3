"""What users wish for jobs: noted once, with who and why; what comes too late changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.serving import NOW, USER_NAME, Served, a_server, promised
from tests.store.records import an_attempt

from tenuto.model.job import After, Ending
from tenuto.model.phase import ENDED, PLACED, Phase, PromiseState
from tenuto.settings import Settings, Storage

PROMISABLE: dict[str, Any] = {"curve": {"1": 1.0, "2": 2.0}, "total": {"steps": 100}, "workers": "1..2"}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all: every test has jobs of its own."""
    with a_server(tmp_path_factory.mktemp("server")) as served:
        yield served


@pytest.fixture
def server(shared: Served) -> Served:
    """The server, at the time at which every test begins."""
    shared.clock.now = NOW
    return shared


class TestCancel:
    def test_a_cancel_is_noted_for_the_controller(self, server: Served) -> None:
        id_ = server.submit()["id"]

        shown = server.post(f"/jobs/{id_}/cancel")

        assert (shown["wish"], shown["state"]) == ("cancel", "submitted")
        job = server.job(id_)
        assert (job.cancel, job.actor) == (True, USER_NAME)
        [*_, event] = server.events(job=id_)
        assert (event.kind, event.after, event.actor) == ("wish", "cancel", USER_NAME)

    def test_a_second_cancel_does_no_harm(self, server: Served) -> None:
        id_ = server.submit()["id"]
        first = server.post(f"/jobs/{id_}/cancel")
        before = server.everything()

        assert server.post(f"/jobs/{id_}/cancel") == first
        assert server.everything() == before
        server.put(id_, phase=Phase.CANCELLED)
        assert server.post(f"/jobs/{id_}/cancel")["state"] == "cancelled"

    @pytest.mark.parametrize("end", sorted(ENDED - {Phase.CANCELLED}))
    def test_what_has_ended_cannot_be_cancelled(self, server: Served, end: Phase) -> None:
        id_ = server.submit()["id"]
        server.put(id_, phase=end)
        before = server.everything()

        error = server.refused("POST", f"/jobs/{id_}/cancel")

        assert (error["status"], error["code"]) == (409, "ended")
        assert "resubmit" in error["remedy"]
        assert server.everything() == before

    def test_a_job_that_is_being_paused_can_be_cancelled(self, server: Served) -> None:
        id_ = server.submit()["id"]
        server.put(id_, pause=True, ending=Ending(phase=Phase.PAUSED, why="paused", message="paused"))

        assert server.post(f"/jobs/{id_}/cancel")["wish"] == "cancel"


class TestPause:
    def test_pause_and_resume_are_wishes(self, server: Served) -> None:
        id_ = server.submit()["id"]
        assert server.post(f"/jobs/{id_}/pause")["wish"] == "pause"
        assert server.post(f"/jobs/{id_}/pause")["wish"] == "pause"
        server.put(id_, phase=Phase.PAUSED)

        assert server.post(f"/jobs/{id_}/resume")["wish"] == ""
        assert server.post(f"/jobs/{id_}/resume")["wish"] == ""

        assert [event.after for event in server.events(job=id_, kind="wish")] == ["pause", "resume"]

    def test_only_a_paused_job_can_be_resumed(self, server: Served) -> None:
        id_ = server.submit()["id"]

        assert server.refused("POST", f"/jobs/{id_}/resume")["code"] == "not_paused"

    @pytest.mark.parametrize("verb", ["pause", "resume"])
    def test_neither_goes_with_a_cancel_or_after_the_end(self, server: Served, verb: str) -> None:
        id_ = server.submit()["id"]
        server.post(f"/jobs/{id_}/cancel")
        assert server.refused("POST", f"/jobs/{id_}/{verb}")["code"] == "being_cancelled"
        server.put(id_, phase=Phase.CANCELLED)

        assert server.refused("POST", f"/jobs/{id_}/{verb}")["code"] == "ended"


class TestChange:
    def test_a_waiting_job_may_be_changed_in_every_way(self, server: Served) -> None:
        first = server.submit("pierwszy")["id"]
        id_ = server.submit("stara", **PROMISABLE)["id"]

        changed = server.http.patch(
            f"/jobs/{id_}",
            json={
                "name": "nowa nazwa",
                "deadline": "+2h",
                "priority": "urgent",
                "labels": {"zespół": "wizja"},
                "after": {"job": "pierwszy", "condition": "fail"},
            },
        ).json()

        job = server.job(id_)
        assert (changed["name"], changed["labels"]) == ("nowa nazwa", {"zespół": "wizja"})
        assert (job.deadline, job.spec.deadline) == (NOW + 7200, "+2h")
        assert (job.urgent, job.spec.urgent) == (True, True)
        assert job.spec.after == After(job=first, condition=job.spec.after.condition)  # type: ignore[union-attr]
        [*_, event] = server.events(job=id_)
        assert event.kind == "changed"
        assert event.data["name"] == ["stara", "nowa nazwa"]

    def test_null_takes_a_value_away(self, server: Served) -> None:
        first = server.submit()["id"]
        id_ = server.submit(deadline="+1h", labels={"a": "b"}, after=first, **PROMISABLE)["id"]

        server.http.patch(f"/jobs/{id_}", json={"deadline": None, "labels": None, "after": None})

        job = server.job(id_)
        assert (job.deadline, job.spec.deadline, job.spec.labels, job.spec.after) == (None, "", {}, None)

    @pytest.mark.parametrize("phase", sorted(PLACED))
    def test_a_running_job_keeps_its_name_and_what_it_waited_for(self, server: Served, phase: Phase) -> None:
        server.join("node-0")
        id_ = server.submit(**PROMISABLE)["id"]
        server.runs(id_, node_0=(0,))
        server.put(id_, phase=phase)
        before = server.everything()

        for change in ({"name": "inna"}, {"after": None}):
            error = server.refused("PATCH", f"/jobs/{id_}", change)
            assert (error["status"], error["code"]) == (409, "running")
        assert server.everything() == before

        shown = server.http.patch(f"/jobs/{id_}", json={"priority": "urgent", "labels": {"a": "b"}}).json()
        assert (shown["priority"], shown["labels"]) == ("urgent", {"a": "b"})

    @pytest.mark.parametrize("end", sorted(ENDED))
    def test_what_has_ended_is_not_changed(self, server: Served, end: Phase) -> None:
        id_ = server.submit()["id"]
        server.put(id_, phase=end)
        before = server.everything()

        error = server.refused("PATCH", f"/jobs/{id_}", {"labels": {"a": "b"}})

        assert (error["status"], error["code"]) == (409, "ended")
        assert "resubmit" in error["remedy"]
        assert server.everything() == before

    @pytest.mark.parametrize("phase", [Phase.HELD, Phase.QUEUED, Phase.UNSCHEDULABLE])
    def test_who_shall_wait_for_another_job_is_answered_anew(self, server: Served, phase: Phase) -> None:
        first = server.submit()["id"]
        id_ = server.submit(deadline="+1h", **PROMISABLE)["id"]
        server.put(id_, phase=phase, **promised(server.job(id_), NOW + 3600))

        server.http.patch(f"/jobs/{id_}", json={"after": first})

        job = server.job(id_)
        assert (job.phase, job.contract, job.promise) == (Phase.SUBMITTED, None, PromiseState.WITHDRAWN)
        assert [event.after for event in server.events(job=id_, kind="promise")] == ["withdrawn"]
        assert [event.before for event in server.events(job=id_, kind="phase")] == [str(phase)]


class TestDelete:
    @pytest.mark.parametrize("phase", sorted(set(Phase) - PLACED))
    def test_a_job_without_workers_is_forgotten_and_its_events_stay(
        self, server: Served, phase: Phase
    ) -> None:
        id_ = server.submit("usunięty")["id"]
        server.put(id_, phase=phase)

        assert server.http.delete(f"/jobs/{id_}").json() == {"deleted": [id_]}

        assert server.refused("GET", f"/jobs/{id_}")["code"] == "not_found"
        kinds = [event["kind"] for event in server.get("/events", job=id_)["items"]]
        assert kinds == ["submitted", "deleted"]

    @pytest.mark.parametrize("phase", sorted(PLACED))
    def test_a_job_with_workers_is_not_forgotten(self, server: Served, phase: Phase) -> None:
        id_ = server.submit()["id"]
        server.put(id_, phase=phase, slots={"node-0": (0,)})
        before = server.everything()

        assert server.refused("DELETE", f"/jobs/{id_}")["code"] == "running"
        assert server.everything() == before

    def test_a_job_that_waits_while_its_last_workers_stop_is_not_forgotten(self, server: Served) -> None:
        id_ = server.submit()["id"]
        server.put(id_, phase=Phase.QUEUED, generation=1)
        server.store.write(lambda tx: tx.put_attempt(an_attempt(id_, started_at=NOW)))

        assert server.refused("DELETE", f"/jobs/{id_}")["code"] == "running"

        server.store.write(lambda tx: tx.put_attempt(an_attempt(id_, started_at=NOW, ended_at=NOW)))
        assert server.http.delete(f"/jobs/{id_}").json() == {"deleted": [id_]}

    def test_a_chain_goes_as_a_whole(self, server: Served) -> None:
        chain = _chain(server, 4)
        other = server.submit("inny")["id"]

        gone = server.http.delete(f"/jobs/{chain[1]}", params={"cascade": True}).json()["deleted"]

        assert gone == chain[1:]
        left = {job["id"] for job in server.get("/jobs", limit=500)["items"]}
        assert left & {*chain, other} == {chain[0], other}

    def test_a_chain_with_a_running_job_stays_whole(self, server: Served) -> None:
        chain = _chain(server, 3)
        server.put(chain[2], phase=Phase.RUNNING, slots={"node-0": (0,)})
        before = server.everything()

        error = server.refused("DELETE", f"/jobs/{chain[0]}?cascade=true")

        assert (error["status"], error["code"]) == (409, "running")
        assert chain[2] in error["message"]
        assert server.everything() == before

    def test_logs_go_with_the_job(self, server: Served) -> None:
        from tenuto.wire.worker import WorkerId

        id_, other = server.submit()["id"], server.submit()["id"]
        for job in (id_, other):
            server.logs.append(WorkerId(job, 1, "worker", 0), 0, b"text\n")

        server.http.delete(f"/jobs/{id_}")

        assert server.logs.workers(id_) == []
        assert server.logs.workers(other) != []

    def test_checkpoints_that_the_platform_keeps_for_a_job_go_with_it(self, tmp_path: Path) -> None:
        kept = tmp_path / "체크포인트"
        with a_server(tmp_path, Settings(store=Storage(checkpoints=str(kept)))) as server:
            id_, other = server.submit()["id"], server.submit()["id"]
            for job in (id_, other):
                (kept / job / "step-10").mkdir(parents=True)

            server.http.delete(f"/jobs/{id_}")

            assert [path.name for path in kept.iterdir()] == [other]


def _chain(server: Served, length: int) -> list[str]:
    """Jobs, each of which waits for the one before."""
    chain = [server.submit("ogniwo")["id"]]
    while len(chain) < length:
        chain.append(server.submit("ogniwo", after=chain[-1])["id"])
    return chain


class TestResubmit:
    def test_a_job_is_submitted_again_under_a_new_id_with_a_link_to_the_old(self, server: Served) -> None:
        server.join("node-0")
        server.join("node-1")
        id_ = server.submit("znowu", workers="1..2", labels={"a": "b"}, node="node-1")["id"]
        server.runs(id_, node_1=(0, 1))
        server.put(id_, phase=Phase.FAILED, slots={}, exit_code=3)

        again = server.post(f"/jobs/{id_}/resubmit")

        assert again["id"] != id_
        assert (again["resubmitted_from"], again["state"], again["exit_code"]) == (id_, "submitted", None)
        assert server.job(again["id"]).spec == server.job(id_).spec
        assert server.job(again["id"]).spec.node == "node-1"

    def test_a_relative_deadline_counts_from_now(self, server: Served) -> None:
        id_ = server.submit(deadline="+6h", **PROMISABLE)["id"]
        server.put(id_, phase=Phase.DECLINED)
        server.clock.now += 100_000

        again = server.post(f"/jobs/{id_}/resubmit")["id"]

        assert server.job(again).deadline == NOW + 100_000 + 6 * 3600

    def test_keys_may_be_changed_or_taken_away(self, server: Served) -> None:
        id_ = server.submit("znowu", deadline="+6h", labels={"a": "b"}, **PROMISABLE)["id"]
        edit = {
            "deadline": "+8h",
            "labels": None,
            "name": "inaczej",
            "run": ["python", "b.py"],
            "urgent": True,
        }

        again = server.post(f"/jobs/{id_}/resubmit", {"edit": edit})["id"]

        job = server.job(again)
        assert (job.spec.name, job.spec.run, job.spec.labels) == ("inaczej", ("python", "b.py"), {})
        assert (job.deadline, job.urgent, job.curve) == (NOW + 8 * 3600, True, {1: 1.0, 2: 2.0})

    def test_a_resubmission_with_a_key_is_made_once(self, server: Served) -> None:
        id_ = server.submit()["id"]

        first = server.post(f"/jobs/{id_}/resubmit", {}, key="raz")
        second = server.post(f"/jobs/{id_}/resubmit", {}, key="raz")

        assert first["id"] == second["id"]
