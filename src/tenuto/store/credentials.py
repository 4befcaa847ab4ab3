"""Credentials of nodes: what joining, renewing, approving and revoking change in the store.

A name belongs to the node that joined under it first, until its credential is revoked or the node is removed. A
credential that was renewed lives until its successor is first used, so that a crash in between locks no node out.
"""

from __future__ import annotations

from dataclasses import replace

from tenuto.errors import Conflict, NotFound
from tenuto.store.base import Token, Tx

NODE = "node"
MOST_CREDENTIALS = 10_000
"""Live credentials of nodes; a join token that leaked cannot fill the store."""
KEPT_SECONDS = 90 * 86_400.0
"""For so long tokens that were revoked or have expired are listed."""


def credentials(tx: Tx, node: str = "") -> list[Token]:
    """The credentials of a node, or of all nodes, oldest first, also those that were revoked."""
    return [token for token in tx.tokens() if token.kind == NODE and node in ("", token.node)]


def live_credentials(tx: Tx, node: str, now: float) -> list[Token]:
    """Those that are accepted now."""
    return [token for token in credentials(tx, node) if token.is_live(now)]


def add_credential(tx: Tx, new: Token, now: float) -> None:
    """Let a node join. Raises Conflict if another one has its name, or if there are too many nodes."""
    live = [token for token in credentials(tx) if token.is_live(now)]
    mine = [token for token in live if token.node == new.node]
    if not all(token.released for token in mine):
        raise Conflict(
            f"a node named {new.node} has joined already",
            code="name_taken",
            remedy=f"Choose another --name; or, if that node lost its directory: tenuto node revoke {new.node}",
        )
    if len(live) >= MOST_CREDENTIALS:
        raise Conflict(
            f"{len(live)} nodes have joined already",
            code="too_many_nodes",
            remedy="Revoke the credentials of nodes that are gone: tenuto node credentials lists them",
        )
    for token in mine:
        tx.add_token(replace(token, revoked_at=now))
    forget_old_tokens(tx, now)
    tx.add_token(new)


def replace_credentials(tx: Tx, new: Token, now: float) -> list[Token]:
    """Give a node of this machine a fresh credential; returns those that it had and that are revoked now."""
    revoked = live_credentials(tx, new.node, now)
    for token in revoked:
        tx.add_token(replace(token, revoked_at=now))
    forget_old_tokens(tx, now)
    tx.add_token(new)
    return revoked


def renew_credential(tx: Tx, new: Token, now: float) -> None:
    """Add the successor of a credential; one that was issued before and never used is revoked."""
    for token in live_credentials(tx, new.node, now):
        if token.replaces and token.digest != new.replaces:
            tx.add_token(replace(token, revoked_at=now, replaces=""))
    forget_old_tokens(tx, now)
    tx.add_token(new)


def revoke_credentials(tx: Tx, node: str, now: float) -> list[Token]:
    """End all credentials of a node; returns them. Raises NotFound if it has none."""
    found = _some(tx, node, now)
    for token in found:
        tx.add_token(replace(token, revoked_at=now))
    return found


def release_credentials(tx: Tx, node: str, now: float) -> list[Token]:
    """Free the name of a node that was removed; its supervisor is still told to leave. Returns what was changed."""
    found = [token for token in live_credentials(tx, node, now) if not token.released]
    for token in found:
        tx.add_token(replace(token, released=True))
    return found


def approve_credentials(tx: Tx, node: str, now: float) -> list[Token]:
    """Let a node that waits for it take part; returns what was changed. Raises NotFound if there is no such node."""
    found = [token for token in _some(tx, node, now) if not token.approved]
    for token in found:
        tx.add_token(replace(token, approved=True))
    return found


def rotate_credentials(tx: Tx, node: str, now: float) -> list[Token]:
    """Have a node replace its credential soon; returns what was changed. Raises NotFound if there is no such node."""
    found = [token for token in _some(tx, node, now) if not token.replaces]
    for token in found:
        tx.add_token(replace(token, rotate=True))
    return found


def forget_old_tokens(tx: Tx, now: float) -> None:
    """Remove tokens that ended long ago."""
    for token in tx.tokens():
        ends = [moment for moment in (token.revoked_at, token.expires_at) if moment is not None]
        if ends and min(ends) + KEPT_SECONDS < now:
            tx.remove_token(token.digest)


def _some(tx: Tx, node: str, now: float) -> list[Token]:
    found = live_credentials(tx, node, now)
    if not found:
        raise NotFound(
            f"there is no credential of a node {node[:120]!r}", remedy="tenuto node credentials lists them"
        )
    return found
