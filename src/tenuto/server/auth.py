"""Authentication by bearer tokens, of which only digests are kept.

All refusals look alike, so that a guess reveals nothing about which part of it was right. A digest is looked up as a
whole: how long that takes says nothing about the secret behind it.

Tokens that were seen are remembered for a few seconds, because most requests come with one of a few tokens; and for
longer while the store is away, because signs of life of nodes must not depend on it. A token that this process revokes
is forgotten at once (`Gate.forget`); one that another process revokes is refused `FRESH_SECONDS` later at the latest.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from tenuto.errors import NotAllowed
from tenuto.store.base import Store, StoreUnavailable, Token, Tx

USER, NODE, JOIN = "user", "node", "join"
FRESH_SECONDS = 5.0
"""For so long a token is not looked up again."""
OVERLAP_SECONDS = 60.0
"""For so long a credential is still accepted after its successor was used: requests may be under way with it."""
USED_SECONDS = 3600.0
"""How exact the moment of a token's last use is: more would be a write at every request."""
_MOST_REMEMBERED = 1024
_LONGEST_SECRET = 512


def digest_of(secret: str) -> str:
    """What is kept of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def new_secret() -> str:
    """256 random bits, as text for a header."""
    return secrets.token_urlsafe(32)


@dataclass(frozen=True, slots=True)
class _Seen:
    token: Token
    at: float
    """By the monotonic clock."""


class Gate:
    """Finds the token of a request. Thread-safe."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock
        self._seen: dict[str, _Seen] = {}
        self._lent: dict[str, str] = {}
        """The digests of tokens for which lent secrets stand."""
        self._forgotten = 0
        self._lock = threading.Lock()

    def remembered(self, header: str) -> Token | None:
        """The token of an Authorization header, if it was looked up a moment ago. Does not ask the store."""
        seen = self._seen.get(self._digest(header))
        if seen is None or time.monotonic() - seen.at > FRESH_SECONDS:
            return None
        return self._live(seen.token)

    def lend(self, token: Token) -> str:
        """A secret that stands for a token while this process runs, for parts of it that need one."""
        secret = new_secret()
        with self._lock:
            self._lent[digest_of(secret)] = token.digest
        return secret

    def known(self, header: str) -> Token | None:
        """The token of an Authorization header; None if it is not known, was revoked or has expired.

        Raises StoreUnavailable if the store is away and the token was not seen before.
        """
        digest = self._digest(header)
        if not digest:
            return None
        forgotten = self._forgotten
        try:
            token = self._store.read(lambda tx: tx.token(digest))
        except StoreUnavailable:
            if (seen := self._seen.get(digest)) is None:
                raise
            return self._live(seen.token)
        if token is None or self._live(token) is None:
            self.forget(digest)
            return None
        with suppress(StoreUnavailable):
            token = self._note_use(token)
        with self._lock:
            if len(self._seen) >= _MOST_REMEMBERED:
                self._seen.clear()
            if forgotten == self._forgotten:  # else it may be the one that was revoked while it was read
                self._seen[digest] = _Seen(token, time.monotonic())
        return token

    def forget(self, *digests: str) -> None:
        """Look these tokens up again before they are accepted: to be called when one was revoked or changed."""
        with self._lock:
            self._forgotten += 1
            for digest in digests:
                self._seen.pop(digest, None)

    def check(self, token: Token | None, *kinds: str) -> None:
        """Raise NotAllowed unless this is a token of one of these kinds."""
        if token is None or token.kind not in kinds:
            raise NotAllowed(
                "the token is missing or not known here",
                remedy="Put the token from the server's home into TENUTO_TOKEN; other programs send it as "
                "Authorization: Bearer TOKEN",
            )

    def _digest(self, header: str) -> str:
        digest = _digest_in(header)
        return self._lent.get(digest, digest)

    def _live(self, token: Token) -> Token | None:
        return token if token.is_live(self._clock()) else None

    def _note_use(self, token: Token) -> Token:
        """Write down the use, and end the credential that this one replaces: its node has the new one for certain."""
        now = self._clock()
        if not token.replaces and token.used_at is not None and now - token.used_at < USED_SECONDS:
            return token

        def act(tx: Tx) -> Token:
            newest = tx.token(token.digest)
            if newest is None or not newest.is_live(now):
                return token
            before = tx.token(newest.replaces) if newest.replaces else None
            if before is not None and before.revoked_at is None:
                tx.add_token(replace(before, expires_at=now + OVERLAP_SECONDS))
            tx.add_token(noted := replace(newest, used_at=now, replaces=""))
            return noted

        noted = self._store.write(act)
        if token.replaces:
            with self._lock:  # not `forget`: this token is about to be remembered
                self._seen.pop(token.replaces, None)
        return noted


def _digest_in(header: str) -> str:
    scheme, _, secret = header.partition(" ")
    if scheme.lower() != "bearer" or not secret.strip() or len(secret) > _LONGEST_SECRET:
        return ""
    return digest_of(secret.strip())
