"""The network connection of a request, as far as the code behind the HTTP server may know it."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any, Protocol

STATE_KEY = "client_connection"
"""The key of the ASGI scope's `state` under which the HTTP server puts the connection."""


class ClientConnection(Protocol):
    """A connection whose requests may carry tokens."""

    def authenticated(self) -> None:
        """Record that a request on this connection carried a valid token or session."""
        ...


def mark_authenticated(scope: MutableMapping[str, Any]) -> None:
    """Exempt the connection of an ASGI scope from the limits on unauthenticated clients.

    Does nothing under a server without such limits, such as a test client.
    """
    connection: ClientConnection | None = scope.get("state", {}).get(STATE_KEY)
    if connection is not None:
        connection.authenticated()
