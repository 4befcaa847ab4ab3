"""uvicorn's HTTP protocol with limits on what a client may cost before its request is complete.

uvicorn has no limit on the size of headers, on slow clients or on connections per address. Its parser joins the pieces
of a header one by one, so that the time for an endless header grows with the square of its length. The limits are
enforced here, on the bytes of a connection and before they are parsed. docs/decisions/0014 explains why.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from tenuto.client_connection import STATE_KEY
from tenuto.connection_table import ConnectionTable, address_group
from tenuto.server.errors import Refused, error_response
from tenuto.server.proxies import UNIX_SOCKET, Network, is_proxy, proxy_networks
from tenuto.server.refusal_log import RefusalLog
from tenuto.settings import Serving

log = logging.getLogger("tenuto.clients")

CHECK_SECONDS = 0.5
"""Time between two looks at all connections."""
LINGER_SECONDS = 2.0
"""Time in which a client may read why it was refused, before its connection is torn down."""
STALLED_WRITE_SECONDS = 60.0
"""Time in which a client must read part of what waits to be sent: about 48 KiB, between asyncio's marks."""
MAX_HEADER_FIELDS = 200
MAX_PIPELINED_REQUESTS = 16
"""Requests that wait on one connection for the answer to the one before."""
MAX_BACKLOG = 2048
"""Connections that the kernel keeps while the server does not accept any."""
UNLIMITED_OPEN_FILES = 1 << 20
"""Taken for the limit on open files where there is none."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The limits of one connection."""

    header_bytes: int
    header_seconds: float
    body_seconds: float
    body_rate: int
    proxies: tuple[Network, ...] = ()


class ServerConfig(uvicorn.Config):
    """uvicorn's configuration with our limits; `app` is an ASGI application."""

    def __init__(self, app: Any, serving: Serving, **options: Any) -> None:
        self.limits = ConnectionLimits(
            header_bytes=serving.header_bytes,
            header_seconds=serving.header_seconds,
            body_seconds=serving.body_seconds,
            body_rate=serving.body_rate,
            proxies=proxy_networks(serving.proxies),
        )
        open_files = _open_files_limit()
        self.table = ConnectionTable(serving.connections or open_files // 2, serving.connections_per_address)
        self.watch = _Watch(self.table)
        self.refusals = RefusalLog(log)
        super().__init__(
            app,
            http=LimitedProtocol,
            # A whole backlog may be accepted before the first of its connections is counted.
            backlog=min(MAX_BACKLOG, max(open_files // 8, 1)),
            timeout_keep_alive=serving.idle_seconds,
            proxy_headers=True,
            forwarded_allow_ips=[*map(str, self.limits.proxies), UNIX_SOCKET],
            server_header=False,
            access_log=False,
            **options,
        )


class _Phase(Enum):
    """What is expected next of a client."""

    NEW = auto()
    HEADERS = auto()
    BODY = auto()
    IDLE = auto()
    REFUSED = auto()
    WEBSOCKET = auto()


class LimitedProtocol(HttpToolsProtocol):
    """One connection."""

    config: ServerConfig

    def __init__(
        self,
        config: ServerConfig,
        server_state: Any,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, {**app_state, STATE_KEY: self}, _loop)
        self.address: str | None = None
        self._limits = config.limits
        self._phase = _Phase.NEW
        self._since = 0.0
        """When the phase began, or the part of it that is measured (seconds of the loop's clock)."""
        self._header_bytes = 0
        self._body_bytes = 0
        """Bytes of the body since `_since`."""
        self._is_authenticated = False
        self._closing_since: float | None = None
        self._write_stalled_since: float | None = None

    # what the table of connections and the middleware use

    @property
    def is_busy(self) -> bool:
        """Whether a complete request is being answered."""
        return self._phase is _Phase.IDLE and self._is_answering

    def authenticated(self) -> None:
        """Stop counting this connection for its address."""
        if not self._is_authenticated:
            self._is_authenticated = True
            self.config.table.authenticate(self)

    def drop(self) -> None:
        """Close the connection at once: another one takes its place."""
        self.config.refusals.note(self._peer, "too many of its connections had no token")
        self.transport.abort()

    # what the transport calls

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection."""
        super().connection_made(transport)
        listening: socket.socket | None = transport.get_extra_info("socket")
        if listening is not None and listening.family == socket.AF_UNIX:
            self.client = (UNIX_SOCKET, 0)
        host = self._peer
        self.address = None if is_proxy(host, self._limits.proxies) else address_group(host)
        self._since = self.loop.time()
        if self.config.table.admit(self):
            self.config.watch.start(self.loop)
        else:
            self.config.refusals.note(host, "too many connections are open")
            self._phase = _Phase.REFUSED
            transport.write(_TOO_MANY_CONNECTIONS)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        super().connection_lost(exc)
        self.config.table.remove(self)
        self.app_state = {}  # it held this connection

    def resume_writing(self) -> None:
        """Note that the client has read part of what waited for it: slow reading is not stalled reading."""
        super().resume_writing()
        self._write_stalled_since = None

    def data_received(self, data: bytes) -> None:
        """Parse what has come, as far as the limits allow."""
        self._unset_keepalive_if_required()
        if self._is_refused:
            return
        if self._phase is _Phase.IDLE and not self._is_answering:
            # Line feeds between requests begin none, but take the place of the idle time that has just ended.
            self._begin(_Phase.HEADERS)
        try:
            self._feed(data)
        except httptools.HttpParserUpgrade:
            if self._should_upgrade():
                self._begin(_Phase.WEBSOCKET)
                self.handle_websocket_upgrade()
        except httptools.HttpParserError:
            if not self._is_refused:
                self._refuse(_BROKEN_REQUEST, "it sent what is not HTTP/1.1")

    def _feed(self, data: bytes) -> None:
        while data and not self._is_refused:
            if self._phase is _Phase.BODY:
                self.parser.feed_data(data)
                return
            room = self._limits.header_bytes - self._header_bytes
            if room <= 0:
                self._refuse(_HEADERS_TOO_LARGE, "its headers are too large")
                return
            piece, data = data[:room], data[room:]
            self._header_bytes += len(piece)
            self.parser.feed_data(piece)

    # what the parser calls

    def on_message_begin(self) -> None:
        """Note that a request begins."""
        super().on_message_begin()
        if self._phase is not _Phase.NEW:  # the time for the first headers began with the connection
            self._begin(_Phase.HEADERS)

    def on_headers_complete(self) -> None:
        """Start the application, unless there are too many headers or requests."""
        self._header_bytes = 0
        if len(self.headers) > MAX_HEADER_FIELDS:
            self._refuse(_HEADERS_TOO_LARGE, "it sent too many headers")
        elif len(self.pipeline) >= MAX_PIPELINED_REQUESTS:
            self._refuse(_TOO_MANY_CONNECTIONS, "it sent too many requests without waiting for answers")
        if self._is_refused:
            raise httptools.HttpParserError  # ends the parsing of this piece
        self._begin(_Phase.BODY)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Count the body."""
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that the request is complete."""
        super().on_message_complete()
        self._phase = _Phase.IDLE

    # what is checked twice a second

    def check(self, now: float) -> None:
        """Close the connection if a limit on time was exceeded."""
        if self._is_refused or self.transport.is_closing():
            self._check_closing(now)
        elif self._phase is _Phase.WEBSOCKET:
            if not self._is_authenticated and now > self._since + self._limits.header_seconds:
                self.transport.abort()
        elif not self._check_writing(now):
            self.transport.abort()
        elif self._phase in (_Phase.NEW, _Phase.HEADERS):
            self._check_headers(now)
        elif self._phase is _Phase.BODY:
            self._check_body(now)

    def forgive(self, seconds: float) -> None:
        """Leave out a time in which the server itself did not listen."""
        self._since += seconds

    def _check_closing(self, now: float) -> None:
        if self._closing_since is None:
            self._closing_since = now
        elif now > self._closing_since + LINGER_SECONDS:
            self.transport.abort()
            self.config.table.remove(self)  # a websocket's end is not reported here

    def _check_writing(self, now: float) -> bool:
        if not self.flow.write_paused:
            self._write_stalled_since = None
        elif self._write_stalled_since is None:
            self._write_stalled_since = now
        return self._write_stalled_since is None or now <= self._write_stalled_since + STALLED_WRITE_SECONDS

    def _check_headers(self, now: float) -> None:
        if now <= self._since + self._limits.header_seconds or self.flow.read_paused:
            return
        if self._header_bytes:
            self._refuse(_TOO_SLOW, "its headers took too long")
        else:  # there is no request that could be answered
            self.transport.close()

    def _check_body(self, now: float) -> None:
        if self.cycle.response_complete:  # the rest of the body is thrown away, but not for ever
            if now > self._since + self._limits.body_seconds:
                self.transport.abort()
        elif (
            self.flow.read_paused or self.cycle.waiting_for_100_continue
        ):  # the client waits for the application
            self._begin(_Phase.BODY)
        elif now > self._since + self._limits.body_seconds:
            if self._body_bytes < self._limits.body_rate * self._limits.body_seconds:
                self._refuse(_TOO_SLOW, "its request body came too slowly")
            else:
                self._begin(_Phase.BODY)

    def _begin(self, phase: _Phase) -> None:
        self._phase = phase
        self._since = self.loop.time()
        self._body_bytes = 0

    def _refuse(self, response: bytes, reason: str) -> None:
        """Answer with an error, unless an answer has begun, and read no more requests."""
        self.config.refusals.note(self._peer, reason)
        self._phase = _Phase.REFUSED
        cycle, has_begun = self.cycle, False
        if self._is_answering:
            has_begun = cycle.response_started
            cycle.disconnected = True
            cycle.message_event.set()
        self.pipeline.clear()
        if has_begun or self.transport.is_closing():
            self.transport.abort()
            return
        self.transport.write(response)
        # Closing while bytes are unread would reset the connection before the client has read the answer.
        self.transport.write_eof()

    @property
    def _is_refused(self) -> bool:
        return self._phase is _Phase.REFUSED

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def _peer(self) -> str:
        return self.client[0] if self.client else "an unknown address"


class _Watch:
    """Checks all connections for limits on time: one timer instead of one per connection."""

    def __init__(self, table: ConnectionTable) -> None:
        self._table = table
        self._due: float | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Check from now on, as long as there are connections."""
        if self._due is None:
            self._due = loop.time() + CHECK_SECONDS
            loop.call_at(self._due, self._check, loop)

    def _check(self, loop: asyncio.AbstractEventLoop) -> None:
        assert self._due is not None
        now = loop.time()
        late, self._due = now - self._due, None
        for connection in self._table:
            assert isinstance(connection, LimitedProtocol)
            if late > CHECK_SECONDS:  # what has come meanwhile is not read yet
                connection.forgive(late)
            else:
                connection.check(now)
        if self._table:
            self.start(loop)


def _open_files_limit() -> int:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return UNLIMITED_OPEN_FILES if limit == resource.RLIM_INFINITY else limit


def _response(*, code: str, message: str, remedy: str) -> bytes:
    answer = error_response(Refused(message, code=code, remedy=remedy))
    fields = [(b"connection", b"close"), *answer.raw_headers]
    headers = b"".join(name + b": " + value + b"\r\n" for name, value in fields)
    return STATUS_LINE[answer.status_code] + headers + b"\r\n" + bytes(answer.body)


_HEADERS_TOO_LARGE = _response(
    code="headers_too_large",
    message="the headers of the request are too large",
    remedy="Send smaller or fewer headers",
)
_TOO_SLOW = _response(
    code="too_slow", message="the request came too slowly", remedy="Send the whole request at once"
)
_TOO_MANY_CONNECTIONS = _response(
    code="too_many_connections",
    message="too many connections are open",
    remedy="Close some, or wait for each answer before sending the next request",
)
_BROKEN_REQUEST = _response(
    code="broken_request", message="this is not HTTP/1.1", remedy="Send an HTTP/1.1 request"
)
