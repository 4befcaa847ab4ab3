"""What a replay was asked for, in the simulator or on the live platform: the options that both have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenuto.cli.replay_outputs import Outputs
from tenuto.model.rules import Rules


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is to be played, and how."""

    traces: Sequence[str]
    policy: str
    settings: Sequence[str]
    cluster: str
    profiles: str
    rules: Rules
    overhead: str
    outputs: Outputs
    as_json: bool
    quiet: bool
    given: frozenset[str]
    """The names of the options that the user gave."""

    def arguments(self, overhead: str, **others: str | None) -> dict[str, object]:
        """How results were made, as it is written down beside them; `others` are what only the simulator has."""
        return {
            "cluster": self.cluster,
            "profiles": self.profiles,
            "placement": self.rules.placement.value,
            "slot": self.rules.interval,
            "overhead": overhead,
            "margin": self.rules.margin,
            "seed": self.rules.seed,
            "compat": None,
            "early_stop": None,
            **others,
        }
