"""A cell of an experiment: one replay, named by everything that its result depends on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from tenuto.lab.replay import Terms
from tenuto.model.snapshot import Placement, Rules


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One replay: everything its result depends on. The names are those of the options of `tenuto replay`."""

    trace: str
    """A path or a name, as `sim.library.find_trace` takes it."""
    policy: str = "elasticflow"
    cluster: str = "n16g8"
    profiles: str = "a100"
    slot: float = 60.0
    placement: str = "buddy"
    overhead: str = "default"
    margin: float = 0.0
    seed: int = 0
    compat: str | None = None
    """Whose semantics are used instead of ours: `artifact` or `artifact-2022`."""
    settings: tuple[tuple[str, Any], ...] = ()
    """Of the policy, sorted by name."""

    @property
    def terms(self) -> Terms:
        """How the trace is to be replayed."""
        return Terms(
            rules=Rules(
                interval=float(self.slot),
                margin=float(self.margin),
                placement=Placement(self.placement),
                seed=self.seed,
            ),
            overhead=self.overhead,
            compat=self.compat,
        )

    def arguments(self) -> dict[str, Any]:
        """As a manifest tells it."""
        return {**asdict(self), "settings": dict(self.settings)}

    @classmethod
    def from_arguments(cls, arguments: Mapping[str, Any]) -> Cell:
        """Read what a manifest tells; what it does not tell has its default."""
        known = {field.name for field in fields(cls)}
        told = {name: value for name, value in arguments.items() if name in known}
        told["settings"] = tuple(sorted(told.get("settings", {}).items()))
        return cls(**told)

    def special(self) -> dict[str, Any]:
        """Everything that is not as usual, apart from trace, policy and cluster."""
        usual = Cell(trace=self.trace, policy=self.policy, cluster=self.cluster)
        names = [field.name for field in fields(self) if field.name != "settings"]
        special = {name: getattr(self, name) for name in names if getattr(self, name) != getattr(usual, name)}
        return special | dict(self.settings)

    def __str__(self) -> str:
        words = [f"{brief(self.policy)} on {brief(self.trace)}", brief(self.cluster)]
        words += [f"{name} {brief(value)}" for name, value in self.special().items()]
        return ", ".join(words)


def brief(value: Any) -> str:
    """A value in few letters: a file's name without its directory, a number without needless places."""
    if isinstance(value, str):
        return Path(value).stem if "/" in value else value
    return f"{value:g}" if isinstance(value, float) else str(value)
