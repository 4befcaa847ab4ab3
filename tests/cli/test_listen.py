"""Where a server listens."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tenuto.cli.listen import listening_socket, only_here, unix_socket, url_of
from tenuto.errors import Conflict, InputInvalid

LOOPBACK = "127.0.0.1"


def port_of(listening: socket.socket) -> int:
    return int(listening.getsockname()[1])


def test_the_port_of_last_time_is_taken_again() -> None:
    with listening_socket(LOOPBACK, 0, None) as first:
        remembered = port_of(first)

    with listening_socket(LOOPBACK, 0, remembered) as second:
        assert port_of(second) == remembered


def test_a_remembered_port_that_is_taken_makes_way_for_another() -> None:
    with listening_socket(LOOPBACK, 0, None) as other, listening_socket(LOOPBACK, 0, port_of(other)) as mine:
        assert port_of(mine) != port_of(other)


def test_a_port_that_was_asked_for_and_is_taken_is_an_error() -> None:
    with listening_socket(LOOPBACK, 0, None) as other, pytest.raises(Conflict, match="Choose another --port"):
        listening_socket(LOOPBACK, port_of(other), None)


@pytest.mark.parametrize("host", ["192.0.2.1", "żadna.invalid", "not an address"])
def test_an_address_of_another_machine_is_an_error(host: str) -> None:
    with pytest.raises(InputInvalid, match="of this machine"):
        listening_socket(host, 0, None)


def test_clients_of_this_machine_are_given_an_address_that_leads_here() -> None:
    with listening_socket("0.0.0.0", 0, None) as everywhere:
        assert url_of(everywhere) == f"http://127.0.0.1:{port_of(everywhere)}"


@pytest.mark.parametrize(
    ("host", "here"),
    [
        (LOOPBACK, True),
        ("localhost", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("10.0.0.7", False),
        ("box", False),
    ],
)
def test_what_others_can_reach_is_known(host: str, here: bool) -> None:
    assert only_here(host) is here


def test_a_unix_socket_is_listened_at_and_gone_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "сокет"

    with unix_socket(path), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
    assert not path.exists()


def test_the_socket_of_a_server_that_was_killed_makes_way(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(path))

    with unix_socket(path), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))


def test_a_socket_that_somebody_listens_at_is_left_to_them(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with unix_socket(path):
        with pytest.raises(Conflict, match="somebody listens at"), unix_socket(path):
            pass
        assert path.is_socket()


@pytest.mark.parametrize("name", ["file", "nowhere/socket", "x" * 200])
def test_a_socket_that_cannot_be_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("mine")

    with pytest.raises(InputInvalid, match="cannot listen at"), unix_socket(tmp_path / name):
        pass
    assert (tmp_path / "file").read_text() == "mine"
