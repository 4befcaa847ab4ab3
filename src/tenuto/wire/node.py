"""The protocol between supervisors and the server, version 1: HTTP, JSON, bearer token. Supervisors dial out.

POST /api/node/v1/join                Join   -> Joined         once, with the token for joining
POST /api/node/v1/renew               Renew  -> Joined         when the welcome says so; the old credential ends when
                                                               the new one is first used
POST /api/node/v1/hello               Hello  -> Welcome        when a supervisor (re)starts or the server forgot it
POST /api/node/v1/report              Report -> Acknowledged   at every change, and as a sign of life
GET  /api/node/v1/orders?node=N&session=X&term=T&known=K&asked=Q&wait=S -> Orders
                                      answered when (term, version) is not (T, K), when there is a question other
                                      than Q, or after S seconds
POST /api/node/v1/answers             Answer -> Acknowledged   what the node says to a question
POST /api/node/v1/probe?give=N        bytes -> N bytes         to measure the way; Tenuto-Time tells the server's clock
POST /api/node/v1/samples             Samples -> Sampled       what the node's sampler has seen
PUT  /api/node/v1/logs/{worker}?node=N&session=X&offset=O  bytes -> Stored   answers the next offset that is wanted

Every request but the first carries the node's own credential, which determines the node: another `node` is refused
with 403 `not_your_node`, a worker that was never ordered there with 403 `not_your_worker`. Until an operator has
approved a new node, if that is needed, it is answered 403 `approval_pending`.

Every request carries `Tenuto-Protocol: 1`; another version is refused with 426 and a sentence. A server that has
no memory of a node answers 409 with code `say_hello`; a session that another one of the same name has followed
gets 409 with code `superseded`: it stops what it runs and ends. A server that is about to end answers 503.
A supervisor that does not say which question it was asked last (`asked`) is asked none.
Orders of term 0 mean that no controller has spoken yet: nothing is to be started or stopped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tenuto.doctor.finding import Finding
from tenuto.model.node import Slot
from tenuto.wire.sample import Gap, NodeSample
from tenuto.wire.worker import CrewOrder, WorkerOrder, WorkerSeen

PREFIX = "/api/node/v1"
PROTOCOL = "1"
HEADER = "Tenuto-Protocol"
LOG_CHUNK = 1 << 20
"""Bytes of a log that one upload may bring; more is refused with 413."""
SAMPLES = 4 << 20
"""Bytes of samples that one upload may bring; one of a node with 16 GPUs and a hundred processes has 20,000."""
TIME = "Tenuto-Time"
PROBE = 4 << 20
"""Bytes that a probe may carry in either direction."""


MOST_SLOTS = 1024
"""Slots that one node may offer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """A machine wants to be a node of this name."""

    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Renew:
    """A node wants a new credential."""

    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """The node's own credential; it is shown once."""

    credential: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """The node that a credential speaks for. Does not travel."""

    node: str
    renew: bool = False
    """Whether the node is to replace its credential."""
    leave: bool = False
    """Whether the node was removed: it is only told to leave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """A supervisor introduces itself."""

    node: str
    session: str
    """A new one at each start of the supervisor; of two with the same name the later one is listened to."""
    slots: tuple[Slot, ...]
    address: str
    version: str
    """Of tenuto."""
    obeyed: int = 0
    """The newest term whose orders it has obeyed; 0 for a supervisor that is new."""
    labels: Mapping[str, str] = field(default_factory=dict)
    peer: str = ""
    """Where this supervisor listens for others: `host:port`; empty if it does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Welcome:
    """What the supervisor must know of the server's settings."""

    heartbeat: float
    dead_man: float | None
    spool_bytes: int
    sample_every: float = 0.0
    """Seconds between two samples; 0 for none."""
    upload_every: float = 2.0
    """Seconds between two uploads of samples."""
    inherit: str = ""
    """Names of the supervisor's variables that workers inherit besides the usual ones, with blanks between them."""
    renew: bool = False
    """Whether the node shall replace its credential now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All workers of the node as they are now. The whole, so that a lost report does no harm."""

    node: str
    session: str
    workers: tuple[WorkerSeen, ...]
    ports: tuple[int, ...] = ()
    """Free a moment ago."""
    memory: tuple[float | None, ...] = ()
    """The part of each slot's memory that is in use, from 0 to 1; None for a slot of which nobody can tell."""
    problem: str = ""
    """Why the supervisor can start no worker; empty if it can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """The report was heard."""

    version: int
    """Of the node's orders."""
    renew: bool = False
    """Whether the node shall replace its credential now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """How a node finds itself; it looks at these directories beside everything else."""

    id: int
    paths: tuple[str, ...] = ()
    probe: int = 0
    """Bytes with which it measures the way to the server, in either direction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a node has found."""

    node: str
    session: str
    question: int
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """All workers that shall be on the node. A supervisor obeys no orders older than those it has obeyed."""

    term: int
    version: int
    """Ascending within a term."""
    workers: tuple[WorkerOrder, ...]
    crews: tuple[CrewOrder, ...] = ()
    """Of jobs that rescale in place and have, or shall have, workers here."""
    leave: bool = False
    """Stop everything, then end."""
    question: Question | None = None
    """No order: it may be answered, or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """How much of a log the server has."""

    next: int
    """The offset that it wants next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """Moments of the node, oldest first; repeating them does no harm."""

    node: str
    session: str
    samples: tuple[NodeSample, ...]
    gaps: tuple[Gap, ...] = ()
    sent_at: float | None = None
    """The node's clock when it sent them; samples are told by it, whatever the server's says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """Samples were taken in."""

    kept: float | None
    """Those up to this moment are durable and may be forgotten; the others must be sent again if the server is new."""
    again: float | None = None
    """Seconds after which the next ones are wanted, if the server has so many nodes that it is later than usual."""
