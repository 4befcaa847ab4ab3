"""Only a group's own connections are cut."""

from __future__ import annotations

import socket

from tenuto.sdk.pytorch.sockets import Sockets, Window


def a_listener() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


def connect(listener: socket.socket) -> tuple[socket.socket, socket.socket]:
    near = socket.create_connection(listener.getsockname())
    far, _ = listener.accept()
    return near, far


def test_whoever_waits_on_either_end_of_a_cut_connection_fails_at_once() -> None:
    sockets = Sockets()
    with a_listener() as listener:
        with Window() as window:
            near, far = connect(listener)
        sockets.hold(window, there=[listener.getsockname()[1]])

        sockets.cut()

        assert near.recv(1) == b"" and far.recv(1) == b""
        assert sockets.is_cut
        near.close()
        far.close()


def test_what_others_opened_meanwhile_stays_whole() -> None:
    sockets = Sockets()
    with a_listener() as listener, a_listener() as foreign:
        with Window() as window:
            near, far = connect(listener)
            stranger, friend = connect(foreign)
        sockets.hold(window, there=[listener.getsockname()[1]])

        sockets.cut()

        stranger.sendall(b"x")
        assert friend.recv(1) == b"x"
        for connection in (near, far, stranger, friend):
            connection.close()


def test_what_is_opened_after_the_cut_is_cut_too() -> None:
    sockets = Sockets()
    sockets.cut()
    with a_listener() as listener:
        with Window() as window:
            near, far = connect(listener)

        sockets.hold(window, here=[listener.getsockname()[1]])

        assert near.recv(1) == b""
        near.close()
        far.close()


def test_a_window_knows_the_ports_at_which_something_listens() -> None:
    with a_listener():
        with Window() as window:
            listener = a_listener()
        assert window.listening() == {listener.getsockname()[1]}
        listener.close()
