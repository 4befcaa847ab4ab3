"""Clusters by name: the reference's sixteen as they are, and shapes in numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenuto.model.cluster_names import cluster_named

# Name, switches, nodes in all, slots in all, as the reference's files have them.
REFERENCE = [
    ("n1g1", 1, 1, 1),
    ("n1g2", 1, 2, 2),
    ("n2g2", 1, 2, 4),
    ("n1g4", 1, 1, 4),
    ("n1g8", 1, 1, 8),
    ("n4g8", 1, 4, 32),
    ("n8g8", 1, 8, 64),
    ("n16g4", 1, 16, 64),
    ("n16g8", 1, 16, 128),
    ("n32g4", 1, 32, 128),
    ("n32g8", 1, 32, 256),
    ("n48g8", 1, 48, 384),
    ("n64g8", 2, 64, 512),
    ("n128g8", 1, 128, 1024),
    ("n160g8", 5, 160, 1280),
    ("n256g8", 8, 256, 2048),
]


@pytest.mark.parametrize(("name", "switches", "nodes", "slots"), REFERENCE, ids=[row[0] for row in REFERENCE])
def test_the_references_clusters_have_their_names(name: str, switches: int, nodes: int, slots: int) -> None:
    cluster = cluster_named(name)

    assert cluster is not None
    assert cluster.name == name
    assert (len(set(cluster.switch.tolist())), len(cluster.slots), cluster.total) == (switches, nodes, slots)


@given(nodes=st.integers(1, 300), slots=st.integers(1, 16))
def test_nodes_and_slots_can_be_spelled_out(nodes: int, slots: int) -> None:
    cluster = cluster_named(f"{nodes}x{slots}")

    assert cluster is not None
    assert cluster.slots.tolist() == [slots] * nodes


def test_other_names_mean_what_they_say() -> None:
    cluster = cluster_named("n3g5")

    assert cluster is not None
    assert cluster.slots.tolist() == [5, 5, 5]


def test_switches_can_be_spelled_out_too() -> None:
    cluster = cluster_named("2x3x4")

    assert cluster is not None
    assert cluster.slots.tolist() == [4] * 6
    assert cluster.switch.tolist() == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    "name",
    ["", "n0g8", "n8g0", "8", "8x", "n8", "N8g8", "n08g8", "2x2x2x2", "n٣g8", "n9999999g9999999", "-1x8"],
)
def test_everything_else_is_no_cluster(name: str) -> None:
    assert cluster_named(name) is None
