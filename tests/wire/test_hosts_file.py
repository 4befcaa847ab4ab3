"""Host discovery scripts: read, never run, and written back byte by byte."""

from __future__ import annotations

from typing import Any

import pytest

from tenuto.errors import InputInvalid
from tenuto.wire.hosts_file import as_script, host_line, on_nodes, parse_hosts


def a_node(name: str, address: str, slots: int) -> dict[str, Any]:
    return {"name": name, "address": address, "slots": [{} for _ in range(slots)]}


def test_a_script_comes_back_byte_by_byte() -> None:
    script = "echo 10.0.0.1:2\necho 10.0.0.2:4\n"

    hosts = parse_hosts(script, "discover.sh")

    assert hosts == {"10.0.0.1": 2, "10.0.0.2": 4}
    assert as_script(f"{host}:{slots}" for host, slots in hosts.items()) == script


def test_plain_lines_comments_and_quotes_are_understood() -> None:
    text = "#!/bin/sh\nset -e\n\nnode-0:1\necho \"node-1:2\"\necho 'node-1:1'\necho [::1]:3\necho gone:0\nexit 0\n"

    assert parse_hosts(text, "f") == {"node-0": 1, "node-1": 3, "::1": 3}


@pytest.mark.parametrize(
    "line", ["rm -rf /", "echo $(hostname):2", "echo a:b", "echo a:1; ls", "a:1:0", "echo"]
)
def test_anything_else_is_refused_and_not_run(line: str) -> None:
    with pytest.raises(InputInvalid, match=r"f, line 2: .*the script is read, not run"):
        parse_hosts(f"echo a:1\n{line}\n", "f")


def test_a_file_without_a_slot_is_refused() -> None:
    with pytest.raises(InputInvalid, match="no host has a slot"):
        parse_hosts("# nothing\necho a:0\n", "f")


def test_hosts_are_nodes_by_name_or_by_address() -> None:
    nodes = [a_node("a", "10.0.0.1", 2), a_node("b", "10.0.0.2", 4)]

    assert on_nodes({"b": 1, "10.0.0.1": 2}, nodes) == {"b": 1, "a": 2}


def test_virtual_nodes_of_one_address_are_filled_in_turn() -> None:
    nodes = [a_node("node-0", "127.0.0.1", 2), a_node("node-1", "127.0.0.1", 2)]

    assert on_nodes({"127.0.0.1": 3}, nodes) == {"node-0": 2, "node-1": 1}
    assert on_nodes({"127.0.0.1": 5}, nodes) == {"node-0": 2, "node-1": 3}


def test_a_host_that_is_no_node_is_refused() -> None:
    with pytest.raises(InputInvalid, match=r"no node is called c or has that address\. The nodes are a"):
        on_nodes({"c": 1}, [a_node("a", "10.0.0.1", 2)])


@pytest.mark.parametrize("host", ["10.0.0.7", "gpu-box", "fe80::1", "::1"])
def test_a_line_is_read_as_it_was_written(host: str) -> None:
    assert parse_hosts(host_line(host, 3), "f") == {host: 3}
