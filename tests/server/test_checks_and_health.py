"""Whether the platform is alive and ready, and how its nodes find themselves."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.serving import NOW, Served, error_in

from tenuto.doctor.finding import Finding, Status
from tenuto.engines.questions import Questions
from tenuto.model.node import NodeState
from tenuto.wire.node import Answer

LEADS = {"term": 3, "holder": "eine", "until": NOW + 10}
DECIDES = {"state": "deciding", "at": NOW}


def test_a_platform_that_decides_is_ready_without_a_token_and_by_either_path(server: Served) -> None:
    server.set_meta(controller=DECIDES, leadership=LEADS)
    root = server.url.removesuffix("/api/v1")

    for path in (f"{root}/readyz", f"{root}/api/v1/readyz"):
        answer = server.http.get(path, headers={"Authorization": ""})
        assert (answer.status_code, answer.json()["status"]) == (200, "ready")
    assert server.http.get(f"{root}/healthz", headers={"Authorization": ""}).status_code == 200


@pytest.mark.parametrize(
    ("meta", "told"),
    [
        ({"leadership": LEADS}, "the controller is not there"),
        ({"controller": {"state": "compiling"}, "leadership": LEADS}, "the controller is compiling"),
        ({"controller": DECIDES, "leadership": {**LEADS, "until": NOW - 30}}, "ended 30 s ago"),
        ({"controller": DECIDES, "leadership": LEADS, "draining": True}, "is being drained"),
    ],
)
def test_what_keeps_it_from_taking_work_is_told_in_a_sentence(
    server: Served, meta: dict[str, Any], told: str
) -> None:
    server.set_meta(**meta)

    refused = error_in(server.http.get("/readyz"))

    assert (refused["status"], refused["code"]) == (503, "not_ready")
    assert told in refused["message"]
    assert server.http.get("/healthz").status_code == 200


def test_a_history_that_cannot_be_written_keeps_nobody_from_work_and_is_told(server: Served) -> None:
    server.set_meta(controller=DECIDES, leadership=LEADS)
    assert server.http.get("/readyz").json()["warning"] == ""

    server.app.state.platform.files.series.trouble = "The disk is full"

    assert (
        "history of numbers is not written: The disk is full" in server.http.get("/readyz").json()["warning"]
    )


def test_trouble_beside_the_server_is_told_by_both(server: Served) -> None:
    server.app.state.trouble = lambda: "the controller died"

    for path in ("/healthz", "/readyz"):
        refused = error_in(server.http.get(path))
        assert (refused["status"], refused["message"]) == (503, "the controller died")


FOUND = Finding(topic="machine", name="время", status=Status.WARNING, told="spät", value=2.5, unit="seconds")


@pytest.fixture
def questions(server: Served) -> Questions:
    server.app.state.questions = made = Questions()
    return made


def test_each_node_answers_or_it_is_told_why_not(server: Served, questions: Questions) -> None:
    for name in ("отвечает", "late", "old"):
        server.join(name)
    server.join("gone", state=NodeState.OFFLINE)
    for name in ("отвечает", "late", "gone"):
        questions.for_node(name, 0)

    def answer() -> None:
        question = questions.for_node("отвечает", 0)
        assert question is not None
        questions.answer(Answer(node="отвечает", session="", question=question.id, findings=(FOUND,)))

    questions.on_question(answer)
    asked = {"nodes": ["gone", "отвечает", "late", "old"], "paths": ["/data"], "timeout": 0.2}
    items = server.post("/checks", asked)["items"]

    assert [(one["node"], one["answer"]) for one in items] == [
        ("gone", "offline"),
        ("отвечает", "answered"),
        ("late", "late"),
        ("old", "unable"),
    ]
    assert items[1]["findings"] == [
        {
            "topic": "machine",
            "name": "время",
            "status": "warning",
            "told": "spät",
            "remedy": "",
            "value": 2.5,
            "unit": "seconds",
        }
    ]


@pytest.mark.parametrize(
    ("wish", "status", "field"),
    [
        ({"nodes": ["nobody"]}, 404, None),
        ({"nodes": []}, 422, "nodes"),
        ({"nodes": ["a"], "paths": ["data"]}, 422, "paths.0"),
        ({"nodes": ["a"], "timeout": 1e9}, 422, "timeout"),
        ({"nodes": ["a"], "path": ["/data"]}, 422, "path"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    server: Served, questions: Questions, wish: dict[str, Any], status: int, field: str | None
) -> None:
    refused = server.refused("POST", "/checks", wish)

    assert (refused["status"], refused["field"]) == (status, field)
    assert questions.answers(1) == {}
