"""Every policy by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tenuto.policy.base import Policy
from tenuto.policy.chronus.policy import CHRONUS, CHRONUS_GREEDY
from tenuto.policy.edf import EDF, EDF_ADMISSION
from tenuto.policy.elasticflow import ELASTICFLOW, ELASTICFLOW_NO_ADMISSION
from tenuto.policy.fifo import FIFO
from tenuto.policy.gandiva import GANDIVA
from tenuto.policy.pollux import POLLUX
from tenuto.policy.themis import THEMIS
from tenuto.policy.tiresias import TIRESIAS

POLICIES: Mapping[str, Policy] = MappingProxyType(
    {
        policy.name: policy
        for policy in (
            ELASTICFLOW,
            ELASTICFLOW_NO_ADMISSION,
            EDF,
            EDF_ADMISSION,
            FIFO,
            GANDIVA,
            TIRESIAS,
            THEMIS,
            CHRONUS,
            CHRONUS_GREEDY,
            POLLUX,
        )
    }
)


def policy_named(name: str) -> Policy | None:
    """Find a policy by its name or an alias."""
    for policy in POLICIES.values():
        if name == policy.name or name in policy.aliases:
            return policy
    return None
