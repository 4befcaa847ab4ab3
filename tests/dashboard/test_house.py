"""The door of the page: who comes in, by which key, and what others may not do through a visitor's browser."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from unittest import mock
from urllib.parse import unquote, urlsplit

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tenuto.dashboard import house
from tenuto.dashboard.house import House
from tenuto.dashboard.visitors import SESSION, Visitors
from tenuto.server.auth import NODE, digest_of
from tenuto.server.page import TICKET
from tenuto.store.base import Token
from tenuto.store.memory import MemoryStore

SECRET = "a-token-for-users"
HERE = "http://127.0.0.1:8000"
ANNA = Token(digest=digest_of(SECRET), user="Anna")
MACHINE = Token(digest=digest_of("a-token-for-nodes"), user="nodes", kind=NODE)


@dataclass
class Pages:
    """What is behind the door, in place of NiceGUI: tells who came."""

    loads: int = 0
    broken: bool = False
    sockets: int = 0

    def load(self) -> Pages:
        self.loads += 1
        if self.broken:
            raise ImportError("there is no page")
        return self

    async def open(self, stack: AsyncExitStack) -> ASGIApp:
        return self.app

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            self.sockets += 1
            return await send({"type": "websocket.accept"})
        who = Request(scope).state.visitor.user if "state" in scope else "anybody"
        return await PlainTextResponse(f"{scope['path']} for {who}")(scope, receive, send)


@dataclass
class Street:
    """A house, and a browser before it."""

    pages: Pages = field(default_factory=Pages)
    now: float = 0.0

    def __post_init__(self) -> None:
        store = MemoryStore()
        for token in (ANNA, MACHINE):
            store.write(lambda tx, token=token: tx.add_token(token))  # type: ignore[misc]
        self.visitors = Visitors(store, "a key", lambda: self.now)
        self.house = House(self.visitors, self.pages.load, PlainTextResponse("nothing of ours", 404))
        self.browser = httpx.AsyncClient(transport=httpx.ASGITransport(app=self.house), base_url=HERE)

    async def log_in(self, secret: str = SECRET, next_: str = "/", **headers: str) -> httpx.Response:
        return await self.browser.post("/login", data={"token": secret, "next": next_}, headers=headers)

    async def knock(self, path: str) -> tuple[int, bytes]:
        """What a stranger is answered who writes a path as no browser would."""
        said: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            said.append(message)

        scope = {"type": "http", "method": "GET", "path": unquote(path), "headers": [], "query_string": b""}
        await self.house(scope, receive, send)
        return said[0]["status"], said[1]["body"]

    async def socket(self, scheme: str = "ws", **headers: str) -> list[Message]:
        """What is said to a page that wants to hear."""
        said: list[Message] = []

        async def receive() -> Message:
            return {"type": "websocket.connect"}

        async def send(message: Message) -> None:
            said.append(message)

        cookies = "; ".join(f"{name}={value}" for name, value in self.browser.cookies.items())
        told = {"host": urlsplit(HERE).netloc, "cookie": cookies, **headers}
        raw = [(name.encode(), value.encode()) for name, value in told.items()]
        scope = {
            "type": "websocket",
            "scheme": scheme,
            "path": "/_nicegui_ws/",
            "headers": raw,
            "query_string": b"",
        }
        await self.house(scope, receive, send)
        return said


def story(tell: Callable[[Street], Awaitable[None]]) -> Callable[[], None]:
    """A test on one event loop."""

    def run() -> None:
        async def whole() -> None:
            street = Street()
            await tell(street)
            await street.browser.aclose()
            await street.house.close()

        asyncio.run(whole())

    run.__name__ = tell.__name__
    return run


@story
async def test_a_stranger_is_sent_to_the_login_and_then_to_where_he_wanted(street: Street) -> None:
    sent = await street.browser.get("/jobs?state=running")
    assert (sent.status_code, sent.headers["location"]) == (303, "/login?next=/jobs%3Fstate%3Drunning")

    asked = await street.browser.get(sent.headers["location"])
    assert 'value="/jobs?state=running"' in asked.text
    let_in = await street.log_in(next_="/jobs?state=running")

    assert (let_in.status_code, let_in.headers["location"]) == (303, "/jobs?state=running")
    assert (await street.browser.get("/jobs")).text == "/jobs for Anna"


@story
async def test_the_cookie_is_no_secret_and_no_script_can_read_it(street: Street) -> None:
    answer = await street.log_in()

    cookie = answer.headers["set-cookie"]
    assert SECRET not in cookie
    assert "HttpOnly" in cookie and "SameSite=lax" in cookie and f"Max-Age={SESSION}" in cookie
    assert "Secure" not in cookie  # it could not be used on this machine without TLS
    behind_tls = await street.browser.post(f"https{HERE[4:]}/login", data={"token": SECRET})
    assert "Secure" in behind_tls.headers["set-cookie"]


@story
async def test_wrong_tokens_and_those_of_nodes_open_nothing(street: Street) -> None:
    for secret in ("", "wrong", "a-token-for-nodes", "x" * 10_000):
        refused = await street.log_in(secret)
        assert refused.status_code == 401
        assert "not known here" in refused.text
    assert (await street.browser.get("/")).status_code == 303


@story
async def test_a_cookie_that_was_changed_or_signed_elsewhere_is_worth_nothing(street: Street) -> None:
    elsewhere = Visitors(MemoryStore(), "another key", lambda: 0.0)
    for value in ("", "x", elsewhere._signer.dumps(ANNA.digest), f"{street.visitors.session_for(SECRET)}x"):
        street.browser.cookies.set(street.visitors.cookie, value)
        assert (await street.browser.get("/")).status_code == 303


@story
async def test_a_link_lets_somebody_in_once_and_soon(street: Street) -> None:
    link = f"/enter?ticket={street.visitors.ticket_for(ANNA)}"
    assert (await street.browser.get(link)).headers["location"] == "/"
    assert (await street.browser.get("/")).text == "/ for Anna"
    assert (await street.browser.get(link)).status_code == 401

    late = f"/enter?ticket={street.visitors.ticket_for(ANNA)}"
    street.now += TICKET + 1
    assert (await street.browser.get(late)).status_code == 401


@story
async def test_whoever_logs_out_is_a_stranger_again_and_a_mere_link_logs_nobody_out(street: Street) -> None:
    await street.log_in()
    await street.browser.get("/logout")
    assert (await street.browser.get("/")).status_code == 200

    await street.browser.post("/logout")

    assert (await street.browser.get("/")).status_code == 303


@story
async def test_pages_of_others_cannot_act_through_a_visitors_browser(street: Street) -> None:
    await street.log_in()
    same_host_with_tls = HERE.replace("http:", "https:")
    for origin in ("https://elsewhere.example", "http://127.0.0.1:9", same_host_with_tls, "null", "http://["):
        # Sockets are polled for by reading, and would be answered to whoever asks with a visitor's cookie.
        polled = await street.browser.get("/_nicegui_ws/socket.io/", headers={"Origin": origin})
        assert polled.status_code == 403
        assert (await street.browser.post("/logout", headers={"Origin": origin})).status_code == 403
        assert (await street.log_in(Origin=origin)).status_code == 403
        assert await street.socket(origin=origin) == [{"type": "websocket.close", "code": 4401}]
    assert street.pages.sockets == 0

    assert await street.socket(origin=HERE) == [{"type": "websocket.accept"}]
    assert await street.socket("wss", origin=same_host_with_tls) == [{"type": "websocket.accept"}]


@story
async def test_a_socket_needs_a_session(street: Street) -> None:
    assert await street.socket(origin=HERE) == [{"type": "websocket.close", "code": 4401}]


@story
async def test_nobody_is_led_away_from_this_server(street: Street) -> None:
    for elsewhere in (
        "https://elsewhere.example/",
        "//elsewhere.example",
        "/\\elsewhere.example",
        "javascript:x",
        "/\t/elsewhere.example",
        "//[",
    ):
        assert (await street.log_in(next_=elsewhere)).headers["location"] == "/"


@story
async def test_what_is_asked_for_cannot_become_part_of_the_page(street: Street) -> None:
    asked = await street.browser.get("/login", params={"next": '/"><script>alert(1)</script>'})
    assert "<script>" not in asked.text


@story
async def test_scripts_and_styles_are_for_everybody_and_other_files_are_not(street: Street) -> None:
    assert (await street.browser.get("/page/page.css")).headers["content-type"].startswith("text/css")
    assert (await street.browser.get("/_nicegui/some.js")).text == "/_nicegui/some.js for anybody"
    assert (await street.browser.get("/favicon.ico")).text == "/favicon.ico for anybody"
    for name in ("../house.py", "%2e%2e/house.py", "nothing.css", "page.py", ""):
        assert (await street.browser.get(f"/page/{name}")).status_code in (404, 303)


@story
async def test_no_other_way_of_writing_a_path_leads_a_stranger_in(street: Street) -> None:
    for path in (
        "/favicon.ico.", "/favicon.icon/jobs", "//", "//_nicegui/", "/_NICEGUI/", "/_nicegui", "/_nicegui_ws/",
        "/%2f_nicegui/", "/page", "/Page/page.css", "/./page/page.css", "//api/v1/jobs", "/API/v1/jobs", "/api",
    ):  # fmt: skip
        assert await street.knock(path) == (303, b""), path
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
        for path in ("/", "/jobs", "/_nicegui/some.js", "/_nicegui/client/1/upload/2"):
            answer = await street.browser.request(method, path, headers={"Content-Length": "0"})
            assert answer.status_code == 303, (method, path)
    assert (await street.browser.head("/jobs")).status_code == 303
    # Below the scripts nothing is put right, so no path goes from there to a page.
    for path in ("/_nicegui/../jobs", "/_nicegui/%2e%2e/jobs", "/_nicegui/..%2fjobs"):
        assert await street.knock(path) == (200, b"/_nicegui/../jobs for anybody"), path


@story
async def test_only_visitors_hand_files_in_and_none_without_end(street: Street) -> None:
    assert (await street.browser.post("/_nicegui/client/1/upload/2", content=b"x")).status_code == 303
    await street.log_in()
    assert (await street.browser.post("/_nicegui/client/1/upload/2", content=b"x")).status_code == 200

    async def endless() -> AsyncIterator[bytes]:
        yield b"x"

    assert (await street.browser.post("/_nicegui/client/1/upload/2", content=endless())).status_code == 413
    huge = {"Content-Length": str(1 << 40)}
    assert (await street.browser.post("/_nicegui/client/1/upload/2", headers=huge)).status_code == 413


@story
async def test_every_answer_forbids_what_pages_need_not_do(street: Street) -> None:
    await street.log_in()
    for path in ("/", "/login", "/page/page.js"):
        answer = await street.browser.get(path)
        assert answer.headers["x-frame-options"] == "DENY"
        assert "default-src 'self'" in answer.headers["content-security-policy"]


@story
async def test_what_belongs_to_the_api_is_answered_by_the_api(street: Street) -> None:
    for path in ("/api/v1/nix", "/api/node/v1/nix", "/metrics"):
        answer = await street.browser.get(path)
        assert (answer.status_code, answer.text) == (404, "nothing of ours")
    assert street.pages.loads == 0


@story
async def test_the_page_is_loaded_once_however_many_come(street: Street) -> None:
    await street.log_in()
    await asyncio.gather(*(street.browser.get("/") for _ in range(10)))
    assert street.pages.loads == 1


@story
async def test_a_page_that_cannot_be_loaded_is_told_and_tried_again_after_a_while(street: Street) -> None:
    street.pages.broken = True
    await street.log_in()
    for _ in range(5):
        out_of_order = await street.browser.get("/")
        assert (out_of_order.status_code, "server's log" in out_of_order.text) == (503, True)
    assert street.pages.loads == 1

    street.pages.broken = False
    with mock.patch.object(house, "RETRY_SECONDS", 0.0):
        assert (await street.browser.get("/")).text == "/ for Anna"


def test_the_cookies_of_two_platforms_on_one_machine_do_not_meet() -> None:
    one, two = (Visitors(MemoryStore(), key, lambda: 0.0) for key in ("a", "b"))
    assert one.cookie != two.cookie


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL")
