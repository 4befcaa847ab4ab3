"""What one client may cost the HTTP server: header bytes, header time, slow bodies, connections, work per error."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.security.raw_client import RawClient
from tests.security.route_walk import all_routes
from tests.server.serving import NODE_TOKEN, NOW, TOKEN, Served, a_form, a_server

from tenuto import suggest
from tenuto.server.large_bodies import BodyRoute
from tenuto.settings import Serving, Settings
from tenuto.wire import asks, fields, json_limits, problems

AUTHORIZATION = f"Bearer {TOKEN}"
HEADER_BYTES = 8 << 10
PER_ADDRESS = 5


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    limits = Serving(header_bytes=HEADER_BYTES, connections_per_address=PER_ADDRESS)
    with a_server(tmp_path_factory.mktemp("server"), Settings(serving=limits)) as served:
        yield served


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that waits half a second at most."""
    limits = Serving(header_seconds=0.5, body_seconds=0.5, body_rate=1000, idle_seconds=60)
    with a_server(tmp_path_factory.mktemp("server"), Settings(serving=limits)) as served:
        yield served


def answers(client: RawClient, **headers: str) -> bool:
    client.request("GET", "/api/v1/healthz", **headers)
    return client.response()[0] == 200


# headers


def test_an_endless_header_is_refused_at_its_limit(server: Served) -> None:
    with RawClient(server.url) as client:
        client.send("GET / HTTP/1.1\r\nX: ")
        for _ in range(64):
            client.send("a" * (HEADER_BYTES // 32))

        status, error = client.response()
        assert (status, error["code"]) == (431, "headers_too_large")
        assert client.is_closed()


def test_an_endless_request_line_is_refused_at_its_limit(server: Served) -> None:
    with RawClient(server.url) as client:
        client.send("GET /" + "a" * (2 * HEADER_BYTES))

        assert client.response()[0] == 431


def test_headers_up_to_the_limit_are_taken_even_with_a_body_in_the_same_piece(server: Served) -> None:
    body = json.dumps(a_form(labels={"note": "x" * 200})).encode()
    head = (
        f"POST /api/v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {AUTHORIZATION}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nX: "
    ).encode()
    padding = HEADER_BYTES - len(head) - 4
    with RawClient(server.url) as client:
        client.send(head + b"x" * padding + b"\r\n\r\n" + body)

        assert client.response()[0] == 201


def test_too_many_headers_are_refused(server: Served) -> None:
    with RawClient(server.url) as client:
        client.send("GET /api/v1/healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n" + "a:\r\n" * 500 + "\r\n")

        assert client.response()[0] == 431


def test_many_requests_at_once_are_refused(server: Served) -> None:
    with RawClient(server.url) as client:
        client.send("GET /api/v1/healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 500)

        assert client.is_closed() or server.http.get("/healthz").is_success


def test_what_is_not_http_is_refused(server: Served) -> None:
    with RawClient(server.url) as client:
        client.send("\x16\x03\x01 is no request\r\n\r\n")

        status, error = client.response()
        assert (status, error["code"]) == (400, "broken_request")


# time


def test_headers_that_do_not_end_in_time_are_refused(hasty: Served) -> None:
    with RawClient(hasty.url) as client:
        client.send("GET / HTTP/1.1\r\nX: a")

        status, error = client.response()
        assert (status, error["code"]) == (408, "too_slow")
        assert client.is_closed()


def test_a_connection_without_a_request_is_closed(hasty: Served) -> None:
    with RawClient(hasty.url) as client:
        assert client.is_closed()


def test_the_second_request_of_a_connection_has_the_same_time(hasty: Served) -> None:
    with RawClient(hasty.url) as client:
        assert answers(client, Authorization=AUTHORIZATION)
        client.send("GET / HTTP/1.1\r\n")

        assert client.response()[0] == 408


def test_line_feeds_do_not_keep_a_connection_open(hasty: Served) -> None:
    with RawClient(hasty.url) as client:
        assert answers(client)
        client.send("\r\n")

        assert client.response()[0] == 408


def test_a_slow_body_is_refused(hasty: Served) -> None:
    with RawClient(hasty.url) as client:
        client.request(
            "POST",
            "/api/v1/jobs",
            Authorization=AUTHORIZATION,
            Content_Length="5000",
            Content_Type="application/json",
        )
        client.send("{")

        status, error = client.response()
        assert (status, error["code"]) == (408, "too_slow")


def test_a_body_after_a_refusal_does_not_keep_the_connection_open(hasty: Served) -> None:
    with RawClient(hasty.url) as client:
        client.request("POST", "/api/v1/jobs", Content_Length="5000000")

        assert client.response()[0] == 401
        assert client.is_closed()


def test_a_request_that_is_answered_late_is_left_alone(hasty: Served) -> None:
    """A long poll waits for longer than headers or bodies may take."""
    job = hasty.submit()
    with RawClient(hasty.url) as client:
        wait = f"/api/v1/jobs/{job['id']}/wait?timeout=1.5"
        client.request("GET", wait, Authorization=AUTHORIZATION)

        assert client.response()[0] in (200, 404)


# connections


@contextmanager
def half_open(server: Served, count: int) -> Iterator[None]:
    with ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(RawClient(server.url)).send("GET / HTTP/1.1\r\nX: a")
        yield


def test_half_open_connections_lock_nobody_out(server: Served) -> None:
    with half_open(server, 10 * PER_ADDRESS), RawClient(server.url) as client:
        assert answers(client)


def test_unauthenticated_connections_of_an_address_displace_each_other(server: Served) -> None:
    with RawClient(server.url, "127.0.0.2") as first, ExitStack() as stack:
        assert answers(first)
        others = [stack.enter_context(RawClient(server.url, "127.0.0.2")) for _ in range(PER_ADDRESS)]
        assert all(answers(other) for other in others)

        assert first.is_closed()


@pytest.mark.parametrize("token", [TOKEN, NODE_TOKEN])
def test_an_authenticated_connection_is_not_displaced(server: Served, token: str) -> None:
    with RawClient(server.url) as known:
        known.request("POST", "/api/v1/jobs/x/metrics", Authorization=f"Bearer {token}", Content_Length="0")
        known.response()

        with half_open(server, 3 * PER_ADDRESS), RawClient(server.url) as last:
            assert answers(last)
            assert answers(known)


def test_all_connections_together_are_limited(tmp_path: Path) -> None:
    limits = Serving(connections=3)
    with a_server(tmp_path, Settings(serving=limits)) as server, ExitStack() as stack:
        known = [stack.enter_context(RawClient(server.url)) for _ in range(3)]
        for client in known:
            client.request("GET", "/api/v1/jobs", Authorization=AUTHORIZATION)
            assert client.response()[0] == 200

        status, error = stack.enter_context(RawClient(server.url)).response()
        assert (status, error["code"]) == (503, "too_many_connections")


def test_a_configured_proxy_is_exempt(tmp_path: Path) -> None:
    limits = Serving(connections_per_address=2, proxies="10.9.0.0/16 127.0.0.3")
    with a_server(tmp_path, Settings(serving=limits)) as server, ExitStack() as stack:
        clients = [stack.enter_context(RawClient(server.url, "127.0.0.3")) for _ in range(6)]

        assert all(answers(client) for client in clients)
        assert all(answers(client) for client in clients)


# work per error


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many problems were translated, and for how many names a suggestion was looked for."""
    counts: Counter[str] = Counter()

    def count(name: str, real: Callable[..., Any]) -> None:
        def counted(*arguments: Any) -> Any:
            counts[name] += 1
            return real(*arguments)

        monkeypatch.setattr(problems, name, counted)

    count("did_you_mean", suggest.did_you_mean)
    count("_problem", problems._problem)
    return counts


@pytest.mark.parametrize(
    ("method", "path", "around"),
    [
        ("POST", "/jobs", lambda keys: keys),
        ("POST", "/jobs", lambda keys: a_form(resources=keys)),
        ("POST", "/jobs", lambda keys: a_form(roles=keys)),
        ("POST", "/jobs/x/scale", lambda keys: {"nodes": dict.fromkeys(keys, -1)}),
        ("POST", "/plan", lambda keys: {"jobs": [{key: 1} for key in list(keys)[:500]]}),
        ("POST", "/whatif", lambda keys: {"deadlines": dict.fromkeys(keys, "?")}),
        ("PUT", "/policy/shadows", lambda keys: {"policies": [keys]}),
    ],
)
def test_a_body_with_65000_wrong_keys_costs_little(
    server: Served, work: Counter[str], method: str, path: str, around: Callable[[Any], Any]
) -> None:
    body = around({f"k{index}": 1 for index in range(65_000)})

    refusal = server.refused(method, path, body)

    assert (refusal["status"], refusal["code"]) == (422, "input_invalid")
    assert len(json.dumps(refusal)) < 4000
    assert 0 < work["_problem"] <= problems.MAX_PROBLEMS
    assert work["did_you_mean"] <= problems.MAX_PROBLEMS


def test_a_query_with_thousands_of_unknown_names_costs_little(server: Served, work: Counter[str]) -> None:
    query = "&".join(f"nme{index}" for index in range(800))

    assert server.refused("GET", f"/jobs?{query}")["status"] == 422
    assert 0 < work["did_you_mean"] <= problems.MAX_PROBLEMS


def test_a_key_of_a_megabyte_is_not_repeated(server: Served) -> None:
    refusal = server.refused("POST", "/jobs", {**a_form(), "x" * 900_000: 1})

    assert refusal["status"] == 422
    assert len(json.dumps(refusal)) < 4000


def test_the_server_answers_while_a_large_body_is_validated(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, may_go_on = threading.Event(), threading.Event()
    check = fields._is_letter

    def slow(character: str) -> bool:
        entered.set()
        assert may_go_on.wait(20)
        return check(character)

    with ThreadPoolExecutor(1) as pool:
        monkeypatch.setattr(fields, "_is_letter", slow)
        job = a_form(env={f"A{index}": "x" * 100 for index in range(500)})
        submitted = pool.submit(server.post, "/jobs", job)
        try:
            assert entered.wait(20)
            with RawClient(server.url) as client:
                assert answers(client)
        finally:
            may_go_on.set()
        assert len(server.job(submitted.result()["id"]).spec.env) == 500


def test_records_of_a_large_body_are_checked_once_and_in_a_thread(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked_in: list[str] = []
    check = json_limits.check_json

    def noted(value: object, limits: json_limits.JsonLimits) -> None:
        checked_in.append(threading.current_thread().name)
        check(value, limits)

    monkeypatch.setattr(asks, "check_json", noted)
    job = server.submit()
    records = [
        {"seq": seq, "kind": "step", "step": seq, "generation": 1, "at": NOW, "note": "x" * 200}
        for seq in range(200)
    ]

    server.post(f"/jobs/{job['id']}/metrics", {"worker": f"{job['id']}.1.worker.0", "records": records})

    assert len(checked_in) == len(records)
    assert "server under test" not in checked_in


def test_a_large_body_that_is_no_json_is_refused(server: Served) -> None:
    response = server.http.post(
        "/jobs", content='"' + "x" * 100_000, headers={"Content-Type": "application/json"}
    )

    assert (response.status_code, response.json()["code"]) == (400, "broken_json")


def test_every_route_with_a_body_validates_large_ones_in_a_thread(server: Served) -> None:
    routes = [route for route in all_routes(server.app) if getattr(route, "body_field", None) is not None]

    assert len(routes) >= 11
    assert [route.path for route in routes if not isinstance(route.original_route, BodyRoute)] == []


# addresses of clients behind proxies


def stranger_seen(server: Served, caplog: pytest.LogCaptureFixture, source: str) -> str:
    """The address that the log names for a request without a token."""
    with caplog.at_level("WARNING", "tenuto.clients"), RawClient(server.url, source) as client:
        client.request("GET", "/api/v1/jobs", X_Forwarded_For="203.0.113.7")
        assert client.response()[0] == 401
    return caplog.records[-1].getMessage().removeprefix("a request from ").split()[0]


def test_forwarded_addresses_count_only_from_configured_proxies(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with a_server(tmp_path, Settings(serving=Serving(proxies="127.0.0.3"))) as server:
        assert stranger_seen(server, caplog, "127.0.0.3") == "203.0.113.7"
        assert stranger_seen(server, caplog, "127.0.0.1") == "127.0.0.1"
