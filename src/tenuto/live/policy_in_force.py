"""The policy that rules now: found by name, set as the operator says, and not believed when it fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from tenuto.errors import InputInvalid
from tenuto.model.rules import Rules
from tenuto.plugins import lack, policy_called
from tenuto.policy.base import Policy
from tenuto.settings import Scheduling
from tenuto.tuning import tuned

LONGEST_BACKOFF = 60.0


def rules_of(scheduling: Scheduling) -> Rules:
    """What an operator sets for all rounds."""
    return Rules(
        interval=scheduling.interval,
        margin=scheduling.margin,
        placement=scheduling.placement,
        seed=scheduling.seed,
    )


class PolicyInForce:
    """Looks the policy up when its name or its settings change."""

    def __init__(self) -> None:
        self._key: Any = None
        self._policy: Policy | None = None

    def find(self, scheduling: Scheduling, tuning: Mapping[str, Any]) -> Policy:
        """The policy; raises InputInvalid if it cannot be used here."""
        key = (scheduling.policy, dict(tuning))
        if self._policy is None or key != self._key:
            policy = policy_called(scheduling.policy)
            if (missing := lack(policy)) is not None:
                raise missing
            self._policy = tuned(policy, tuning)
            self._key = key
        return self._policy


@dataclass
class Trouble:
    """How often the policy has failed in a row, and when it is asked again."""

    problem: str = ""
    times: int = 0
    until: float = -inf

    def failed(self, error: BaseException, now: float) -> bool:
        """Wait longer after each failure; tells whether the problem is a new one."""
        told = str(error) if isinstance(error, InputInvalid) else f"{type(error).__name__}: {error}"
        new = told != self.problem
        self.problem = told
        self.until = now + min(2.0**self.times, LONGEST_BACKOFF)
        self.times += 1
        return new

    def over(self) -> None:
        """It works again."""
        self.problem, self.times, self.until = "", 0, -inf
