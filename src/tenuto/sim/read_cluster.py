"""Clusters as users name them: a built-in name, a shape in numbers, or a file."""

from __future__ import annotations

from pathlib import Path

from tenuto.errors import InputInvalid
from tenuto.model.cluster import Cluster
from tenuto.model.cluster_names import BUILT_IN, MOST_SLOTS, cluster_named
from tenuto.sim.read_node_list import read_node_list
from tenuto.sim.table import parse_table, read_text, require_columns
from tenuto.suggest import did_you_mean

COLUMNS = ("num_switch", "num_node_p_switch", "num_gpu_p_node", "num_cpu_p_node", "mem_p_node")


def load_cluster(text: str) -> Cluster:
    """Find the cluster that a user means."""
    if named := cluster_named(text):
        return named
    path = Path(text)
    if path.suffix in (".yaml", ".yml"):
        return read_node_list(path)
    if path.is_file() or path.suffix == ".csv" or path.name != text:
        return read_cluster(path)
    raise _unknown(text)


def read_cluster(path: Path) -> Cluster:
    """Read a cluster from a CSV file with one header line and one line of numbers."""
    table = parse_table(read_text(path), str(path))
    require_columns(table, COLUMNS, f"All of {', '.join(COLUMNS)} are needed")
    numbers = {column: table.whole_numbers(column) for column in COLUMNS}
    if len(table.rows) > 1:
        table.refuse(
            f"{len(table.rows)} rows describe one cluster",
            "Keep exactly one row; a file describes one kind of node",
            row=1,
            column=COLUMNS[0],
        )
    switches, nodes, slots = (int(numbers[column][0]) for column in COLUMNS[:3])
    if switches * nodes * slots > MOST_SLOTS:
        table.refuse(
            f"{switches} x {nodes} x {slots} slots are more than {MOST_SLOTS:,}",
            "Describe a smaller cluster",
            row=0,
            column=COLUMNS[0],
        )
    return Cluster.regular(path.stem, switches=switches, nodes=nodes, slots=slots)


def _unknown(text: str) -> InputInvalid:
    return InputInvalid(
        f"{text!r} names no cluster and no file",
        remedy=f"{did_you_mean(text, BUILT_IN)}Known are {', '.join(BUILT_IN)}, any nXgY (X nodes of Y slots), "
        f"16x8 (nodes x slots), 2x32x8 (switches x nodes x slots), each up to {MOST_SLOTS:,} slots, "
        "or a CSV or YAML file",
    )
