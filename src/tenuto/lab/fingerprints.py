"""Hashes of everything that a replay reads, so that a result can tell what it came from."""

from __future__ import annotations

import hashlib
import inspect
import json
from functools import cache
from pathlib import Path
from typing import Any

import tenuto
from tenuto.model.cluster import Cluster
from tenuto.model.curve import Profiles
from tenuto.policy.base import Policy
from tenuto.sim.workload import Workload

OURS = "tenuto."
"""What the modules of our own policies begin with; the hash of our own source speaks for them."""

ROOT = Path(tenuto.__file__).parent
DECIDING = ("model", "policy", "rounds", "sim")
"""The packages whose source decides what a replay gives."""
REFERENCE_ONLY = ("sim/artifact", "data/pollux")
"""What only the reference's semantics read: its loops, and the measurements of Pollux."""


def input_hashes(workload: Workload, policy: Policy, overhead: str) -> dict[str, str]:
    """The SHA-256 of files, and of what a profile or a cluster says, wherever it says it."""
    found = {
        "trace": hash_of_file(Path(workload.trace.source)),
        "profiles": hash_of(_curves(workload.profiles)),
        "cluster": hash_of(_shape(workload.cluster)),
    }
    if Path(overhead).is_file():
        found["overhead"] = hash_of_file(Path(overhead))
    if (source := _own_source(policy)) is not None:
        found["policy"] = hash_of_file(source)
    return found


def _own_source(policy: Policy) -> Path | None:
    """The file in which somebody's own policy stands: an edit makes another policy of it."""
    decide = policy.decide if inspect.isfunction(policy.decide) else type(policy.decide)
    if str(decide.__module__).startswith(OURS):
        return None
    try:
        return Path(inspect.getfile(decide))
    except TypeError:  # compiled, or built into Python
        return None


@cache
def hash_of_source(compat: bool, root: Path = ROOT) -> str:
    """The SHA-256 of our own source, as far as a replay depends on it: a mended policy makes other cells."""
    digest = hashlib.sha256()
    paths = [path for package in DECIDING for path in (root / package).rglob("*.py")]
    paths += (root / "data/pollux").glob("*.csv")
    for path in sorted(paths):
        name = path.relative_to(root).as_posix()
        if compat or not name.startswith(REFERENCE_ONLY):
            digest.update(name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def hash_of_file(path: Path) -> str:
    """The SHA-256 of a file, as `sha256sum` prints it."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def hash_of(value: Any) -> str:
    """The SHA-256 of a value as JSON."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _curves(profiles: Profiles) -> list[Any]:
    curves = profiles.curves.items()
    return sorted([model, batch, sorted(curve.rate.items())] for (model, batch), curve in curves)


def _shape(cluster: Cluster) -> list[list[int]]:
    return [cluster.slots.tolist(), cluster.switch.tolist()]
