"""What a run hands to the part that trains, so that neither needs to know the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from tenuto.sdk.course import Course
from tenuto.sdk.ledger import Ledger
from tenuto.sdk.link import Link
from tenuto.sdk.meter import Meter
from tenuto.sdk.place import Place
from tenuto.sdk.saver import Saver
from tenuto.sdk.stopping import StopSignal
from tenuto.sdk.telling import Teller


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The surroundings of a training loop."""

    place: Place
    seed: int
    link: Link | None
    """None unless a supervisor says who trains together."""
    teller: Teller
    meter: Meter
    saver: Saver | None
    """None if there is no checkpoint directory."""
    stop: StopSignal


@dataclass(frozen=True, slots=True, kw_only=True)
class Elastic:
    """What `run.elastic` was given, checked."""

    model: Any
    optimizer: Any
    dataset: Any
    course: Course
    scheduler: Any = None
    """Stepped once after each update, by whoever trains."""
    sync_batchnorm: bool = False
    most_per_worker: int | None = None
    """The most samples that a worker holds at once; it accumulates gradients over a larger share."""
    loader_workers: int = 0
    collate: Callable[[list[Any]], Any] | None = None
    shuffle: bool = True
    find_unused_parameters: bool = False
    """For models of which a step may leave parts out, as DDP has it."""
    extras: Mapping[str, Any] = field(default_factory=dict)
    """Other objects with `state_dict` and `load_state_dict`, such as a gradient scaler: their state travels along."""
    checkpoint_every: int | None = None
    """Steps; None for none but those at the end and when told to leave."""


class Session(Protocol):
    """The part that trains, as a run sees it."""

    model: Any
    optimizer: Any
    batches: Iterator[Any]
    ledger: Ledger

    @property
    def rank(self) -> int:
        """In the present generation."""

    @property
    def world(self) -> int:
        """Workers of the present generation."""

    @property
    def generation(self) -> int:
        """The membership that was joined last."""

    @property
    def step(self) -> int:
        """Updates that were applied."""

    @property
    def aborted(self) -> bool:
        """Whether the step under way is void: it will be given again."""

    def finish(self, model: Any) -> None:
        """All steps are done: the last checkpoint, then leave in peace."""
