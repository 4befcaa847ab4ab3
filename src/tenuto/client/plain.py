"""The REST API as plain calls: one method per endpoint, our own errors, and no request that counts twice.

What is read comes as the JSON that the server sent (`wire.replies` says what is in it), so that an older client shows
what a newer server tells. The command line uses it: it needs neither pydantic nor asyncio.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx

from tenuto.client.ask import Ask, Json, Line, asked
from tenuto.client.calls import Calls
from tenuto.client.perform import Performer
from tenuto.client.stream import Frame, Subscription, followed

__all__ = ["Json", "PlainClient"]


class PlainClient(Calls[Json]):
    """A server's API. Safe to use from one thread at a time."""

    def __init__(
        self,
        url: str,
        token: str,
        transport: httpx.BaseTransport | None = None,
        *,
        patience: float = 2.0,
        find_again: Callable[[], tuple[str, str]] | None = None,
    ) -> None:
        self._line = Line(url, token, patience=patience, find_again=find_again)
        self._performer = Performer(self._line, transport)

    @property
    def address(self) -> tuple[str, str]:
        """The server's URL, and the token."""
        return self._line.address

    @property
    def patience(self) -> float:
        """Seconds for which a server that does not answer is tried again."""
        return self._line.patience

    @patience.setter
    def patience(self, seconds: float) -> None:
        self._line.patience = seconds

    def close(self) -> None:
        """Let go of the connection."""
        self._performer.close()

    def __enter__(self) -> PlainClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def follow(self, **query: Any) -> Iterator[Frame]:
        """The event stream, without end; goes on where it was when the server comes back."""
        return self._performer.each(followed(self._line, Subscription(query)))

    def _send(self, ask: Ask) -> Json:
        answer: Json = self._performer.one(asked(self._line, ask))
        return answer
