"""Tokens are demanded by the route that answers a request, and by every route unless it is listed as open.

The guard looks the route up with the router's own `matches`, so that no spelling of a path leads past it: a pattern of
its own would differ from the router's in some detail, such as a line feed at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.routing import BaseRoute, Match, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from tenuto.client_connection import mark_authenticated
from tenuto.errors import NotAllowed, TenutoError
from tenuto.server.auth import USER, Gate
from tenuto.server.errors import refuse
from tenuto.server.guests import Guests

Kinds = frozenset[str]

USERS: Kinds = frozenset({USER})
"""What a route demands that is not listed."""
NO_TOKEN: Kinds = frozenset()
"""Routes that are public, or that check tokens themselves."""
API = "/api/"
"""Below this an unknown path demands a token, too, so that a stranger does not learn which paths exist."""


class RouteAccess:
    """Which kinds of tokens each top-level route of a router takes."""

    def __init__(self, router: Router) -> None:
        self._router = router
        self._kinds: dict[int, Kinds] = {}
        """By the identity of a route: routes compare by their fields, and some cannot be hashed."""

    @contextmanager
    def adding(self, kinds: Kinds) -> Iterator[None]:
        """Let the routes that are added inside this context take these kinds of tokens."""
        before = len(self._router.routes)
        yield
        self.set(self._router.routes[before:], kinds)

    def set(self, routes: list[BaseRoute], kinds: Kinds) -> None:
        """Let these routes take these kinds of tokens."""
        self._kinds.update({id(route): kinds for route in routes})

    def demanded(self, scope: Scope) -> Kinds | None:
        """The kinds of tokens of which a request must have one; None if no route answers it.

        The router answers with the first full match. A match with another method gets an error from the router before
        a route could check a token itself, so a route without kinds counts as none here.
        """
        partial: Kinds | None = None
        for route in self._router.routes:
            match, _ = route.matches(dict(scope))
            if match is Match.FULL:
                return self._kinds.get(id(route), USERS)
            if match is Match.PARTIAL and partial is None:
                partial = self._kinds.get(id(route), USERS)
        return partial or None


class RouteGuard:
    """Refuse requests and websockets without a token that their route takes."""

    def __init__(self, app: ASGIApp, gate: Gate, access: RouteAccess, guests: Guests) -> None:
        self.app = app
        self.gate = gate
        self.access = access
        self.guests = guests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the token and put it into the request's state."""
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        header = Headers(scope=scope).get("authorization", "")
        token = self.gate.remembered(header)
        # Users' tokens open every route but those that check tokens themselves, so that most need no lookup.
        if token is None or token.kind != USER:
            demanded = self.access.demanded(scope)
            if demanded is None:
                demanded = USERS if scope["path"].startswith(API) else NO_TOKEN
            if not demanded:
                return await self.app(scope, receive, send)
            try:
                token = token or await run_in_threadpool(self.gate.known, header)
                self.gate.check(token, *demanded)
            except TenutoError as error:
                if isinstance(error, NotAllowed):
                    self.guests.stranger(scope)
                return await refuse(error, scope, receive, send)
        assert token is not None
        mark_authenticated(scope)
        if token.kind == USER:
            self.guests.came(token.user, scope)
        scope.setdefault("state", {})["token"] = token
        return await self.app(scope, receive, send)
