"""Receives the messages of other supervisors, on a port of its own, if they have the secret of the job (`keys`)."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from pydantic import ValidationError

from tenuto.engines.supervisor.crews.keys import PeerKeys
from tenuto.engines.supervisor.crews.peer_connections import MAX_CONNECTIONS, PeerConnection, PeerConnections
from tenuto.engines.supervisor.crews.words import JOB_HEADER, MOST_BYTES, PATH, Word
from tenuto.wire.codec import decode

log = logging.getLogger(__name__)
MAX_THREADS = 4 * MAX_CONNECTIONS
"""Open connections with and without a secret, and as many that were displaced and are about to end."""
_WRITE_SECONDS = 5.0
"""Time in which a peer must take its answer."""


class Reception:
    """Listens until it is closed. What is said is handed to `deliver`, from other threads."""

    def __init__(self, host: str, keys: PeerKeys, deliver: Callable[[Word], None]) -> None:
        self._server = _Server(_listen(host), keys, deliver)
        port = self._server.socket.getsockname()[1]
        self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        threading.Thread(target=self._server.serve_forever, daemon=True, name="reception").start()

    def close(self) -> None:
        """Listen no more."""
        ending = threading.Thread(target=self._server.shutdown)
        ending.start()
        self._server.socket.shutdown(
            socket.SHUT_RDWR
        )  # wakes it, so that it does not end half a second later
        ending.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, listening: socket.socket, keys: PeerKeys, deliver: Callable[[Word], None]) -> None:
        super().__init__(listening.getsockname()[:2], _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.keys = keys
        self.deliver = deliver
        self.connections = PeerConnections()
        self._thread_slots = threading.BoundedSemaphore(MAX_THREADS)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self.connections.open(request, client_address[0]):
            self.shutdown_request(request)
            return
        self._thread_slots.acquire()  # those of displaced connections end at once, so it waits hardly ever
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._thread_slots.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._thread_slots.release()

    def shutdown_request(self, request: Any) -> None:
        """Forget the connection before its socket is closed, however it ends."""
        self.connections.remove(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Do nothing about a peer that closed its connection: it comes again."""


class _Handler(BaseHTTPRequestHandler):
    timeout = _WRITE_SECONDS
    server: _Server

    def setup(self) -> None:
        """Limit the bytes and the whole time of reading; a timeout of the socket begins anew with each piece."""
        super().setup()
        self.rfile.close()
        self.peer: PeerConnection = self.server.connections.of(self.request)
        self.rfile = self.peer.stream

    def do_POST(self) -> None:
        """A word."""
        self.send_response(self._answer())
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _answer(self) -> HTTPStatus:
        job = unquote(self.headers.get(JOB_HEADER, ""))
        scheme, _, secret = self.headers.get("Authorization", "").partition(" ")
        if scheme != "Bearer" or not self.server.keys.accepts(job, secret):
            return HTTPStatus.UNAUTHORIZED
        if self.path != PATH:
            return HTTPStatus.NOT_FOUND
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            return HTTPStatus.LENGTH_REQUIRED
        if int(length) > MOST_BYTES:
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        if not self.server.connections.authenticate(self.peer):
            return HTTPStatus.SERVICE_UNAVAILABLE
        try:
            word = decode(Word, self.peer.read_message(int(length)))
        except ValidationError:
            return HTTPStatus.UNPROCESSABLE_ENTITY
        if word.job != job or not self.server.keys.has(job, word.node):
            return HTTPStatus.FORBIDDEN
        self.server.deliver(word)
        return HTTPStatus.NO_CONTENT

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called there
        """Say nothing: it happens all the time."""


def _listen(host: str) -> socket.socket:
    """At the node's own address; everywhere if that is not one of this machine, because it is translated."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, 0), family=family)
    except OSError:
        log.info("%s is no address of this machine; listening at all of them", host)
        return socket.create_server(("", 0))
