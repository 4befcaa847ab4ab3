"""Doors: known host, known token, of the right kind; and what browsers are told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.server.serving import NODE_TOKEN, QUICK, TOKEN, Served, a_server, error_in

from tenuto.server.auth import digest_of
from tenuto.settings import Serving, Settings
from tenuto.store.base import Token


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all: nobody changes anything at its door."""
    with a_server(tmp_path_factory.mktemp("server")) as served:
        yield served


def asked(server: Served, path: str, **headers: str) -> httpx.Response:
    return httpx.get(f"{server.url}{path}", headers=headers, **QUICK)


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer wrong",
        f"Basic {TOKEN}",
        f"bearer {TOKEN}x",
        f"Bearer {NODE_TOKEN}",
        "Bearer " + "x" * 5000,
    ],
)
def test_without_the_right_token_nobody_gets_in_and_all_refusals_are_alike(
    server: Served, header: str | None
) -> None:
    answer = asked(server, "/api/v1/jobs", **({} if header is None else {"Authorization": header}))

    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert error_in(answer)["message"] == "the token is missing or not known here"


def test_the_scheme_may_be_written_in_any_case(server: Served) -> None:
    assert asked(server, "/api/v1/jobs", Authorization=f"bEaReR {TOKEN}").status_code == 200


def test_a_token_counts_from_the_moment_it_is_known(server: Served) -> None:
    header = {"Authorization": "Bearer nowy"}
    assert asked(server, "/api/v1/jobs", **header).status_code == 401

    server.store.write(lambda tx: tx.add_token(Token(digest=digest_of("nowy"), user="Zofia")))

    assert asked(server, "/api/v1/jobs", **header).status_code == 200


@pytest.mark.parametrize(
    "path", ["//api/v1/jobs", "/api%2Fv1/jobs", "/api/v1//jobs", "/api/v1/jobs/", "/API/v1/jobs"]
)
def test_there_is_no_way_round_the_door(server: Served, path: str) -> None:
    assert asked(server, path).status_code in (401, 404)


def test_a_stranger_is_refused_before_the_body_is_read(server: Served) -> None:
    answer = httpx.post(f"{server.url}/api/v1/jobs", content=b"{broken", **QUICK)

    assert answer.status_code == 401


@pytest.mark.parametrize("path", ["/api/v1/healthz", "/api/v1/openapi.json"])
def test_health_and_description_need_no_token(server: Served, path: str) -> None:
    assert asked(server, path).status_code == 200


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/api/v1/docs"])
def test_there_is_no_page_that_fetches_scripts_from_elsewhere(server: Served, path: str) -> None:
    assert asked(server, path, Authorization=f"Bearer {TOKEN}").status_code == 404


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "192.168.0.1", ""]
)
def test_a_server_on_loopback_answers_to_no_other_name(server: Served, host: str) -> None:
    answer = asked(server, "/api/v1/healthz", Host=host)

    assert (answer.status_code, error_in(answer)["code"]) == (400, "host_not_known")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1234", "127.0.0.1:80", "127.0.0.2", "[::1]:8080"])
def test_it_answers_to_every_name_of_this_machine(server: Served, host: str) -> None:
    assert asked(server, "/api/v1/healthz", Host=host).status_code == 200


def test_a_server_for_others_may_be_called_anything(tmp_path: Path) -> None:
    with a_server(tmp_path, Settings(serving=Serving(host="0.0.0.0"))) as server:
        assert asked(server, "/api/v1/healthz", Host="gpu-box.lab").status_code == 200


def test_browsers_are_told_to_keep_their_hands_off(server: Served) -> None:
    for path in ("/api/v1/healthz", "/api/v1/nothing", "/api/v1/jobs"):
        answer = asked(server, path)
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cache-Control"] == "no-store"
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert "Access-Control-Allow-Origin" not in answer.headers
