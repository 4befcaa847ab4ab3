"""What cells read: every trace, table and policy, found once and checked, and the key that follows from it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

import tenuto
from tenuto.errors import InputInvalid
from tenuto.lab.cell import Cell
from tenuto.lab.fingerprints import hash_of, hash_of_source, input_hashes
from tenuto.lab.replay import check_policy, check_terms
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
        self.hashes = lru_cache(None)(self._hashes_of)

    def _workload(self, trace: str, profiles: str, cluster: str) -> Workload:
        return resolve(self.trace(trace), self.profiles(profiles), self.cluster(cluster))

    def workload_of(self, cell: Cell) -> Workload:
        """The cell's trace, made runnable on its cluster."""
        return self.workload(cell.trace, cell.profiles, cell.cluster)

    def policy_of(self, cell: Cell) -> Policy:
        """The cell's policy with the cell's settings."""
        return self.policy(cell.policy, cell.settings)

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

    def _hashes_of(self, cell: Cell) -> dict[str, str]:
        return input_hashes(self.workload_of(cell), self.policy_of(cell), cell.overhead)

    def key(self, cell: Cell) -> str:
        """A short hash over everything that the cell's result depends on."""
        policy = self.policy_of(cell)
        names = {
            "tenuto": tenuto.__version__,
            "source": hash_of_source(cell.compat is not None),
            "trace": self.trace(cell.trace).name,
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


def _trace(text: str) -> Trace:
    return read_trace(find_trace(text))


def _policy(name: str, settings: tuple[tuple[str, Any], ...]) -> Policy:
    policy = policy_called(name)
    if problem := lack(policy):
        raise problem
    return tuned(policy, dict(settings))
