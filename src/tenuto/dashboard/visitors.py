"""Who looks at pages: a token opens a session, which the browser keeps as a signed cookie.

A cookie holds the id of a session and never the secret. It is signed with a key of the home, and the session is in the
store: it survives a restart of the server, and ends with its time, when its browser logs out, or when its token is
revoked or expires. A copy of the cookie ends with it.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie

from itsdangerous import BadSignature, URLSafeTimedSerializer
from starlette.datastructures import Headers
from starlette.types import Scope

from tenuto.server.auth import USER, digest_of
from tenuto.server.page import TICKET
from tenuto.store.base import PageSession, Store, Token, Tx

SESSION = 30 * 86_400
"""Seconds for which a browser stays logged in."""
_MOST_TICKETS = 1000


@dataclass(frozen=True, slots=True)
class _Ticket:
    digest: str
    until: float


class Visitors:
    """Opens sessions and knows them again."""

    def __init__(self, store: Store, key: str, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._signer = URLSafeTimedSerializer(key, salt="session")
        self._tickets: dict[str, _Ticket] = {}
        self._lock = threading.Lock()
        mark = hashlib.sha256(key.encode()).hexdigest()[:8]
        self.cookie = f"tenuto-{mark}"
        """Its name; that of another platform on another port of this machine is another one."""

    def session_for(self, secret: str) -> str | None:
        """A cookie for whoever knows the secret of a user; None for all others."""
        return self._open(digest_of(secret))

    def ticket_for(self, token: Token) -> str:
        """Something that opens a session once, and soon: it may stand in an address."""
        ticket, now = secrets.token_urlsafe(32), self._clock()
        with self._lock:
            self._tickets = {key: one for key, one in self._tickets.items() if one.until > now}
            while len(self._tickets) >= _MOST_TICKETS:
                self._tickets.pop(next(iter(self._tickets)))
            self._tickets[digest_of(ticket)] = _Ticket(token.digest, now + TICKET)
        return ticket

    def session_with(self, ticket: str) -> str | None:
        """A cookie for whoever has a ticket that was not used yet."""
        with self._lock:
            known = self._tickets.pop(digest_of(ticket), None)
        if known is None or known.until < self._clock():
            return None
        return self._open(known.digest)

    def who(self, scope: Scope) -> Token | None:
        """Whose session a request belongs to; asks the store."""
        id_, now = self._session_of(scope), self._clock()

        def look(tx: Tx) -> Token | None:
            session = tx.page_session(id_)
            return None if session is None or session.until <= now else _user(tx, session.token, now)

        return self._store.read(look) if id_ else None

    def end(self, scope: Scope) -> None:
        """End the session of a request, for every browser that has its cookie."""
        if id_ := self._session_of(scope):
            self._store.write(lambda tx: tx.end_page_sessions(id=id_))

    def _session_of(self, scope: Scope) -> str:
        written = _cookie(Headers(scope=scope).get("cookie", ""), self.cookie)
        try:
            id_ = self._signer.loads(written, max_age=SESSION)
        except BadSignature:
            return ""
        return id_ if isinstance(id_, str) else ""

    def _open(self, digest: str) -> str | None:
        """A cookie for a new session of the user who has this token."""
        id_, now = secrets.token_urlsafe(24), self._clock()

        def act(tx: Tx) -> bool:
            if _user(tx, digest, now) is None:
                return False
            tx.end_page_sessions(until=now)
            tx.add_page_session(PageSession(id=id_, token=digest, until=now + SESSION))
            return True

        if self._store.read(lambda tx: _user(tx, digest, now)) is None:
            return None  # without a write, however often somebody guesses
        return self._signer.dumps(id_) if self._store.write(act) else None


def _user(tx: Tx, digest: str, now: float) -> Token | None:
    """The token of a user that is neither revoked nor expired."""
    token = tx.token(digest)
    return token if token is not None and token.kind == USER and token.is_live(now) else None


_WEB_SCHEMES = {"ws": "http", "wss": "https"}


def comes_from_here(scope: Scope) -> bool:
    """Whether the header Origin names this server, with its scheme, or is absent: other sites must not act through it.

    Behind a proxy the scheme is that of `X-Forwarded-Proto`, if the proxy is configured.
    """
    headers = Headers(scope=scope)
    origin = headers.get("origin")
    scheme = scope.get("scheme", "http")
    scheme = _WEB_SCHEMES.get(scheme, scheme)
    return origin is None or origin.lower() == f"{scheme}://{headers.get('host', '')}".lower()


def _cookie(header: str, name: str) -> str:
    try:
        found = SimpleCookie(header).get(name)
    except CookieError:
        return ""
    return "" if found is None else found.value
