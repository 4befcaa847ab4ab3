"""Issues, checks, renews and ends the credentials of nodes (ADR 15)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tenuto.errors import NotAllowed
from tenuto.server.assignments import Assignments
from tenuto.server.auth import JOIN, NODE, Gate, digest_of, new_secret
from tenuto.settings import Nodes
from tenuto.store.base import Store, Token, Tx
from tenuto.store.credentials import add_credential, renew_credential, replace_credentials
from tenuto.wire.credential_file import read_credential, write_credential
from tenuto.wire.node import Admitted
from tenuto.wire.worker import WorkerId

log = logging.getLogger("tenuto.nodes")
USER_OF_NODES = "nodes"
"""Whose tokens these are; no user has this token."""
DAY_SECONDS = 86_400.0


class ApprovalPending(NotAllowed):
    """A node has joined and waits for an operator."""

    http_status = 403


@dataclass(frozen=True, slots=True)
class NodeCredentials:
    """What the node protocol needs to know about who speaks (`engines.node_access.NodeAuthority`). Thread-safe."""

    store: Store
    gate: Gate
    assignments: Assignments
    settings: Nodes
    clock: Callable[[], float]
    """Unix seconds."""
    on_revoked: Callable[[str], None] = field(default=lambda _: None)
    """Called with the name of a node whose credential was replaced because it was lost."""

    def remembered(self, secret: str) -> Admitted | None:
        """The node of a credential that was checked a moment ago. Does not ask the store."""
        return self._admitted(self.gate.remembered(f"Bearer {secret}"))

    def admitted(self, secret: str) -> Admitted | None:
        """The node of a credential; None if it is not one, or not any more. Raises StoreUnavailable."""
        return self._admitted(self.gate.known(f"Bearer {secret}"))

    def may_join(self, secret: str) -> bool:
        """Whether this is the token for joining. Raises StoreUnavailable."""
        token = self.gate.known(f"Bearer {secret}")
        return token is not None and token.kind == JOIN

    def join(self, node: str) -> str:
        """A credential for a new node. Raises Conflict for a name that is taken."""
        issued, new = self._new(node, approved=not self.settings.approval)
        self.store.write(lambda tx: add_credential(tx, new, new.created_at))
        log.info(
            "joined%s; its credential is %s",
            *("" if new.approved else ", and waits for approval", new.id),
            extra={"actor": f"node:{node}", "node": node},
        )
        return issued

    def renew(self, node: str, secret: str) -> str:
        """A new credential for the same node; the old one ends when the new one is first used."""
        issued, new = self._new(node, replaces=digest_of(secret))
        self.store.write(lambda tx: renew_credential(tx, new, new.created_at))
        log.info("gets a new credential: %s", new.id, extra={"actor": f"node:{node}", "node": node})
        return issued

    def was_assigned(self, node: str, worker: WorkerId) -> bool:
        """Whether the worker was ordered on the node. Raises StoreUnavailable."""
        return self.assignments.has(node, worker)

    def provide(self, node: str, directory: Path) -> None:
        """Make sure that a node of this machine has a credential that is valid. Raises OSError, StoreUnavailable."""
        now, secret = self.clock(), read_credential(directory)
        digest = digest_of(secret)
        if secret and self.store.read(lambda tx: _is_valid(tx, digest, node, now)):
            return
        issued, new = self._new(node)
        before = self.store.write(lambda tx: replace_credentials(tx, new, now))
        self.gate.forget(*(token.digest for token in before))
        self.on_revoked(node)
        write_credential(directory, issued)

    def _new(self, node: str, *, approved: bool = True, replaces: str = "") -> tuple[str, Token]:
        secret = new_secret()
        token = Token(
            digest=digest_of(secret),
            user=USER_OF_NODES,
            kind=NODE,
            created_at=self.clock(),
            node=node,
            approved=approved,
            replaces=replaces,
        )
        return secret, token

    def _admitted(self, token: Token | None) -> Admitted | None:
        if token is None or token.kind != NODE:
            return None
        check_approved(token)
        days = self.settings.credential_days
        old = bool(days) and self.clock() - token.created_at > days * DAY_SECONDS
        return Admitted(node=token.node, renew=token.rotate or old, leave=token.released)


def check_approved(token: Token) -> None:
    """Raise ApprovalPending if this credential waits for an operator."""
    if not token.approved:
        raise ApprovalPending(
            f"node {token.node} waits for approval",
            code="approval_pending",
            remedy=f"An operator approves it with: tenuto node approve {token.node}",
        )


def _is_valid(tx: Tx, digest: str, node: str, now: float) -> bool:
    token = tx.token(digest)
    return token is not None and token.is_live(now) and token.node == node and not token.released
