"""A token is sent only to the server that it came from, whatever server a command or a program names."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.e2e.platform import PROGRAM

import tenuto
from tenuto.cli.connect import connect
from tenuto.client.whereabouts import locate
from tenuto.errors import NotAllowed, ServerFailed, TenutoError, Unreachable

HOME_TOKEN, OTHER_TOKEN = "token-of-this-home", "token-of-another-server"


class Listener:
    """A server that records the headers of all requests, and answers with an empty object or a redirect."""

    def __init__(self, redirect_to: str = "") -> None:
        self.headers: list[dict[str, str]] = []
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                listener.headers.append(dict(self.headers))
                self.send_response(307 if redirect_to else 200)
                if redirect_to:
                    self.send_header("Location", redirect_to)
                body = b"{}"
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET  # noqa: N815

            def log_message(self, *_: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Listener:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def tokens(self) -> list[str]:
        """The tokens that were sent here."""
        return [headers.get("Authorization", "").removeprefix("Bearer ") for headers in self.headers]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a token, without a server; nothing else is known."""
    for name in ("TENUTO_URL", "TENUTO_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TENUTO_HOME", str(tmp_path))
    (tmp_path / "token").write_text(f"{HOME_TOKEN}\n")
    return tmp_path


@pytest.fixture
def stranger() -> Iterator[Listener]:
    with Listener() as listener:
        yield listener


@pytest.fixture
def own(home: Path) -> Iterator[Listener]:
    """The server of this home."""
    with Listener() as listener:
        write_server_file(home, listener, os.getpid())
        yield listener


def write_server_file(home: Path, listener: Listener, pid: int | None) -> None:
    (home / "server.json").write_text(json.dumps({"url": listener.url, "pid": pid, "port": listener.port}))


def ended_process() -> int:
    """The id of a process that has ended and was waited for."""
    process = subprocess.Popen([sys.executable, "-S", "-c", ""])
    process.wait()
    return process.pid


def ask_by_command(url: str | None) -> None:
    with connect(url) as client:
        client.cluster()


def ask_by_client(url: str | None) -> None:
    with tenuto.Client(url, patience=0) as client:
        client.cluster()


def ask_by_async_client(url: str | None) -> None:
    async def ask() -> None:
        async with tenuto.AsyncClient(url, patience=0) as client:
            await client.cluster()

    asyncio.run(ask())


ASKS = pytest.mark.parametrize("ask", [ask_by_command, ask_by_client, ask_by_async_client])
Ask = Callable[[str | None], None]


def answer_may_be_unreadable() -> suppress:
    """The listener answers with an empty object: typed clients cannot read it, after they sent their request."""
    return suppress(ServerFailed)


@ASKS
def test_the_token_of_this_home_goes_to_no_other_server(own: Listener, stranger: Listener, ask: Ask) -> None:
    with pytest.raises(NotAllowed) as refusal:
        ask(stranger.url)

    assert stranger.headers == []
    assert "TENUTO_TOKEN" in refusal.value.remedy


def test_the_program_ends_with_6_and_names_the_next_step(own: Listener, stranger: Listener) -> None:
    done = subprocess.run(
        [*PROGRAM, "ps", "--server", stranger.url], capture_output=True, text=True, timeout=60, check=False
    )

    assert done.returncode == NotAllowed.exit_code
    assert stranger.headers == []
    assert "TENUTO_TOKEN" in done.stderr
    assert HOME_TOKEN not in done.stderr


@ASKS
@pytest.mark.parametrize("named", [None, "http://127.0.0.1", "http://localhost"])
def test_it_goes_to_the_server_of_this_home_by_any_name(own: Listener, ask: Ask, named: str | None) -> None:
    with answer_may_be_unreadable():
        ask(None if named is None else f"{named}:{own.port}/")

    assert own.tokens == [HOME_TOKEN]


@ASKS
def test_the_token_of_the_environment_belongs_to_the_url_beside_it(
    own: Listener, stranger: Listener, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENUTO_URL", stranger.url)
    monkeypatch.setenv("TENUTO_TOKEN", OTHER_TOKEN)

    with answer_may_be_unreadable():
        ask(stranger.url)
    with answer_may_be_unreadable():
        ask(own.url)
    with pytest.raises(NotAllowed), Listener() as third:
        ask(third.url)

    assert (stranger.tokens, own.tokens, third.headers) == ([OTHER_TOKEN], [HOME_TOKEN], [])


@ASKS
def test_a_token_without_a_url_belongs_to_the_server_that_is_named(
    own: Listener, stranger: Listener, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENUTO_TOKEN", OTHER_TOKEN)

    with answer_may_be_unreadable():
        ask(stranger.url)

    assert stranger.tokens == [OTHER_TOKEN]


@pytest.mark.parametrize("pid", [None, "ended"])
def test_a_program_at_the_port_of_a_server_that_has_ended_gets_nothing(
    home: Path, stranger: Listener, pid: str | None
) -> None:
    write_server_file(home, stranger, None if pid is None else ended_process())

    with pytest.raises(Unreachable):
        ask_by_command(None)
    with pytest.raises(NotAllowed):
        ask_by_command(stranger.url)

    assert stranger.headers == []


@ASKS
def test_a_redirect_is_not_followed(home: Path, stranger: Listener, ask: Ask) -> None:
    with Listener(redirect_to=f"{stranger.url}/api/v1/cluster") as own:
        write_server_file(home, own, os.getpid())

        with pytest.raises(ServerFailed, match=stranger.url):
            ask(None)

    assert own.tokens == [HOME_TOKEN]
    assert stranger.headers == []


def test_urls_that_only_look_alike_are_other_servers(own: Listener) -> None:
    environment = {"TENUTO_HOME": os.environ["TENUTO_HOME"]}
    for other in (
        f"https://127.0.0.1:{own.port}",
        f"http://127.0.0.1:{own.port + 1}",
        f"http://127.0.0.1:{own.port}@gpu-box",
        f"http://127.0.0.1.example:{own.port}",
        f"http://127.0.0.1:{own.port}/other",
    ):
        with pytest.raises(TenutoError):
            locate(other, environment)
