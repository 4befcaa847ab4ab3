"""What cells read: every trace, table and policy found once, checked, and hashed for the cell's name."""

from __future__ import annotations

import hashlib
import inspect
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import tenuto
from tenuto.errors import InputInvalid
from tenuto.lab.cell import Cell
from tenuto.lab.replay import check_policy, check_terms
from tenuto.model.cluster import Cluster
from tenuto.model.curve import Profiles
from tenuto.plugins import lack, policy_called
from tenuto.policy.base import Policy
from tenuto.sim.cost import load_cost
from tenuto.sim.library import find_trace
from tenuto.sim.read_cluster import load_cluster
from tenuto.sim.read_profiles import load_profiles
from tenuto.sim.read_trace import read_trace
from tenuto.sim.trace import Trace
from tenuto.sim.workload import Workload, resolve
from tenuto.tuning import tuned

KEPT = 64
"""Traces that are kept in memory; an experiment seldom has more."""


class Sources:
    """Reads each input once, however many cells name it; nothing is read again when a file changes."""

    def __init__(self) -> None:
        self.trace = lru_cache(KEPT)(_trace)
        self.profiles = lru_cache(KEPT)(load_profiles)
        self.cluster = lru_cache(KEPT)(load_cluster)
        self.policy = lru_cache(None)(_policy)
        self.workload = lru_cache(KEPT)(self._workload)
        self._hash_of_profiles = lru_cache(KEPT)(lambda text: hash_of(_curves(self.profiles(text))))
        self._hash_of_cluster = lru_cache(KEPT)(lambda text: hash_of(_shape(self.cluster(text))))

    def _workload(self, trace: str, profiles: str, cluster: str) -> Workload:
        return resolve(self.trace(trace)[0], self.profiles(profiles), self.cluster(cluster))

    def workload_of(self, cell: Cell) -> Workload:
        """The cell's trace, made runnable on its cluster."""
        return self.workload(cell.trace, cell.profiles, cell.cluster)

    def policy_of(self, cell: Cell) -> Policy:
        """The cell's policy with the cell's settings."""
        return self.policy(cell.policy, cell.settings, cell.compat is not None)

    def check(self, cell: Cell) -> None:
        """Refuse inputs that can be used in no cell."""
        self.policy_of(cell)
        sizes = np.array(self.profiles(cell.profiles).sizes, dtype=np.int64)
        load_cost(cell.overhead, sizes, self.cluster(cell.cluster))
        self.trace(cell.trace)

    def check_together(self, cell: Cell) -> None:
        """Refuse inputs that can be used, but not with each other."""
        check_terms(cell.terms)
        check_policy(self.policy_of(cell), cell.terms)
        if cell.compat is not None and cell.settings:
            raise InputInvalid(
                "the reference's policies have no settings", remedy="Leave them out, or leave compat out"
            )
        self.workload_of(cell)

    def hashes(self, cell: Cell) -> dict[str, str]:
        """The SHA-256 of the trace's file, and of what the other inputs say."""
        found = {
            "trace": self.trace(cell.trace)[1],
            "profiles": self._hash_of_profiles(cell.profiles),
            "cluster": self._hash_of_cluster(cell.cluster),
        }
        if Path(cell.overhead).is_file():
            found["overhead"] = hashlib.sha256(Path(cell.overhead).read_bytes()).hexdigest()
        policy = self.policy_of(cell)
        if not policy_module(policy).startswith("tenuto."):
            found["policy"] = _hash_of_source(policy)
        return found

    def key(self, cell: Cell) -> str:
        """A short hash over everything that the cell's result depends on."""
        policy = self.policy_of(cell)
        names = {
            "tenuto": tenuto.__version__,
            "trace": self.trace(cell.trace)[0].name,
            "cluster": self.cluster(cell.cluster).name,
            "profiles": self.profiles(cell.profiles).name,
            "policy": policy.name,
            "settings": {} if cell.compat else dict(policy.settings),
            "slot": float(cell.slot),
            "margin": float(cell.margin),
            "placement": cell.placement,
            "overhead": "" if "overhead" in self.hashes(cell) else cell.overhead,
            "seed": cell.seed,
            "compat": cell.compat,
        }
        return hash_of({**names, "inputs": self.hashes(cell)})[:10]


def hash_of(value: Any) -> str:
    """The SHA-256 of a value as JSON."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def policy_module(policy: Policy) -> str:
    """The module in which a policy decides."""
    decide = policy.decide if inspect.isfunction(policy.decide) else type(policy.decide)
    return str(decide.__module__)


def _trace(text: str) -> tuple[Trace, str]:
    path = find_trace(text)
    return read_trace(path), hashlib.sha256(path.read_bytes()).hexdigest()


def _policy(name: str, settings: tuple[tuple[str, Any], ...], compat: bool) -> Policy:
    policy = policy_called(name)
    # The reference is reproduced without the packages that our own policies need.
    if not compat and (problem := lack(policy)):
        raise problem
    return tuned(policy, dict(settings))


def _hash_of_source(policy: Policy) -> str:
    """Of the file in which somebody's own policy stands, so that an edit makes another cell."""
    decide = policy.decide if inspect.isfunction(policy.decide) else type(policy.decide)
    file = inspect.getsourcefile(decide)
    return "" if file is None else hashlib.sha256(Path(file).read_bytes()).hexdigest()


def _curves(profiles: Profiles) -> list[Any]:
    return sorted(
        [model, batch, sorted(curve.rate.items())] for (model, batch), curve in profiles.curves.items()
    )


def _shape(cluster: Cluster) -> list[list[int]]:
    return [cluster.slots.tolist(), cluster.switch.tolist()]
