"""The documented deployment: nginx with TLS before the server; jobs, logs of a joined node and events go through it."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from tests.dashboard.sockets import Tabs
from tests.e2e.platform import PROGRAM, Platform, eventually
from tests.nginx import Nginx, nginx, program

from tenuto.errors import Unreachable

NAME = "tenuto.example.org"


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Platform]:
    """A server without nodes of its own, which listens at a Unix socket, too."""
    made = Platform(tmp_path, "--no-local", "--uds", str(tmp_path / "socket"))
    made.settings["TENUTO_SERVING_PROXIES"] = "127.0.0.1"
    try:
        yield made.up()
        made.down()
        made.leaves_nothing()
    finally:
        made.end()


@pytest.mark.skipif(program() is None, reason="nginx is not installed")
def test_everything_goes_through_nginx(platform: Platform) -> None:
    with nginx(f"127.0.0.1:{platform.told['port']}") as proxy:
        through = _Through(platform, proxy)
        with httpx.Client(base_url=proxy.url, verify=through.trust, headers=through.auth) as client:
            eventually(lambda: _status(client, "/readyz") == 200, "nginx and the server answer")
            with through.a_node():
                _a_job_is_run_and_heard_of(client, through)
            asyncio.run(_the_page_is_open(client, through))
            _only_known_names_are_answered(client)
            platform.stop()
            _the_page_of_nginx_is_shown(client)
            assert "the tenuto server does not answer" in through.cli("ps", code=Unreachable.exit_code)
        platform.up()


def _a_job_is_run_and_heard_of(client: httpx.Client, through: _Through) -> None:
    eventually(lambda: client.get("/api/v1/nodes").json()["items"], "the node has joined through nginx")
    with client.stream("GET", "/api/v1/events/stream", params={"after": 0}) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        printed = through.cli("run", "--name", "привет", "--", "sh", "-c", "echo hello; seq 100000")
        assert printed.startswith("hello\n1\n2\n")
        assert "100000" in printed
        told = (line for line in stream.iter_lines() if '"succeeded"' in line)
        assert next(told)


async def _the_page_is_open(client: httpx.Client, through: _Through) -> None:
    """And what happens is pushed to it, over TLS like everything else."""
    path = client.post("/api/v1/page").json()["path"]
    async with Tabs(through.url, path, through.trust) as tabs:
        tab = await tabs.open("/jobs")
        assert all(cookie.secure for cookie in tabs.http.cookies.jar)
        job = {"name": "seen-through-nginx", "run": "true", "workers": 1}
        client.post("/api/v1/jobs", json=job).raise_for_status()
        await tab.hears("seen-through-nginx")


def _only_known_names_are_answered(client: httpx.Client) -> None:
    """The platform was not told by which name the proxy is called."""
    refused = client.get("/healthz", headers={"Host": NAME})
    assert refused.status_code == 400
    assert "serving.names" in refused.json()["remedy"]


def _the_page_of_nginx_is_shown(client: httpx.Client) -> None:
    page = client.get("/")
    assert (page.status_code, page.headers["content-type"]) == (503, "text/html")
    assert "Training goes on without it" in page.text
    told = client.get("/api/v1/cluster")
    assert (told.status_code, told.headers["retry-after"]) == (503, "5")
    assert told.json()["code"] == "unreachable"


def _status(client: httpx.Client, path: str) -> int:
    try:
        return client.get(path).status_code
    except httpx.TransportError:
        return 0


class _Through:
    """Commands of the program that know the platform by its proxy only."""

    def __init__(self, platform: Platform, proxy: Nginx) -> None:
        self._platform = platform
        self._proxy = proxy
        self.url = proxy.url
        token = (platform.home / "token").read_text().strip()
        self.auth = {"Authorization": f"Bearer {token}"}
        self.trust = ssl.create_default_context(cafile=proxy.certificate)
        self._environment = {
            **platform.environment,
            "TENUTO_URL": proxy.url,
            "TENUTO_TOKEN": token,
            "SSL_CERT_FILE": str(proxy.certificate),
        }

    def cli(self, *arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            [*PROGRAM, *arguments], env=self._environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    @contextmanager
    def a_node(self) -> Iterator[None]:
        """A supervisor that joined through the proxy; it leaves when it is told to."""
        token = self._platform.home / "node-token"
        with (self._platform.home / "joined.log").open("wb") as log:
            joined = subprocess.Popen(
                [
                    *PROGRAM,
                    *f"node join {self._proxy.url} --token-file {token} --name desk --slots 2".split(),
                ],
                env={**self._environment, "TENUTO_TOKEN": ""},
                stderr=log,
            )
        try:
            yield
            self.cli("node", "rm", "desk")
            assert joined.wait(60) == 0
        finally:
            joined.kill()
            joined.wait()
