"""A question of what would be if: as fields of a page, as a query of the API, and as an address to share. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import urlencode

from tenuto.errors import InputInvalid
from tenuto.wire.quantities import Unusable, duration, rfc3339
from tenuto.wire.written import read_documents

PATH = "/whatif"
NONE = "none"
"""Written for a deadline that is taken away."""
MOST_SLOTS = 4096
MOST_NAMED = 100
MOST_DEADLINES = 20
"""Each has fields of its own on the page."""
_LONGEST_SETTINGS = 2000
_NODES = re.compile(r"(\d{1,4})\s*x\s*(\d{1,4})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Thought:
    """What is to be different; empty where nothing is said."""

    lose: tuple[str, ...] = ()
    slots: int = 0
    nodes: str = ""
    """`2x8`: two more nodes of eight slots."""
    policy: str = ""
    settings: str = ""
    """`interval=2m, margin=0.2`."""
    deadlines: tuple[tuple[str, str], ...] = ()
    """Jobs, and when: `+2h` is later than the present one, `none` takes it away."""
    cancel: tuple[str, ...] = ()
    job: str = ""
    """A job that is submitted, as a text."""

    def __bool__(self) -> bool:
        return any(getattr(self, one.name) for one in fields(self))

    def query(self, job: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What is asked of the API; `job` is what its text says. Raises InputInvalid."""
        policy = ({"name": self.policy} if self.policy else {}) | (
            {"settings": settings_in(self.settings)} if self.settings else {}
        )
        asked = {
            "lose": list(self.lose),
            "add_slots": self.slots,
            "add_nodes": [_nodes(self.nodes)] if self.nodes else [],
            "policy": policy,
            "deadlines": {ref: None if when == NONE else when for ref, when in self.deadlines},
            "cancel": list(self.cancel),
            "add": [] if job is None else [dict(job)],
        }
        return {key: value for key, value in asked.items() if value}

    def address(self) -> str:
        """The page's address with the question."""
        said: list[tuple[str, str]] = [("lose", name) for name in self.lose]
        said += [("slots", str(self.slots))] if self.slots else []
        plain = {"nodes": self.nodes, "policy": self.policy, "set": self.settings}
        said += [(key, value) for key, value in plain.items() if value]
        said += [("deadline", f"{ref}={when}") for ref, when in self.deadlines]
        said += [("cancel", ref) for ref in self.cancel]
        said += [("job", self.job)] if self.job else []
        return f"{PATH}?{urlencode(said)}" if said else PATH


def thought_in(query: Iterable[tuple[str, str]]) -> Thought:
    """What an address asks; what cannot be understood is passed over."""
    found: dict[str, list[str]] = {}
    for key, value in query:
        if value.strip():
            found.setdefault(key, []).append(value.strip())
    last = {key: values[-1] for key, values in found.items()}
    pairs = (text.rpartition("=") for text in found.get("deadline", ()))
    return Thought(
        lose=tuple(dict.fromkeys(found.get("lose", ())))[:MOST_NAMED],
        slots=slots_in(last.get("slots")),
        nodes=last.get("nodes", ""),
        policy=last.get("policy", ""),
        settings=last.get("set", ""),
        deadlines=tuple((ref, when) for ref, _, when in pairs if ref and when)[:MOST_DEADLINES],
        cancel=tuple(dict.fromkeys(found.get("cancel", ())))[:MOST_NAMED],
        job=last.get("job", ""),
    )


def slots_in(written: object) -> int:
    """A number of slots that can be asked about; 0 for everything else."""
    try:
        number = int(float(str(written)))
    except (ValueError, OverflowError):
        return 0
    return number if 0 <= number <= MOST_SLOTS else 0


def settings_in(text: str) -> dict[str, Any]:
    """Settings as they are typed, with commas between; values are read as in a job file. Raises InputInvalid."""
    found: dict[str, Any] = {}
    if len(text) > _LONGEST_SETTINGS:
        raise InputInvalid("these are too many settings", remedy="Write interval=2m, margin=0.2", field="set")
    for one in (part.strip() for part in text.split(",")):
        key, sign, value = one.partition("=")
        if not one:
            continue
        if not sign or not key.strip():
            raise InputInvalid(f"{one!r} is no setting", remedy="Write interval=2m, margin=0.2", field="set")
        [document] = read_documents(f"value: {value.strip() or 'null'}", key)
        found[key.strip()] = document.values["value"]
    return found


def _nodes(text: str) -> dict[str, int]:
    written = _NODES.fullmatch(text.strip())
    if written is None:
        raise InputInvalid(
            f"{text!r} is no number of nodes and slots", remedy="Write 2x8 for two nodes of eight", field="nodes"
        )  # fmt: skip
    return {"count": int(written[1]), "slots": int(written[2])}


def moment_meant(when: str, present: float | None) -> str | None:
    """A deadline as `PATCH` takes it, where `+2h` counts from now and not from the present deadline."""
    if when == NONE:
        return None
    if not when.startswith("+") or present is None:
        return when
    try:
        return rfc3339(present + duration(when[1:]))
    except Unusable as error:
        raise InputInvalid(error.problem, remedy=error.remedy, field="deadline") from None
