"""Every operation of the API with JSON that some parsers take and others do not: no 5xx, and nothing is unreadable.

The operations and their usual bodies come from the description of the API, so that new ones are attacked as well.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from schemathesis import GenerationMode
from tests.security.poison import all_poisoned, forget_decoded, poisoned
from tests.server.a_busy_platform import busy
from tests.server.serving import NOW, Served, a_server
from tests.server.test_whole_api import (
    LONG,
    OPERATIONS,
    QUICKLY,
    SOON,
    STREAM,
    TESTED,
    USUAL,
    Operation,
    served_places,
)

WITH_BODY = [label for label in TESTED if list(OPERATIONS[label].body)]
METRICS = "POST /api/v1/jobs/{ref}/metrics"
PARAMS: dict[str, Any] = {"lr": 0.1, "layers": [1, {"wide": True}], "name": "größer"}
RICH: dict[str, dict[str, Any]] = {
    **USUAL,
    "POST /api/v1/jobs": {
        **USUAL["POST /api/v1/jobs"],
        "params": PARAMS,
        "labels": {"team": "vision"},
        "env": {"A": "b"},
        "limits": {"memory": "2GB"},
    },
    "POST /api/v1/jobs/{ref}/resubmit": {"edit": {"params": PARAMS, "labels": {"team": "vision"}}},
    "PUT /api/v1/policy": {"name": "edf", "settings": {}},
}
"""Bodies that are granted, with every part that may hold free-form values."""
QUERY_TEXTS = ("9" * 400, "-" + "9" * 5000, "%ED%A0%80", "%00", "²", "1e999", "NaN", "[" * 300)


def usual_body(label: str, path: dict[str, str]) -> Any:
    if label != METRICS:
        return RICH.get(label)
    record = {"seq": 0, "kind": "rescale", "at": NOW, "generation": 1, "step": 1, "world": 1, "rank": 0}
    values = {"values": {"loss": 0.5}, "pause_ms": 3.5, "before": 1, "after": 2, "why": "grown", "node": "n"}
    return {"worker": f"{path['ref']}.1.worker.0", "first": 0, "records": [{**record, **values}]}


def send(served: Served, operation: Operation, path: dict[str, str], **sent: Any) -> httpx.Response:
    """Send a request; its answer is one that was announced, in the one shape that errors have."""
    where = operation.path
    for name, value in path.items():
        where = where.replace(f"{{{name}}}", quote(value, safe=""))
    answer = served.http.request(operation.method.upper(), f"{served.url}{where}", **sent)
    assert answer.status_code < 500, (operation.label, answer.text)
    if answer.status_code >= 400:
        assert set(answer.json()) == {"code", "message", "remedy", "field"}
    return answer


def post(served: Served, label: str, path: dict[str, str], text: str) -> None:
    send(served, OPERATIONS[label], path, content=text, headers={"Content-Type": "application/json"})


def poison_usual_bodies(served: Served, label: str) -> None:
    """Send every poison in every place of a body that is granted otherwise."""
    path = {name: known[0] for name, known in served_places(served).items() if f"{{{name}}}" in label}
    body = usual_body(label, path)
    for text in [] if body is None else all_poisoned(body):
        post(served, label, path, text)


def poison_any_bodies(served: Served, label: str, settings: Any) -> None:
    """Send bodies that are drawn from the description, with poison somewhere in them."""
    places = served_places(served)

    @settings  # type: ignore[untyped-decorator]
    @given(
        case=OPERATIONS[label].as_strategy(generation_mode=GenerationMode.POSITIVE),
        data=st.data(),
    )
    def ask(case: Any, data: st.DataObject) -> None:
        path = {name: data.draw(st.sampled_from(places[name])) for name in case.path_parameters or {}}
        body = case.body if isinstance(case.body, dict) else {}
        post(served, label, path, data.draw(poisoned(body)))

    ask()


def everything_shown(served: Served) -> dict[str, Any]:
    """Everything that can be read of a platform, through the API."""
    jobs = [job["id"] for job in pages(served, "/jobs")]
    shown: dict[str, Any] = {"nodes": served.get("/nodes")["items"], "policy": served.get("/policy")["name"]}
    for id_ in jobs:
        shown[id_] = served.get(f"/jobs/{id_}")["spec"]
        shown[f"{id_}/metrics"] = served.get(f"/jobs/{id_}/metrics")
        shown[f"{id_}/logs"] = served.get(f"/jobs/{id_}/logs")["parts"]
    for path in ("/table/jobs", "/cluster", "/overview", "/timeline", "/report", "/scaling", "/curves"):
        served.get(path)
    assert served.http.get(f"{served.url}/metrics").status_code == 200
    shown["events"] = pages(served, "/events")
    return shown


def pages(served: Served, path: str) -> list[Any]:
    found: list[Any] = []
    query: dict[str, Any] = {"limit": 500}
    while True:
        page = served.get(path, **query)
        found += page["items"]
        if not page["next"] or not page["items"]:
            return found
        query["after" if path == "/events" else "cursor"] = page["next"]


@pytest.mark.parametrize("label", WITH_BODY)
def test_poison_in_a_body_is_answered_and_leaves_nothing_unreadable(tmp_path: Path, label: str) -> None:
    with a_server(tmp_path) as served:
        busy(served)
        poison_usual_bodies(served, label)
        poison_any_bodies(served, label, QUICKLY)
        before = everything_shown(served)
    forget_decoded()
    with a_server(tmp_path) as again:
        after = everything_shown(again)
    assert after == before
    assert not [event for event in after["events"] if event["kind"] == "unreadable"]


@pytest.mark.attack
def test_much_poison_in_every_body_is_answered(tmp_path: Path) -> None:
    with a_server(tmp_path) as served:
        busy(served)
        for label in WITH_BODY:
            poison_any_bodies(served, label, LONG)
        everything_shown(served)
        assert not served.get("/events", kind="unreadable")["items"]


def test_poison_in_any_parameter_is_answered(tmp_path: Path) -> None:
    with a_server(tmp_path) as served:
        busy(served)
        for label in TESTED:
            operation = OPERATIONS[label]
            path = {one.name: "node-0" for one in operation.path_parameters}
            for name in [one.name for one in operation.query]:
                hurry = f"&timeout={SOON}" if label == STREAM and name != "timeout" else ""
                for text in QUERY_TEXTS:
                    send(served, operation, path, params=f"{name}={text}{hurry}")
            for name in path:
                for text in ("²", "\0", "9" * 400, "\x1b]0;x\x07", "a" * 3000):
                    send(served, operation, {name: text})
