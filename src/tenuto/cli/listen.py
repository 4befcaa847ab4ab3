"""The socket on which a server listens: made first, so that its port is known and a clash is told early."""

from __future__ import annotations

import errno
import ipaddress
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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


@contextmanager
def unix_socket(path: Path) -> Iterator[socket.socket]:
    """Listen at a file, for a proxy on this machine; it is gone afterwards.

    Whoever may enter its directory may connect: a request needs a token all the same.
    """
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with listening:
        _make_way(path)
        try:
            listening.bind(str(path))
            path.chmod(0o666)
            listening.listen(BACKLOG)
        except OSError as error:
            raise _cannot_at(path, error.strerror or str(error)) from None
        try:
            yield listening
        finally:
            path.unlink(missing_ok=True)


def _make_way(path: Path) -> None:
    """Clear away the socket of a server that was killed; anything else stays."""
    if not path.exists():
        return
    if not path.is_socket():
        raise _cannot_at(path, "there is something else")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        if probe.connect_ex(str(path)) == 0:
            raise Conflict(f"somebody listens at {path}", code="socket_in_use", remedy="Choose another --uds")
    path.unlink()


def _cannot_at(path: Path, why: str) -> InputInvalid:
    return InputInvalid(
        f"cannot listen at {path} ({why})",
        remedy="Choose a path of up to 100 characters in a directory that exists and is yours",
        field="uds",
    )


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
