"""A client that writes HTTP by hand, so that it can break the rules; every wait has an end."""

from __future__ import annotations

import contextlib
import json
import socket
from typing import Any
from urllib.parse import urlsplit

TIMEOUT_SECONDS = 20.0


class RawClient:
    """One connection to a server."""

    def __init__(self, url: str, source: str = "127.0.0.1") -> None:
        parts = urlsplit(url)
        assert parts.hostname and parts.port
        self.socket = socket.create_connection(
            (parts.hostname, parts.port), TIMEOUT_SECONDS, source_address=(source, 0)
        )

    def __enter__(self) -> RawClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, text: str | bytes) -> None:
        """Send bytes; a connection that the server has closed is no error here."""
        with contextlib.suppress(OSError):
            self.socket.sendall(text.encode() if isinstance(text, str) else text)

    def try_send(self, data: bytes) -> bool:
        """Send bytes; False if the server has closed the connection, or takes none of them any more."""
        try:
            self.socket.sendall(data)
        except OSError:
            return False
        return True

    def request(self, method: str, path: str, **headers: str) -> None:
        """Send a request without a body."""
        lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.send("\r\n".join([*lines, "", ""]))

    def response(self) -> tuple[int, Any]:
        """Read one response with a declared length: its status and its JSON body, if it has one."""
        received = b""
        while b"\r\n\r\n" not in received:
            received += self._some()
        head, _, body = received.partition(b"\r\n\r\n")
        status, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        while len(body) < int(headers.get("content-length", "0")):
            body += self._some()
        is_json = headers.get("content-type") == "application/json"
        return int(status.split()[1]), json.loads(body) if is_json else body

    def is_closed(self) -> bool:
        """Wait until the server closes the connection; False if it does not, or sends anything."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False

    def _some(self) -> bytes:
        piece = self.socket.recv(65536)
        assert piece, "the server closed the connection"
        return piece
