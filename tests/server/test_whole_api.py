"""Every operation of the API, as its description says: whatever is sent, the answer is one that was announced.

schemathesis draws requests from the OpenAPI description of a running server, so an endpoint is tested the day it is
added. No supervisor is there: what is submitted here is drawn by chance, and nobody shall ever run it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import APIOperation, Case, GenerationMode
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.core.result import Ok
from tests.server.a_busy_platform import busy
from tests.server.serving import Served, a_form, a_server

from tenuto.server.app import create_app
from tenuto.server.platform import Files
from tenuto.settings import Settings
from tenuto.store.logs import LogStore
from tenuto.store.memory import MemoryStore
from tenuto.store.steps import StepStore

Operation = APIOperation[Any, Any, Any, Any]
load_all_checks()
CHECKED: list[Any] = CHECKS.get_by_names(
    [
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_headers_conformance",
        "response_schema_conformance",
        "allow_header_conformance",
    ]
)
ENDS_THE_PLATFORM = "POST /api/v1/down"
"""Afterwards nothing would be as the other tests expect it; it has a test of its own below."""
STREAM = "GET /api/v1/events/stream"
SOON = 0.05
"""Seconds; nobody waits longer here for what may never come."""
USUAL: dict[str, dict[str, Any]] = {
    "POST /api/v1/jobs": a_form("학습", workers="1..4", total={"steps": 100}, curve={"1": 1.0}),
    "PATCH /api/v1/jobs/{ref}": {"priority": "urgent"},
    "POST /api/v1/jobs/{ref}/scale": {"workers": 2},
    "POST /api/v1/jobs/{ref}/curve": {"curve": {"1": 1.0, "2": 1.9}},
    "POST /api/v1/jobs/{ref}/resubmit": {"edit": {"priority": "urgent"}},
    "PUT /api/v1/policy": {"name": "edf"},
    "POST /api/v1/plan": {"jobs": [a_form("학습", total={"steps": 100}, curve={"1": 1.0}, deadline="+9h")]},
    "POST /api/v1/whatif": {"lose": ["node-0"], "all": True},
    "POST /api/v1/checks": {"nodes": ["node-0"], "timeout": 1},
    "PUT /api/v1/policy/shadows": {"policies": [{"name": "fifo"}, {"name": "edf"}]},
}
"""Bodies that are granted: with one or two values drawn by chance a request gets far into the server."""
QUICKLY: Any = settings(
    max_examples=12,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
LONG = settings(QUICKLY, max_examples=300, derandomize=False, print_blob=True)


def _description() -> dict[str, Any]:
    store = MemoryStore()
    nowhere = Path("/nonexistent")
    app = create_app(store, Files(LogStore(nowhere, 1), StepStore(nowhere, 1)), Settings(), lambda: 0.0)
    return app.openapi()


def _operations() -> Iterator[Operation]:
    for found in schemathesis.openapi.from_dict(_description()).get_all_operations():
        assert isinstance(found, Ok), found
        yield found.ok()


OPERATIONS = {operation.label: operation for operation in _operations()}
TESTED = [label for label in OPERATIONS if label != ENDS_THE_PLATFORM]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with a_server(tmp_path_factory.mktemp("api")) as served:
        busy(served)
        yield served


@pytest.mark.parametrize("label", TESTED)
def test_every_answer_was_announced(server: Served, label: str) -> None:
    QUICKLY(asking(server, OPERATIONS[label]))()


@pytest.mark.big
@pytest.mark.parametrize("label", TESTED)
def test_every_answer_was_announced_however_often_it_is_asked(server: Served, label: str) -> None:
    LONG(asking(server, OPERATIONS[label]))()


def test_the_end_of_the_platform_is_announced_as_well(tmp_path: Path) -> None:
    with a_server(tmp_path) as served:
        QUICKLY(asking(served, OPERATIONS[ENDS_THE_PLATFORM]))()

        assert served.get("/cluster")["draining"]


def test_what_is_described_is_what_is_tested(server: Served) -> None:
    described = server.get("/openapi.json")["paths"]
    operations = {f"{method.upper()} {path}" for path, methods in described.items() for method in methods}

    assert operations == set(OPERATIONS)
    assert set(TESTED) == operations - {ENDS_THE_PLATFORM}


def asking(served: Served, operation: Operation) -> Callable[[], None]:
    """Send what fits the description and what does not, about things that are there and things that are not."""
    fitting = operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
    unfit = operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)
    places = served_places(served)

    @given(case=fitting | unfit, there=st.booleans(), data=st.data())
    def ask(case: Case[Any], there: bool, data: st.DataObject) -> None:
        for name, known in places.items():
            if there and name in (case.path_parameters or {}):
                case.path_parameters[name] = data.draw(st.sampled_from(known))
        usual = USUAL.get(operation.label)
        if there and usual is not None and isinstance(case.body, dict):
            kept = data.draw(st.sets(st.sampled_from([*case.body, ""]), max_size=2))
            case.body = {**usual, **{key: case.body[key] for key in kept if key}}
        hurry(case)
        case.call_and_validate(base_url=served.url, headers=dict(served.http.headers), checks=CHECKED)

    return ask


def served_places(served: Served) -> dict[str, list[str]]:
    """What can be named in a path."""
    return {
        "ref": [job["id"] for job in served.get("/jobs", limit=500)["items"]],
        "name": [node["name"] for node in served.get("/nodes")["items"]],
    }


def hurry(case: Case[Any]) -> None:
    """What is there to wait is not waited for."""
    asked = case.query or {}
    if case.operation.label == STREAM or {"wait", "timeout"} & set(asked):
        case.query = {**asked, "timeout": SOON}
