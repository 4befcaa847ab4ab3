"""Operating a real platform: the doctor asks its nodes, its log tells who did what, and it ends when told to."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.e2e.platform import HANG, PROGRAM, Platform, eventually

LINE = re.compile(r"(    .*|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d (DEBUG|INFO|WARNING|ERROR) [\w.]+: .*)")
CONTENT = "geheimnis-42"


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    made = Platform(tmp_path_factory.mktemp("platform"), "--nodes", "2", "--slots", "2")
    try:
        made.up()
        eventually(lambda: _is_ready(made), "the platform is ready")
        yield made
        made.down()
        made.leaves_nothing()
    finally:
        made.end()


def _is_ready(platform: Platform) -> bool:
    return httpx.get(f"{platform.told['url']}/readyz").status_code == 200


def test_every_node_looks_at_itself(platform: Platform, tmp_path: Path) -> None:
    there = tmp_path / "данные"
    there.mkdir()

    told = platform.json("doctor", "--all-nodes", "--path", str(there))

    assert told["well"]
    assert {one["node"]: one["answer"] for one in told["nodes"]} == {
        "node-0": "answered",
        "node-1": "answered",
    }
    for node in told["nodes"]:
        found = {(one["topic"], one["name"]): one for one in node["findings"]}
        assert found["directories", str(there)]["status"] == "ok"
        assert found["parts", "python"]["told"]
        assert found["server", "to the server"]["value"] > 0
        assert abs(found["server", "clock"]["value"]) < HANG
    here = {(one["topic"], one["name"]): one for one in told["findings"]}
    assert here["server", "readiness"]["status"] == here["home", "store"]["status"] == "ok"


def test_a_node_that_lacks_a_directory_makes_the_whole_unwell(platform: Platform) -> None:
    told = platform.json("doctor", "--all-nodes", "--path", "/нет/такого", code=1)

    assert not told["well"]
    assert all(any(one["status"] == "problem" for one in node["findings"]) for node in told["nodes"])


def test_the_log_tells_who_did_what_and_no_secret(platform: Platform) -> None:
    platform.cli("run", "--name", "학습", "--env", f"TOKEN={CONTENT}", "--", "sh", "-c", "echo $TOKEN")
    platform.cli("delete", "학습", "--yes")
    platform.cli("node", "drain", "node-1")
    platform.cli("node", "undrain", "node-1")
    with httpx.Client(base_url=platform.told["url"]) as stranger:
        assert stranger.get("/api/v1/jobs", headers={"Authorization": "Bearer wrong"}).status_code == 401

    def told() -> list[str]:
        return platform.cli("server", "log", "--tail", "1000").splitlines()

    user = platform.json("events", "--kind", "deleted")["items"][0]["actor"]
    expected = [
        r"tenuto: tenuto \S+ listens at http://127",
        rf"clients: online from 127\.0\.0\.1 with tenuto/\S+ actor={user}",
        r"nodes: its supervisor says hello from \S+ \(tenuto \S+\) actor=node:node-1 node=node-1",
        rf"events: submitted .*actor={user} job=\w+",
        r"events: phase \w+ -> succeeded: .*actor=controller job=\w+",  # so short that nobody may see it run
        rf"events: deleted 학습 succeeded actor={user} job=\w+",
        rf"events: node online -> draining: .*actor={user} node=node-1",
        r"clients: a request from 127\.0\.0\.1 for /api/v1/jobs had no token",
    ]
    for pattern in expected:
        eventually(partial(_tells, told, pattern), pattern)
    assert [line for line in told() if not LINE.fullmatch(line)] == []
    secrets = [CONTENT, *((platform.home / name).read_text().strip() for name in ("token", "node-token"))]
    log = (platform.home / "server.log").read_text(encoding="utf-8")
    assert not any(secret in log for secret in secrets)
    assert platform.cli("server", "log", "--grep", "deleted 학습").count("\n") == 1


def _tells(told: Callable[[], list[str]], pattern: str) -> bool:
    return any(re.search(pattern, line) for line in told())


def test_the_settings_in_force_are_shown(platform: Platform) -> None:
    platform.cli("policy", "set", "--set", "margin=0.25")

    rows = {row["name"]: row for row in platform.json("config", "show")["items"]}

    assert (rows["scheduling.margin"]["value"], rows["scheduling.margin"]["origin"]) == (0.25, "stored")
    assert rows["nodes.timeout"]["origin"] == "default"


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Platform]:
    """A home for servers without nodes."""
    made = Platform(tmp_path)
    yield made
    made.end()


def serve(platform: Platform, *options: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*PROGRAM, "serve", "--json", *options],
        env={**platform.environment, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def first_line(server: subprocess.Popen[str]) -> Any:
    assert server.stdout
    return json.loads(server.stdout.readline())


def test_a_server_alone_answers_and_ends_with_0_when_told_to(alone: Platform, tmp_path: Path) -> None:
    path = tmp_path / "socket"
    server = serve(
        alone, "--uds", str(path), TENUTO_SERVING_NAMES="gpu.example", TENUTO_LOGS_SERVER_FORMAT="json"
    )
    try:
        told = first_line(server)
        assert told["nodes"] == []
        assert httpx.get(f"{told['url']}/healthz").json()["status"] == "ok"
        assert httpx.get(f"{told['url']}/healthz", headers={"Host": "gpu.example"}).status_code == 200
        assert httpx.get(f"{told['url']}/healthz", headers={"Host": "evil.example"}).status_code == 400
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(path))) as client:
            assert client.get("http://localhost/healthz").status_code == 200
        server.send_signal(signal.SIGTERM)
        assert server.wait(HANG) == 0
    finally:
        server.kill()
        server.communicate()
    assert not path.exists()
    log = (alone.home / "server.log").read_text().splitlines()
    assert {json.loads(line)["part"] for line in log} >= {"tenuto"}
    assert "training goes on" in alone.cli("server", "log"), "also when no server runs any more"


def test_a_port_that_is_taken_is_told_in_a_sentence(alone: Platform) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = serve(alone, "--port", str(port))
        out, error = server.communicate(timeout=HANG)

    assert (server.returncode, out) == (5, "")
    assert f"port {port} of 127.0.0.1 is in use. Choose another --port" in error
