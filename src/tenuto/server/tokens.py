"""Tokens of users and credentials of nodes: list, create, approve, rotate, revoke."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request

from tenuto.errors import Conflict, NotFound
from tenuto.server.auth import NODE, USER, Gate, digest_of, new_secret
from tenuto.server.large_bodies import BodyRoute
from tenuto.server.nodes import Name
from tenuto.server.paging import MOST, Limit, Text, cursor_of, number_in
from tenuto.server.platform import Here, Who
from tenuto.server.show import moment
from tenuto.store.base import Token, Tx
from tenuto.store.credentials import (
    approve_credentials,
    credentials,
    forget_old_tokens,
    revoke_credentials,
    rotate_credentials,
)
from tenuto.wire.replies import Page
from tenuto.wire.tokens import CredentialOut, CredentialsOut, NewTokenOut, TokenIn, TokenOut

log = logging.getLogger("tenuto.tokens")
router = APIRouter(tags=["tokens"], route_class=BodyRoute)
MOST_TOKENS = 1000
"""Live tokens of users."""
Id = Annotated[str, Path(max_length=64, description="The token's id, as the list shows it.")]
Force = Annotated[bool, Query(description="Revoke the token with which this request comes, too.")]


@router.get("/tokens", response_model=Page[TokenOut])
def list_tokens(request: Request, here: Here, limit: Limit = MOST, cursor: Text = "") -> Page[TokenOut]:
    """List the tokens of users, and the one with which nodes join, oldest first."""
    found = [token for token in here.store.read(lambda tx: tx.tokens()) if token.kind != NODE]
    first = number_in(cursor) or 0
    page, now = found[first : first + limit], here.clock()
    more = len(found) > first + limit
    return Page(
        items=[_token(token, request.state.token, now) for token in page],
        next=cursor_of(first + limit) if more else None,
    )


@router.post("/tokens", response_model=NewTokenOut, status_code=201)
def create_token(request: Request, here: Here, who: Who, wish: TokenIn) -> NewTokenOut:
    """Create a token for the user who asks for it. Its secret is shown this once."""
    secret, now = new_secret(), here.clock()
    token = Token(
        digest=digest_of(secret),
        user=who,
        kind=USER,
        created_at=now,
        name=wish.name,
        expires_at=None if wish.expires is None else now + wish.expires,
    )

    def act(tx: Tx) -> None:
        forget_old_tokens(tx, now)
        if sum(known.kind == USER and known.is_live(now) for known in tx.tokens()) >= MOST_TOKENS:
            raise Conflict(
                f"there are {MOST_TOKENS} tokens already",
                code="too_many_tokens",
                remedy="Revoke those that are not used: tenuto token ls",
            )
        tx.add_token(token)

    here.store.write(act)
    log.info("created token %s", token.id, extra={"actor": who})
    return NewTokenOut(token=_token(token, request.state.token, now), secret=secret)


@router.delete("/tokens/{id}", response_model=TokenOut)
def revoke_token(request: Request, here: Here, who: Who, id: Id, force: Force = False) -> TokenOut:  # noqa: A002
    """Revoke a token, at once and for good; browsers that were logged in with it are logged out."""
    now, mine = here.clock(), request.state.token

    def act(tx: Tx) -> Token:
        token = _called(tx, id)
        if token.digest == mine.digest and not force:
            raise Conflict(
                f"{token.id} is the token with which you revoke it",
                code="own_token",
                remedy="Use another token, or add --yes (`force`) to lock yourself out",
            )
        tx.end_page_sessions(token=token.digest)
        revoked = token if token.revoked_at is not None else replace(token, revoked_at=now)
        tx.add_token(revoked)
        return revoked

    revoked = here.store.write(act)
    _gate(request).forget(revoked.digest)
    log.info("revoked token %s", revoked.id, extra={"actor": who})
    return _token(revoked, mine, now)


@router.get("/credentials", response_model=Page[CredentialOut])
def list_credentials(here: Here, limit: Limit = MOST, cursor: Text = "") -> Page[CredentialOut]:
    """List the credentials of nodes, oldest first."""
    found = here.store.read(credentials)
    first = number_in(cursor) or 0
    page, now = found[first : first + limit], here.clock()
    more = len(found) > first + limit
    return Page(
        items=[_credential(one, now) for one in page], next=cursor_of(first + limit) if more else None
    )


@router.post("/nodes/{name}/approve", response_model=CredentialsOut)
def approve_node(request: Request, here: Here, who: Who, name: Name) -> CredentialsOut:
    """Let a node take part that has joined and waits for approval."""
    return _change(request, here, who, name, approve_credentials)


@router.post("/nodes/{name}/rotate", response_model=CredentialsOut)
def rotate_node(request: Request, here: Here, who: Who, name: Name) -> CredentialsOut:
    """Have a node replace its credential. The old one ends when the node has used the new one."""
    return _change(request, here, who, name, rotate_credentials)


@router.post("/nodes/{name}/revoke", response_model=CredentialsOut)
def revoke_node(request: Request, here: Here, who: Who, name: Name) -> CredentialsOut:
    """Revoke a node's credential, at once and for good. Its workers count as lost when it is not heard for a while."""
    revoked = _change(request, here, who, name, revoke_credentials)
    if (on_revoked := request.app.state.on_revoked) is not None:
        on_revoked(name)
    return revoked


def _change(
    request: Request, here: Here, who: str, name: str, act: Callable[[Tx, str, float], list[Token]]
) -> CredentialsOut:
    now = here.clock()
    changed, left = here.store.write(lambda tx: (act(tx, name, now), credentials(tx, name)))
    _gate(request).forget(*(token.digest for token in changed))
    verb = act.__name__.removesuffix("_credentials")
    log.info("%s: %d credentials of node %s", verb, len(changed), name, extra={"actor": who, "node": name})
    return CredentialsOut(items=[_credential(token, now) for token in left])


def _gate(request: Request) -> Gate:
    gate: Gate = request.app.state.gate
    return gate


def _called(tx: Tx, id: str) -> Token:  # noqa: A002
    found = [token for token in tx.tokens() if token.id == id and token.kind != NODE]
    if not found:
        raise NotFound(f"there is no token {id!r}", remedy="tenuto token ls lists them")
    return found[0]


def _token(token: Token, mine: Token, now: float) -> TokenOut:
    return TokenOut(
        id=token.id,
        kind=token.kind,
        user=token.user,
        name=token.name,
        state=_state(token, now),
        created_at=moment(token.created_at) or "",
        used_at=moment(token.used_at),
        expires_at=moment(token.expires_at),
        revoked_at=moment(token.revoked_at),
        current=token.digest == mine.digest,
    )


def _credential(token: Token, now: float) -> CredentialOut:
    state = _state(token, now)
    if state == "live":
        state = "removed" if token.released else "live" if token.approved else "pending"
    return CredentialOut(
        id=token.id,
        node=token.node,
        state=state,
        created_at=moment(token.created_at) or "",
        used_at=moment(token.used_at),
        expires_at=moment(token.expires_at),
        revoked_at=moment(token.revoked_at),
        rotate=token.rotate,
    )


def _state(token: Token, now: float) -> str:
    if token.revoked_at is not None:
        return "revoked"
    return "live" if token.is_live(now) else "expired"
