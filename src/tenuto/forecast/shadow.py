"""Which policies decide along, and what came of it: the values that the platform's parts hand to each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # it loads compiled kernels, which nobody needs who only asks which policies decide along
    from tenuto.forecast.alongside import Imagined, Past

KEY = "shadows"
"""The store's name for the policies that decide along."""
MOST = 4
"""Policies that may do so at the same time."""
WINDOW = 7 * 86_400.0
"""Seconds of the past that a shadow's world begins with and keeps."""
MOST_JOBS = 5000
"""Jobs of that time that are looked at: the newest."""


@dataclass(frozen=True)
class Shadow:
    """A policy that decides along, and how it is set."""

    policy: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of the policy itself."""
    general: Mapping[str, Any] = field(default_factory=dict)
    """Of rounds, where they are not as those in force."""

    @classmethod
    def written(cls, value: Any) -> tuple[Shadow, ...]:
        """What stands in the store."""
        rows = value if isinstance(value, list) else []
        return tuple(cls(row["policy"], row.get("settings", {}), row.get("general", {})) for row in rows)

    def to_json(self) -> dict[str, Any]:
        """As it is written down."""
        return {"policy": self.policy, "settings": dict(self.settings), "general": dict(self.general)}


@dataclass(frozen=True)
class Shown:
    """What a shadow has come to."""

    shadow: Shadow
    past: Past | None = None
    """What it was given; None before the first time."""
    world: Imagined | None = None
    at: float = 0.0
    """The moment up to which it decided."""
    cpu_seconds: float = 0.0
    problem: str = ""
    """What keeps it from deciding."""
    guessed: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    more: bool = False
    """There were more jobs than are looked at."""
