"""Errors: one shape for all of them, documented, and none of them ours unless it is."""

from __future__ import annotations

import json
import logging
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.serving import QUICK, Served, a_form, a_server, error_in

from tenuto.server.errors import CODES
from tenuto.settings import Serving, Settings
from tenuto.store.base import StoreUnavailable

DOCUMENT = Path(__file__).parents[2] / "docs" / "api.md"
SRC = Path(__file__).parents[2] / "src" / "tenuto"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all: whatever goes wrong changes nothing."""
    with a_server(tmp_path_factory.mktemp("server")) as served:
        yield served


def test_an_unknown_page_and_a_wrong_method_are_told_so(server: Served) -> None:
    assert server.refused("GET", "/jbos")["code"] == "not_found"
    answer = server.http.put("/jobs")

    assert (answer.status_code, error_in(answer)["code"]) == (405, "wrong_method")
    assert set(answer.headers["Allow"].replace(" ", "").split(",")) >= {"GET", "POST"}


def test_even_outside_the_api_the_shape_is_the_same(server: Served) -> None:
    answer = httpx.get(f"{server.url}/nothing/here", **QUICK)

    assert (answer.status_code, error_in(answer)["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    "body", [b"{", b"[1,", b"\xff\xfe", b'{"name": "\xed\xa0\x80"}', b"[" * 100_000, b"1" * 5000]
)
def test_a_body_that_is_no_json_is_told_so(server: Served, body: bytes) -> None:
    answer = server.http.post("/jobs", content=body, headers={"Content-Type": "application/json"})

    error = error_in(answer)
    assert error["status"] in (400, 422)
    assert error["code"] in ("broken_json", "input_invalid")
    assert server.get("/jobs")["items"] == []


def test_a_body_that_is_not_declared_as_json_is_told_so(server: Served) -> None:
    answer = server.http.post("/jobs", content=b"name=a&run=b")

    assert "Content-Type: application/json" in error_in(answer)["remedy"]


def test_numbers_that_json_does_not_know_are_refused(server: Served) -> None:
    body = b'{"name": "a", "run": "b", "params": {"x": NaN}}'
    answer = server.http.post("/jobs", content=body, headers={"Content-Type": "application/json"})

    assert error_in(answer)["status"] == 422


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Served]:
    """A server that takes at most a thousand bytes."""
    with a_server(tmp_path, Settings(serving=Serving(max_body=1000))) as served:
        yield served


def test_a_large_body_is_refused_whether_announced_or_not(small: Served) -> None:
    large = json.dumps(a_form("x" * 50, setup="y" * 1000)).encode()
    before = small.everything()

    def pieces() -> Iterator[bytes]:
        yield large[:600]
        yield large[600:]

    for content in (large, pieces()):
        answer = small.http.post("/jobs", content=content, headers={"Content-Type": "application/json"})
        assert (answer.status_code, error_in(answer)["code"]) == (413, "too_large")

    assert small.everything() == before
    assert small.submit()["state"] == "submitted"


def test_an_endless_body_is_not_read_to_its_end(small: Served) -> None:
    host, _, port = small.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=20.0) as line:
        head = small.http.headers["Authorization"]
        line.sendall(
            f"POST /api/v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {head}\r\n"
            "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        )
        line.sendall(b"7d0\r\n" + b" " * 2000 + b"\r\n")  # no last chunk ever comes

        assert line.recv(4096).startswith(b"HTTP/1.1 413")


def test_what_nobody_foresaw_gets_a_number_that_stands_in_the_log(
    server: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("the secret recipe")

    monkeypatch.setattr("tenuto.server.jobs.shown_jobs", fail)
    with caplog.at_level(logging.ERROR):
        error = server.refused("GET", "/jobs")

    assert (error["status"], error["code"]) == (500, "internal")
    found = re.search(r"incident (\w+)", error["message"])
    assert found is not None and found[1] in caplog.text
    assert "secret" not in json.dumps(error)
    assert "the secret recipe" in caplog.text


def test_a_store_that_takes_no_writes_is_told_so(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: Any) -> None:
        raise StoreUnavailable("the disk is full", remedy="Make room and try again")

    monkeypatch.setattr(server.app.state.platform.store, "begin", full)

    error = server.refused("POST", "/jobs", a_form())

    assert (error["status"], error["code"]) == (503, "store_unavailable")


def test_every_code_in_the_program_is_in_the_table() -> None:
    written = set()
    for file in [*(SRC / "server").glob("*.py")]:
        written |= set(re.findall(r'code="(\w+)"', file.read_text(encoding="utf-8")))

    assert written <= set(CODES)
    elsewhere = {"not_found", "conflict", "not_allowed", "input_invalid", "store_unavailable", "gap", "busy"}
    elsewhere |= {"not_well", "not_ready"}
    assert written | elsewhere == set(CODES)


def test_the_documentation_has_the_same_table() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| (\d{3}) \| (.+?) \|$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE
    )

    assert {code: (int(status), meaning) for code, status, meaning in rows} == CODES


def test_every_operation_documents_every_error(server: Served) -> None:
    described = server.get("/openapi.json")

    assert set(described["components"]["schemas"]["ErrorOut"]["properties"]) == {
        "code",
        "message",
        "remedy",
        "field",
    }
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            statuses = {int(status) for status in operation["responses"]}
            assert statuses >= {status for status, _ in CODES.values()}, f"{method} {path}"


def test_the_description_holds_together(server: Served) -> None:
    described = server.get("/openapi.json")

    names = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(described)))
    assert names <= set(described["components"]["schemas"])
    # Of two models with one name pydantic makes two with the names of their modules.
    assert not [name for name in described["components"]["schemas"] if "__" in name]
    ids = [operation["operationId"] for path in described["paths"].values() for operation in path.values()]
    assert len(ids) == len(set(ids))
    assert not any(page.startswith("/api/node") for page in described["paths"])
