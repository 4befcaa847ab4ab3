"""Clusters from a name or a file; whatever is wrong is named with its place and a remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tenuto.errors import InputInvalid
from tenuto.sim.read_cluster import load_cluster

if TYPE_CHECKING:
    from pathlib import Path

HEADER = "num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node"


def test_a_file_and_a_name_describe_the_same_cluster(tmp_path: Path) -> None:
    file = tmp_path / "cluster.csv"
    file.write_text(f"{HEADER}\n1,4,8,40,256\n")

    from_file, named = load_cluster(str(file)), load_cluster("n4g8")

    assert from_file.slots.tolist() == named.slots.tolist()
    assert from_file.switch.tolist() == named.switch.tolist()


def test_columns_may_stand_in_any_order_among_others(tmp_path: Path) -> None:
    file = tmp_path / "größe.csv"
    file.write_text(
        "\ufeffmem_p_node, rack, num_gpu_p_node, num_switch, num_cpu_p_node, num_node_p_switch\n"
        "\n256, A, 8, 2, 40, 3\n",
        encoding="utf-8",
    )

    cluster = load_cluster(str(file))

    assert cluster.name == "größe"
    assert cluster.switch.tolist() == [0, 0, 0, 1, 1, 1]
    assert cluster.slots.tolist() == [8] * 6


BAD = {
    "empty": ("", None, None, "header line"),
    "only a header": (f"{HEADER}\n", 1, None, "at least one row"),
    "a column is missing": ("num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node\n1,4,8,40\n", 1,
                            "mem_p_node", "are needed"),
    "two rows": (f"{HEADER}\n1,4,8,40,256\n1,8,8,40,256\n", 3, "num_switch", "exactly one row"),
    "zero nodes": (f"{HEADER}\n1,0,8,40,256\n", 2, "num_node_p_switch", "Write a number"),
    "negative slots": (f"{HEADER}\n1,4,-8,40,256\n", 2, "num_gpu_p_node", "Write a number"),
    "half a switch": (f"{HEADER}\n0.5,4,8,40,256\n", 2, "num_switch", "Write a number"),
    "no number": (f"{HEADER}\n1,four,8,40,256\n", 2, "num_node_p_switch", "plain number"),
    "too few fields": (f"{HEADER}\n1,4,8\n", 2, "num_cpu_p_node", "one field per column"),
    "too many slots": (f"{HEADER}\n1,4000,8000,40,256\n", 2, "num_switch", "smaller cluster"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "line", "column", "remedy"), BAD.values(), ids=BAD.keys())
def test_a_bad_file_is_refused_with_place_and_remedy(
    tmp_path: Path, text: str, line: int | None, column: str | None, remedy: str
) -> None:
    file = tmp_path / "cluster.csv"
    file.write_text(text)

    with pytest.raises(InputInvalid) as caught:
        load_cluster(str(file))

    place = caught.value.place
    assert place is not None
    assert (place.file, place.line, place.column) == (str(file), line, column)
    assert remedy in caught.value.remedy


def test_an_unknown_name_suggests_the_closest_and_lists_what_is_possible() -> None:
    with pytest.raises(
        InputInvalid, match=r"n8g8x.*Did you mean n8g8\?.*n256g8.*16x8.*2x32x8.*CSV or YAML file"
    ):
        load_cluster("n8g8x")


def test_a_missing_file_is_named() -> None:
    with pytest.raises(InputInvalid, match=r"nowhere/cluster\.csv: there is no such file"):
        load_cluster("nowhere/cluster.csv")
