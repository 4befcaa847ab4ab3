"""Tokens of users: listed, created, revoked and expired; a page's session ends when its browser logs out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.types import Scope
from tests.engines.serving import Server
from tests.security.node_site import USER_NAME, USER_TOKEN, Site, a_site, code_of

from tenuto.dashboard.visitors import SESSION, Visitors


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    one = Server()
    yield one
    one.close()


@pytest.fixture
def site(tmp_path: Path, server: Server) -> Iterator[Site]:
    with a_site(tmp_path, server) as one:
        yield one


def test_a_token_is_shown_once_and_ends_at_once_when_it_is_revoked(site: Site) -> None:
    made = site.user("POST", "/tokens", {"name": "ci"}).json()
    secret, token = made["secret"], made["token"]
    assert site.user("GET", "/jobs", secret=secret).status_code == 200

    listed = site.user("GET", "/tokens")
    assert [
        (one["name"], one["user"], one["state"]) for one in listed.json()["items"] if one["kind"] == "user"
    ] == [
        ("", USER_NAME, "live"),
        ("ci", USER_NAME, "live"),
    ]
    assert secret not in listed.text
    assert site.user("DELETE", f"/tokens/{token['id']}").json()["state"] == "revoked"

    assert code_of(site.user("GET", "/jobs", secret=secret)) == (401, "not_allowed")


def test_a_token_expires(site: Site) -> None:
    secret = site.user("POST", "/tokens", {"expires": 60}).json()["secret"]
    assert site.user("GET", "/jobs", secret=secret).status_code == 200

    site.clock.ahead = 61.0

    assert code_of(site.user("GET", "/jobs", secret=secret)) == (401, "not_allowed")


def test_a_token_that_another_process_revoked_is_refused_when_it_is_looked_up_again(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = site.user("POST", "/tokens", {}).json()
    assert site.user("GET", "/jobs", secret=made["secret"]).status_code == 200
    [token] = [one for one in site.store.read(lambda tx: tx.tokens()) if one.id == made["token"]["id"]]
    site.store.write(lambda tx: tx.remove_token(token.digest))
    monkeypatch.setattr("tenuto.server.auth.FRESH_SECONDS", -1.0)

    assert code_of(site.user("GET", "/jobs", secret=made["secret"])) == (401, "not_allowed")


def test_nobody_locks_himself_out_by_mistake(site: Site) -> None:
    [mine] = [one for one in site.user("GET", "/tokens").json()["items"] if one["current"]]

    assert code_of(site.user("DELETE", f"/tokens/{mine['id']}")) == (409, "own_token")
    assert site.user("DELETE", f"/tokens/{mine['id']}", force=True).status_code == 200
    assert code_of(site.user("GET", "/jobs")) == (401, "not_allowed")


def test_a_revoked_token_for_joining_lets_no_node_join(site: Site) -> None:
    [join] = [one for one in site.user("GET", "/tokens").json()["items"] if one["kind"] == "join"]
    site.user("DELETE", f"/tokens/{join['id']}")

    answer = site.speaker("n", "the-token-for-joining").request("POST", "/join", b'{"node": "n"}')
    assert code_of(answer) == (401, "not_allowed")


def carrying(visitors: Visitors, cookie: str | None) -> Scope:
    assert cookie is not None
    return {"type": "http", "headers": [(b"cookie", f"{visitors.cookie}={cookie}".encode())]}


def test_log_out_ends_the_session_for_every_copy_of_its_cookie(site: Site) -> None:
    visitors = Visitors(site.store, "key", site.clock)
    copied, other = (carrying(visitors, visitors.session_for(USER_TOKEN)) for _ in range(2))
    restarted = Visitors(site.store, "key", site.clock)
    assert restarted.who(copied) is not None

    visitors.end(copied)

    assert visitors.who(copied) is restarted.who(copied) is None
    assert visitors.who(other) is not None, "other browsers stay logged in"


def test_a_page_s_session_ends_with_its_token_and_with_its_time(site: Site) -> None:
    visitors = Visitors(site.store, "key", site.clock)
    made = site.user("POST", "/tokens", {}).json()
    mine, revoked = (carrying(visitors, visitors.session_for(one)) for one in (USER_TOKEN, made["secret"]))
    site.user("DELETE", f"/tokens/{made['token']['id']}")

    assert visitors.who(revoked) is None
    assert visitors.who(mine) is not None
    site.clock.ahead = SESSION + 1.0
    assert visitors.who(mine) is None
