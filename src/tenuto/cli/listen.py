"""The socket on which a server listens: made first, so that its port is known and a clash is told early."""

from __future__ import annotations

import errno
import ipaddress
import socket

from tenuto.errors import Conflict, InputInvalid

BACKLOG = 512
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  recognised, not chosen


def listening_socket(host: str, port: int, remembered: int | None) -> socket.socket:
    """Listen at a port: the one that was asked for, else the one of last time, else any that is free."""
    if port:
        return _listen(host, port)
    if remembered:
        try:
            return _listen(host, remembered)
        except Conflict:
            pass  # somebody else has it meanwhile; supervisors of this machine are told of the new one
    return _listen(host, 0)


def url_of(listening: socket.socket) -> str:
    """The address for clients of this machine."""
    host, port = listening.getsockname()[:2]
    host = _EVERYWHERE.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def only_here(host: str) -> bool:
    """Whether nobody outside this machine reaches that address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, UnicodeError):
        raise InputInvalid(
            f"the address {host!r} is not known", remedy="Write 127.0.0.1, or an address of this machine"
        ) from None
    listening = socket.socket(family, kind, protocol)
    try:
        # A port whose connections are still being forgotten by the system may be taken again at once.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise _cannot(host, port, error) from None
    return listening


def _cannot(host: str, port: int, error: OSError) -> Conflict | InputInvalid:
    if error.errno == errno.EADDRINUSE:
        return Conflict(
            f"port {port} of {host} is in use",
            code="port_in_use",
            remedy="Choose another --port, or 0 to let the system choose",
        )
    return InputInvalid(
        f"cannot listen at {host}, port {port} ({error.strerror})",
        remedy="Choose an address of this machine, and a port above 1023",
    )
