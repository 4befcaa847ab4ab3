"""Clusters of unequal nodes, listed in YAML: how many nodes of how many slots, under which switch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import yaml

from tenuto.errors import InputInvalid, Place
from tenuto.model.cluster import Cluster
from tenuto.model.cluster_names import MOST_SLOTS
from tenuto.model.columns import frozen
from tenuto.sim.table import read_text

KEYS = ("slots", "count", "switch", "name")
REMEDY = "Write nodes: [{slots: 8, count: 4}, {slots: 4, name: old}]"


def read_node_list(path: Path) -> Cluster:
    """Read a cluster from a YAML file with a list `nodes`."""
    try:
        content = yaml.safe_load(read_text(path))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = Place(str(path), None if mark is None else mark.line + 1)
        raise InputInvalid("is not YAML", remedy=REMEDY, place=place) from None
    kinds = content.get("nodes") if isinstance(content, dict) else None
    if not isinstance(kinds, list) or not kinds:
        raise InputInvalid("has no list 'nodes'", remedy=REMEDY, place=Place(str(path)))
    slots: list[int] = []
    switch: list[int] = []
    names: list[str] = []
    for position, kind in enumerate(kinds, start=1):
        place = Place(str(path), column=f"nodes, entry {position}")
        count, each, below, name = _kind(kind, place)
        slots += [each] * count
        switch += [below] * count
        names += [name or f"node-{len(names)}"] if count == 1 else [
            f"{name or 'node'}-{len(names) + k}" for k in range(count)
        ]  # fmt: skip
        if sum(slots) > MOST_SLOTS:
            raise InputInvalid(
                f"lists more than {MOST_SLOTS:,} slots", remedy="Describe a smaller cluster", place=place
            )
    if len(set(names)) < len(names):
        raise InputInvalid("two nodes have the same name", remedy="Give each its own", place=Place(str(path)))
    return Cluster(
        path.stem,
        frozen(np.array(slots, dtype=np.int64)),
        frozen(np.array(switch, dtype=np.int64)),
        tuple(names),
    )


def _kind(kind: object, place: Place) -> tuple[int, int, int, str]:
    """One entry: how many nodes, their slots, their switch, their name."""
    if not isinstance(kind, dict) or "slots" not in kind:
        raise InputInvalid("gives no slots", remedy=REMEDY, place=place)
    for key in kind:
        if key not in KEYS:
            raise InputInvalid(
                f"has an unknown key {key!r}", remedy=f"Known are {', '.join(KEYS)}", place=place
            )
    count, slots, switch = kind.get("count", 1), kind["slots"], kind.get("switch", 0)
    for key, value, least in (("count", count, 1), ("slots", slots, 1), ("switch", switch, 0)):
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= MOST_SLOTS:
            raise InputInvalid(
                f"{key} is {value!r}", remedy=f"Write a whole number, at least {least}", place=place
            )
    return count, slots, switch, str(kind.get("name", ""))
