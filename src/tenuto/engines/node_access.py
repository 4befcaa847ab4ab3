"""Which nodes may use the node protocol: versions, the token for joining, and the credential of each node."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from fastapi import Request
from fastapi.concurrency import run_in_threadpool

from tenuto.client_connection import mark_authenticated
from tenuto.errors import NotAllowed, Told
from tenuto.request_rate import RequestRate
from tenuto.wire.node import HEADER, PROTOCOL, Admitted
from tenuto.wire.worker import WorkerId


class NodeAuthority(Protocol):
    """Knows which credential speaks for which node, and which workers were ordered there."""

    def remembered(self, secret: str) -> Admitted | None:
        """The node of a credential that was checked a moment ago; does not wait."""
        ...

    def admitted(self, secret: str) -> Admitted | None:
        """The node of a credential; None if it is not one. Raises StoreUnavailable, NotAllowed."""
        ...

    def may_join(self, secret: str) -> bool:
        """Whether this is the token for joining. Raises StoreUnavailable."""
        ...

    def join(self, node: str) -> str:
        """Issue a credential for a new node. Raises Conflict, StoreUnavailable."""
        ...

    def renew(self, node: str, secret: str) -> str:
        """Issue another credential for the node that has this one. Raises StoreUnavailable."""
        ...

    def was_assigned(self, node: str, worker: WorkerId) -> bool:
        """Whether the worker was ordered on the node, now or earlier. Raises StoreUnavailable."""
        ...


class NotYours(NotAllowed):
    """A node spoke for another node, or for a worker of another node."""

    http_status = 403


class ProtocolRefused(Told):
    """The supervisor speaks another version of the protocol."""

    code = "protocol"
    http_status = 426


async def check_protocol(request: Request) -> None:
    """Raise ProtocolRefused if the supervisor speaks another version of the node protocol."""
    spoken = request.headers.get(HEADER, "")
    if spoken != PROTOCOL:
        raise ProtocolRefused(
            f"this server speaks version {PROTOCOL} of the node protocol, not {spoken[:20] or 'an unnamed one'}",
            remedy="Install the same version of tenuto on the node as on the server",
        )


def check_join_token(authority: NodeAuthority) -> Callable[[Request], Coroutine[Any, Any, None]]:
    """What comes before a request to join: the token for joining, which is good for nothing else."""

    async def check(request: Request) -> None:
        secret = secret_of(request)
        if not secret or not await run_in_threadpool(authority.may_join, secret):
            raise NotAllowed(
                "this is not the token with which nodes join",
                remedy="Start the supervisor with a copy of node-token from the server's home",
            )
        mark_authenticated(request.scope)

    return check


def check_credential(
    authority: NodeAuthority, rate: RequestRate
) -> Callable[[Request], Coroutine[Any, Any, None]]:
    """What comes before every request but that to join: the credential, which determines the node, and its rate.

    A credential that was checked a moment ago is not looked up again, and while the store is away those that were
    checked before are accepted: signs of life must not depend on it, or all nodes would count as lost afterwards.
    """

    async def check(request: Request) -> None:
        secret = secret_of(request)
        caller = authority.remembered(secret) if secret else None
        if caller is None and secret:
            caller = await run_in_threadpool(authority.admitted, secret)
        if caller is None:
            raise NotAllowed(
                "the credential of the node is missing, unknown or revoked",
                remedy="Let the machine join again: delete the file credential in the supervisor's directory, "
                "and start it with a copy of node-token from the server's home",
            )
        mark_authenticated(request.scope)
        rate.count(caller.node)
        request.state.node = caller

    return check


def secret_of(request: Request) -> str:
    """The bearer token of a request; empty if there is none."""
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""
