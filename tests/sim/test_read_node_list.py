"""Clusters of unequal nodes, from YAML."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenuto.errors import InputInvalid
from tenuto.sim.read_cluster import load_cluster


def test_unequal_nodes_are_listed_with_their_slots_and_switches(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(
        "nodes:\n- {slots: 8, count: 2}\n- {slots: 4, name: größe, switch: 1}\n", encoding="utf-8"
    )

    cluster = load_cluster(str(file))

    assert cluster.name == "lab"
    assert cluster.slots.tolist() == [8, 8, 4]
    assert cluster.switch.tolist() == [0, 0, 1]
    assert cluster.node_names == ("node-0", "node-1", "größe")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("nodes: [\n{slots: 8}", "line 2: is not YAML", id="broken"),
        pytest.param("", "has no list 'nodes'", id="empty"),
        pytest.param("nodes: []", "has no list 'nodes'", id="no nodes"),
        pytest.param("nodes: [{count: 2}]", "entry 1': gives no slots", id="no slots"),
        pytest.param("nodes: [{slots: 8}, {slots: 0}]", "entry 2': slots is 0", id="zero slots"),
        pytest.param("nodes: [{slots: 8, count: many}]", "count is 'many'", id="a word"),
        pytest.param("nodes: [{slots: 8, gpus: 4}]", "unknown key 'gpus'", id="an unknown key"),
        pytest.param("nodes: [{slots: 8, count: 900000}]", "more than 1,000,000 slots", id="too many"),
        pytest.param("nodes: [{slots: 1, name: a}, {slots: 1, name: a}]", "same name", id="namesakes"),
    ],
)
def test_a_bad_list_is_refused_with_its_place_and_a_remedy(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "lab.yml"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(InputInvalid, match=problem) as caught:
        load_cluster(str(file))

    assert str(caught.value).startswith(str(file))
    assert caught.value.remedy
