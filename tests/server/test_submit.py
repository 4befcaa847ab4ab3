"""Submitting: what is accepted is stored whole, once, with its event."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.server.serving import NOW, USER_NAME, Served, a_form, error_in

from tenuto.model.job import After, Checkpoint, Condition, JobSpec, Limits, Retry, Role, StartOrder
from tenuto.model.phase import Phase

EVERYTHING: dict[str, Any] = {
    "name": "영상 분류 7",
    "run": "python train.py --lr 0.1 && echo 完成",
    "setup": "pip install -r requirements.txt",
    "env": {"DANE": "/dane/żółw", "EPOCHS": 3},
    "workdir": "/praca/训练",
    "environment": "/opt/venv",
    "strategy": "command",
    "workers": "2..8",
    "preferred": 4,
    "roles": {"ps": {"count": 2, "run": ["python", "ps.py"], "limits": {"memory": "1GiB"}}},
    "limits": {"memory": "2GB", "cpus": 1.5, "files": 4096},
    "total": {"steps": 1000},
    "global_batch": 256,
    "deadline": "+6h",
    "curve": {"1": 3.2, "2": 6, "8": 20.5},
    "checkpoint": {"dir": "/ckpt", "every": 50},
    "priority": "urgent",
    "share": True,
    "start": "ordered",
    "labels": {"team": "vision", "이름표": "값"},
    "retry": {"failures": 2, "losses": 0},
    "max_duration": "2h30m",
    "grace": "45s",
    "params": {"lr": 0.1, "layers": [1, {"deep": None}]},
}


def test_every_field_of_a_job_goes_through_the_api_into_the_store_and_back(server: Served) -> None:
    first = server.submit("poprzednik")
    form = {**EVERYTHING, "after": {"job": "poprzednik", "condition": "any"}, "labels": {"team": "wizja"}}

    shown = server.post("/jobs", form)

    job = server.job(shown["id"])
    assert job.spec == JobSpec(
        name="영상 분류 7",
        run=("/bin/sh", "-c", "python train.py --lr 0.1 && echo 完成"),
        setup="pip install -r requirements.txt",
        env={"DANE": "/dane/żółw", "EPOCHS": "3"},
        workdir="/praca/训练",
        environment="/opt/venv",
        min_workers=2,
        max_workers=8,
        preferred=4,
        roles={"ps": Role(count=2, run=("python", "ps.py"), limits=Limits(memory=1 << 30))},
        limits=Limits(memory=2_000_000_000, cpus=1.5, files=4096),
        steps=1000,
        global_batch=256,
        deadline="+6h",
        curve={1: 3.2, 2: 6.0, 8: 20.5},
        checkpoint=Checkpoint(dir="/ckpt", every=50),
        urgent=True,
        share=True,
        start=StartOrder.ORDERED,
        after=After(job=first["id"], condition=Condition.ANY),
        labels={"team": "wizja"},
        retry=Retry(failures=2, losses=0),
        max_duration=9000.0,
        grace=45.0,
        params={"lr": 0.1, "layers": [1, {"deep": None}]},
    )
    assert (job.deadline, job.urgent, job.owner, job.phase) == (
        NOW + 6 * 3600,
        True,
        USER_NAME,
        Phase.SUBMITTED,
    )
    assert job.curve == {1: 3.2, 2: 6.0, 8: 20.5}
    assert job.progress.left == 1000
    again = server.post("/jobs", shown["spec"])
    assert server.job(again["id"]).spec == job.spec
    assert server.get(f"/jobs/{shown['id']}") == shown


def test_a_module_and_a_node_are_fields_too(server: Served) -> None:
    server.join("node-0")
    shown = server.submit(node="node-0", run=None, module="pkg.train --lr 0.1", total={"epochs": 3})

    spec = server.job(shown["id"]).spec

    assert spec.run == ("python", "-m", "pkg.train", "--lr", "0.1")
    assert (spec.node, spec.epochs, spec.steps) == ("node-0", 3.0, None)


def test_a_submission_leaves_an_event(server: Served) -> None:
    id_ = server.submit("wydarzenie")["id"]

    [event] = server.get("/events", job=id_)["items"]

    assert (event["kind"], event["actor"], event["after"]) == ("submitted", USER_NAME, "submitted")


def test_ids_are_short_unlike_each_other_and_easy_to_read_aloud(server: Served) -> None:
    ids = {server.submit()["id"] for _ in range(20)}

    assert len(ids) == 20
    assert all(len(id_) == 10 and set(id_) <= set("0123456789abcdefghjkmnpqrstvwxyz") for id_ in ids)


def test_the_same_key_makes_one_job_however_often_it_is_sent(server: Served) -> None:
    form = a_form("raz", deadline="+1m", curve={"1": 1.0}, total={"steps": 1})
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda _: server.post("/jobs", form, key="klucz-1")["id"], range(8)))
    server.clock.now += 3600  # by now the deadline has passed; the repetition is no new request

    made.append(server.post("/jobs", form, key="klucz-1")["id"])

    assert len(set(made)) == 1
    assert len(server.get("/jobs")["items"]) == 1


def test_the_same_key_with_another_request_is_refused(server: Served) -> None:
    server.post("/jobs", a_form("jedna"), key="klucz")
    before = server.everything()

    answer = server.http.post("/jobs", json=a_form("druga"), headers={"Idempotency-Key": "klucz"})

    assert (answer.status_code, error_in(answer)["code"]) == (409, "key_reused")
    assert server.everything() == before


def test_a_profile_gives_the_curve(server: Served) -> None:
    server.set_meta(profiles={"moja-sieć": {"1": 2.0, "2": 3.5}})

    id_ = server.submit(profile="moja-sieć", deadline="+1h", total={"steps": 10}, workers="1..2")["id"]

    assert server.job(id_).curve == {1: 2.0, 2: 3.5}
    assert server.job(id_).spec.profile == "moja-sieć"


def test_a_profile_that_nobody_knows_is_refused_with_a_guess(server: Served) -> None:
    server.set_meta(profiles={"moja-siec": {"1": 2.0}})

    error = server.refused("POST", "/jobs", a_form(profile="moja-siecc", workers="1..2"))

    assert (error["status"], error["field"]) == (422, "profile")
    assert "moja-siec?" in error["remedy"]


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("+90s", 90), ("2h30m", 9000), ("2027-01-15T08:05:00Z", 300), ("2027-01-15T17:05:00+09:00", 300)],
)
def test_a_deadline_may_be_written_in_several_ways(server: Served, written: str, seconds: float) -> None:
    id_ = server.submit(deadline=written, curve={"1": 1.0}, total={"steps": 1})["id"]

    assert server.job(id_).deadline == NOW + seconds


def test_a_deadline_without_a_curve_asks_for_measuring(server: Served) -> None:
    job = server.submit(deadline="+1h")

    assert job["spec"]["curve"] == "auto"


def test_a_deadline_given_later_asks_for_measuring_too(server: Served) -> None:
    id_ = server.submit()["id"]

    answer = server.http.patch(f"/jobs/{id_}", json={"deadline": "+1h"})

    assert answer.status_code == 200
    assert server.job(id_).spec.auto
