"""Tokens of users and credentials of nodes, as operators see them; secrets are shown once, when they are made."""

from __future__ import annotations

from pydantic import Field

from tenuto.wire.fields import Request
from tenuto.wire.replies import Answer

LONGEST_DAYS = 3650


class TokenIn(Request):
    """A new token for the user who asks for it."""

    name: str = Field(default="", max_length=100, description="What it is for.")
    expires: float | None = Field(
        default=None,
        gt=0,
        le=LONGEST_DAYS * 86_400,
        allow_inf_nan=False,
        description="Seconds after which it ends; never, if not said.",
    )


class TokenOut(Answer):
    """A token, without its secret."""

    id: str
    kind: str
    """`user`, or `join` for the token with which nodes join."""
    user: str
    name: str
    state: str
    """`live`, `revoked` or `expired`."""
    created_at: str
    used_at: str | None
    """About when it was last used, to the hour."""
    expires_at: str | None
    revoked_at: str | None
    current: bool
    """Whether this request came with it."""


class NewTokenOut(Answer):
    """A token that was made just now."""

    token: TokenOut
    secret: str
    """Shown this once."""


class CredentialOut(Answer):
    """The credential of a node, without its secret."""

    id: str
    node: str
    state: str
    """`live`, `pending` (it waits for approval), `removed` (its node was removed), `revoked` or `expired`."""
    created_at: str
    used_at: str | None
    """About when it was last used, to the hour."""
    expires_at: str | None
    revoked_at: str | None
    rotate: bool
    """Whether the node is about to replace it."""


class CredentialsOut(Answer):
    """The credentials of one node."""

    items: list[CredentialOut]
