"""The port to whatever runs workers. One whole wish in, one whole picture out; both may be repeated at will.

An engine is level-triggered: `want` names every worker that shall be there. What is wanted and was never
started is started, as soon as those on its slot have gone, or at once beside workers that are wanted and share the
slot as it does; what runs and is not wanted is stopped (SIGTERM, grace, SIGKILL of the whole group, confirmed); what
has exited is shown by `observe` for as long as it is wanted, and then forgotten. A worker is never started twice,
whatever is repeated, killed or restarted; only an id that was forgotten and is wanted anew would be a new worker,
and the platform never uses an id again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tenuto.model.node import Slot
from tenuto.wire.worker import CrewOrder, WorkerId, WorkerOrder, WorkerSeen


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSeen:
    """One node as the engine knows it since the engine was opened."""

    name: str
    slots: tuple[Slot, ...]
    address: str
    heard_at: float
    """When its supervisor last gave a sign of life."""
    listened_at: float
    """The engine's listening clock at that moment (see `Observation.listened`)."""
    ports: tuple[int, ...] = ()
    """Ports that were free there a moment ago, for workers to meet at."""
    labels: Mapping[str, str] = field(default_factory=dict)
    peer: str = ""
    """Where its supervisor listens for others: `host:port`."""
    memory: tuple[float | None, ...] = ()
    """The part of each slot's memory that is in use, from 0 to 1; None or nothing where nobody can tell."""
    problem: str = ""
    """Why its supervisor can start no worker; empty if it can."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What the engine sees now.

    A node that is not in it has not been heard of since the engine was opened, or was forgotten. Of a node that is
    in it, all workers are; those of a forgotten one are shown until they are gone.
    """

    nodes: Mapping[str, NodeSeen]
    workers: Mapping[WorkerId, WorkerSeen]
    listened: float
    """The engine's listening clock: for how many seconds nodes could have been heard since the engine was opened."""

    def silence(self, name: str, since: float) -> float:
        """Seconds for which a node could have been heard and was not, from the reading `since` on."""
        node = self.nodes.get(name)
        return self.listened - max(since, since if node is None else node.listened_at)


class TermRefused(Exception):
    """A newer controller has given orders; this one must stop acting."""


class Engine(Protocol):
    """Runs workers somewhere. Called from the controller's thread only."""

    def observe(self) -> Observation:
        """The whole picture, from memory, at once."""
        ...

    def want(self, term: int, orders: Sequence[WorkerOrder], crews: Sequence[CrewOrder] = ()) -> None:
        """Make these, and only these, the workers that shall be there. Raises TermRefused for an older term.

        `crews` say which of them train together and rescale in place; the others know nothing of each other here.
        """
        ...

    def forget_node(self, name: str) -> None:
        """Expect nothing more of a node that was removed; its supervisor is told to stop everything and end."""
        ...

    def listen(self, ring: Callable[[], None]) -> Callable[[], None]:
        """Call `ring()` whenever `observe` would show something else, from any thread; returns what ends it.

        Mere signs of life, ports and the steps that workers report are worth no ring.
        """
        ...

    def close(self) -> None:
        """Stop talking. Workers go on."""
        ...
