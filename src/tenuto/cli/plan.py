"""What `tenuto up` is to do, as plain values: they can be handed to a process in the background."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tenuto.cli.home import Home
from tenuto.cli.settings_layers import Given, settings_from
from tenuto.errors import InputInvalid
from tenuto.settings import Scheduling, Settings


@dataclass(frozen=True, slots=True)
class LocalWish:
    """Which nodes this machine shall have; what is not said stays as it was last time."""

    nodes: int | None = None
    slots: int | None = None
    none: bool = False

    def check(self) -> None:
        """Refuse what contradicts itself."""
        if self.none and (self.nodes or self.slots):
            raise InputInvalid(
                "--no-local leaves no node for --nodes or --slots", remedy="Leave one of them out"
            )


@dataclass(frozen=True, slots=True)
class Plan:
    """Where, with what settings, and on which nodes."""

    home: Home
    file: Given = field(default_factory=dict)
    """From the file of settings."""
    options: Given = field(default_factory=dict)
    """From the command line; they win over all."""
    local: LocalWish = LocalWish()
    draining: bool = False
    """Come up only to stop everything."""
    environment: Given = field(default_factory=dict)
    """From variables such as TENUTO_NODES_TIMEOUT; they win over the file."""

    def settings(self, stored: dict[str, Any] | None = None) -> Settings:
        """All settings; the policy and its costs are those of last time where nothing else is said."""
        return settings_from(*self.layers(stored).values())

    def layers(self, stored: dict[str, Any] | None = None) -> dict[str, Given]:
        """Who says what, by a word for where it comes from; the later one wins."""
        defaults = asdict(Scheduling())
        last = {name: value for name, value in (stored or {}).items() if defaults.get(name, value) != value}
        return {
            "stored": {"scheduling": last},
            "file": self.file,
            "environment": self.environment,
            "option": self.options,
        }

    def origins(self, stored: dict[str, Any] | None = None) -> dict[str, str]:
        """Where each setting that is no default comes from, by its full name."""
        return {
            f"{group}.{field}": origin
            for origin, given in self.layers(stored).items()
            for group, values in given.items()
            for field in values
        }

    @property
    def store_url(self) -> str:
        """Where everything is remembered."""
        return self.settings().store.url or self.home.store_url

    @property
    def store(self) -> str:
        """The same for people: without passwords, and without what is no part of its name."""
        return re.sub(r"//[^/]*@", "//", self.store_url.partition("?")[0])

    def check(self) -> None:
        """Refuse what cannot be, before anything is changed."""
        self.local.check()
        policy = self.settings().scheduling.policy
        if policy != Scheduling().policy:
            from tenuto.plugins import policy_called  # takes half a second

            policy_called(policy)

    def as_text(self) -> str:
        """For another process."""
        return json.dumps({**asdict(self), "home": str(self.home.path)})

    @classmethod
    def from_text(cls, text: str) -> Plan:
        """Read what `as_text` wrote."""
        told = json.loads(text)
        told["home"] = Home(Path(told["home"]))
        told["local"] = LocalWish(**told["local"])
        return cls(**told)


@dataclass(frozen=True, slots=True)
class Listening:
    """What a server tells as soon as it can be reached."""

    url: str
    port: int
    pid: int
    home: Path
    nodes: tuple[str, ...]
    """A few words about each node of this machine."""
    token: str | None = None
    """The user's secret, if it was made just now."""

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {**asdict(self), "home": str(self.home), "nodes": list(self.nodes)}

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> Listening:
        """Read what `as_json` made."""
        return cls(**{**told, "home": Path(told["home"]), "nodes": tuple(told["nodes"])})
