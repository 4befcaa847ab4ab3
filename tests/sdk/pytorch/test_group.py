"""Where a worker's store listens."""

from __future__ import annotations

import socket

import pytest

from tenuto.sdk.pytorch.group import Home


def test_a_workers_store_listens_at_the_address_of_its_node_only() -> None:
    home = Home("127.0.0.2")

    with socket.create_connection(("127.0.0.2", home.port), timeout=10):
        pass
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", home.port), timeout=10)


def test_a_worker_whose_nodes_address_is_not_the_machines_own_listens_everywhere() -> None:
    home = Home("192.0.2.1")

    with socket.create_connection(("127.0.0.1", home.port), timeout=10):
        pass
