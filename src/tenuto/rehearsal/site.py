"""A platform that runs, as the simulator must see it: its nodes, its policy, and what it reckons with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from tenuto.client.plain import PlainClient
from tenuto.errors import Conflict
from tenuto.model.cluster import Cluster
from tenuto.model.columns import frozen
from tenuto.server.scene import Rule
from tenuto.settings import Scheduling, scheduling_in_force

HERE = ("", "127.0.0.1", "::1", "localhost")
_ONLINE = "online"


@dataclass(frozen=True)
class Site:
    """Where a rehearsal takes place."""

    cluster: Cluster
    rule: Rule
    one_machine: bool
    """Whether all nodes are on the machine of the server."""


def site_of(client: PlainClient) -> Site:
    """Look at a platform. Raises Conflict if nothing can be played there now."""
    if client.cluster()["draining"]:
        raise Conflict("the platform is stopping", remedy="Start it again with tenuto up")
    nodes = [node for node in client.nodes()["items"] if node["state"].lower() == _ONLINE]
    if not any(node["total"] for node in nodes):
        raise Conflict("the platform has no slots", remedy="Let a node join: tenuto node join")
    nodes.sort(key=lambda node: node["number"])
    cluster = Cluster(
        name="live",
        slots=frozen(np.array([node["total"] for node in nodes], dtype=np.int64)),
        switch=frozen(np.zeros(len(nodes), dtype=np.int64)),
        node_names=tuple(node["name"] for node in nodes),
    )
    return Site(cluster, _rule(client.policy()), all(node["address"] in HERE for node in nodes))


def _rule(policy: Mapping[str, Any]) -> Rule:
    """The policy in force; its settings and those of rounds come in one mapping."""
    known = {field.name for field in fields(Scheduling)}
    own = {name: value for name, value in policy["settings"].items() if name not in known}
    scheduling = scheduling_in_force({**policy["settings"], "policy": policy["name"]}, Scheduling())
    return Rule(scheduling, own)
