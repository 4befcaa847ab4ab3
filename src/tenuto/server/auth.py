"""Who is asking: bearer tokens, of which only digests are kept.

All refusals look alike, so that nobody learns which part of a guess was right. A digest is looked up as a whole:
how long that takes says nothing about the secret behind it.
"""

from __future__ import annotations

import hashlib
import secrets
import threading

from tenuto.errors import NotAllowed
from tenuto.store.base import Store, Token

USER, NODE = "user", "node"
_MOST_REMEMBERED = 1024
_LONGEST_SECRET = 512


def digest_of(secret: str) -> str:
    """What is kept of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


class Gate:
    """Knows tokens; remembers those it has seen, because tokens are never taken back or changed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen: dict[str, Token] = {}
        self._lent: dict[str, Token] = {}
        self._lock = threading.Lock()

    def remembered(self, header: str) -> Token | None:
        """The token of an Authorization header, if it was here before; asks nobody."""
        digest = _digest_in(header)
        return self._seen.get(digest) or self._lent.get(digest)

    def lend(self, token: Token) -> str:
        """A secret that stands for a token as long as this process lives, for parts of it that ask for a user."""
        secret = secrets.token_urlsafe(32)
        with self._lock:
            self._lent[digest_of(secret)] = token
        return secret

    def known(self, header: str) -> Token | None:
        """The token of an Authorization header, if the store knows it."""
        digest = _digest_in(header)
        token = self._store.read(lambda tx: tx.token(digest)) if digest else None
        if token is not None:
            with self._lock:
                if len(self._seen) >= _MOST_REMEMBERED:
                    self._seen.clear()
                self._seen[digest] = token
        return token

    def check(self, token: Token | None, *kinds: str) -> None:
        """Refuse whoever has no token of one of these kinds."""
        if token is None or token.kind not in kinds:
            raise NotAllowed(
                "the token is missing or not known here",
                remedy="Put the token from the server's home into TENUTO_TOKEN; other programs send it as "
                "Authorization: Bearer TOKEN",
            )


def _digest_in(header: str) -> str:
    scheme, _, secret = header.partition(" ")
    if scheme.lower() != "bearer" or not secret.strip() or len(secret) > _LONGEST_SECRET:
        return ""
    return digest_of(secret.strip())
