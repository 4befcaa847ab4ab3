"""Files of `host:slots` lines: Horovod's host discovery scripts, read but never run, and their writing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from tenuto.errors import InputInvalid, Place

_LINE = re.compile(r"""(?:echo\s+)?(["']?)(?P<host>\[[0-9A-Fa-f:.%]+\]|[\w.-]+):(?P<slots>\d{1,6})\1""")
_PASSED_OVER = re.compile(r"\s*(?:#.*|set\s+-\w+|exit(?:\s+0)?)?\s*")


def read_hosts(path: Path) -> dict[str, int]:
    """Workers by host, in the order of the lines; a host that stands there twice has the sum."""
    return parse_hosts(text_of(path), str(path))


def text_of(path: Path) -> str:
    """What a file of hosts says."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        told = getattr(error, "strerror", None) or "it is no UTF-8 text"
        raise InputInvalid(
            f"the file cannot be read ({told})", remedy="Check the name", place=Place(str(path))
        ) from None


def parse_hosts(text: str, file: str) -> dict[str, int]:
    """The same from the text of a file."""
    hosts: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if _PASSED_OVER.fullmatch(line):
            continue
        found = _LINE.fullmatch(line.strip())
        if found is None:
            raise InputInvalid(
                f"{line.strip()[:60]!r} is no host with its slots",
                remedy="Write lines such as echo node-0:2; the script is read, not run",
                place=Place(file, number),
            )
        host = found["host"].strip("[]")
        hosts[host] = hosts.get(host, 0) + int(found["slots"])
    if not any(hosts.values()):
        raise InputInvalid(
            "no host has a slot", remedy="Write a line such as echo node-0:2", place=Place(file)
        )
    return {host: slots for host, slots in hosts.items() if slots}


def host_line(host: str, slots: int) -> str:
    """One line; the colons of an IPv6 address are kept apart from ours."""
    return f"[{host}]:{slots}" if ":" in host else f"{host}:{slots}"


def as_script(lines: Iterable[str]) -> str:
    """A host discovery script that prints these lines, whatever the names of nodes contain."""
    return "".join(f"echo {quote(line)}\n" for line in lines)


def on_nodes(hosts: Mapping[str, int], nodes: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Workers by node. A host is a node's name, or the address of one node or several, which are then filled in turn.

    `nodes` are nodes as the API shows them.
    """
    named = {str(node["name"]) for node in nodes}
    wanted: dict[str, int] = {}
    for host, workers in hosts.items():
        if host in named:
            wanted[host] = wanted.get(host, 0) + workers
            continue
        here = [node for node in nodes if node["address"] == host]
        if not here:
            raise InputInvalid(
                f"no node is called {host} or has that address",
                remedy=f"The nodes are {', '.join(sorted(named)) or 'none yet'}",
                field="nodes",
            )
        for node, share in _filled(here, workers).items():
            wanted[node] = wanted.get(node, 0) + share
    return wanted


def _filled(nodes: Sequence[Mapping[str, Any]], workers: int) -> dict[str, int]:
    """The first nodes to their last slot, and the rest on the last one, for the server to judge."""
    shares: dict[str, int] = {}
    for node in nodes:
        room = node["slots"] if isinstance(node["slots"], int) else len(node["slots"])
        shares[str(node["name"])] = min(workers, room)
        workers -= shares[str(node["name"])]
    if workers:
        shares[str(nodes[-1]["name"])] += workers
    return {node: share for node, share in shares.items() if share}
