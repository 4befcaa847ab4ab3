"""What is drawn by lot when a trace is made: models, deadlines and who is best effort.

Every kind of draw has a stream of its own, so that asking for other deadlines changes nothing but deadlines.
The streams are CPython's: the reference's traces come out bit by bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from tenuto.errors import InputInvalid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenuto.model.curve import Profiles

Template = tuple[str, int]
"""A model and its global batch."""

# The order matters: a draw is a position in this list.
REFERENCE_TEMPLATES: tuple[Template, ...] = (
    ("resnet50", 64),
    ("resnet50", 128),
    ("resnet50", 256),
    ("vgg16", 64),
    ("vgg16", 128),
    ("vgg16", 256),
    ("inception3", 64),
    ("inception3", 128),
    ("gpt2", 128),
    ("gpt2", 256),
    ("bert", 128),
    ("bert", 64),
    ("deepspeech2", 64),
    ("deepspeech2", 32),
)

# Jobs run for ten minutes or more; a deadline below this share of that would be no whole second away.
LEAST_TIGHTNESS = 0.01


@dataclass(frozen=True, slots=True)
class Wishes:
    """How deadlines and best-effort jobs are dealt out."""

    min_tightness: float = 0.5
    """Least time until the deadline, as a multiple of the duration on the requested slots."""
    max_tightness: float = 1.5
    best_effort_share: float = 0.0
    """Share of jobs without a deadline, 0 to 1."""

    def check(self) -> None:
        """Refuse wishes that no trace can fulfil."""
        if not LEAST_TIGHTNESS <= self.min_tightness <= self.max_tightness < float("inf"):
            raise InputInvalid(
                f"tightness from {self.min_tightness:g} to {self.max_tightness:g} is not a range",
                remedy=f"Choose --min-tightness from {LEAST_TIGHTNESS} up and --max-tightness not below it",
            )
        if not 0 <= self.best_effort_share <= 1:
            raise InputInvalid(
                f"a share of {self.best_effort_share:g} best-effort jobs is impossible",
                remedy="Choose --best-effort between 0 and 1, such as 0.2",
            )


def stream(seed: int) -> Random:
    """Open a stream of draws."""
    return Random(seed)  # noqa: S311  nothing secret is drawn


class TemplateDraws:
    """The stream of models."""

    def __init__(self, seed: int, profiles: Profiles) -> None:
        self._random = stream(seed)
        self._profiles = profiles
        self._templates = templates_of(profiles)

    def sizes(self) -> frozenset[int]:
        """Every size at which at least one template runs."""
        curves = self._profiles.curves
        return frozenset(
            size for model, batch in self._templates for size in curves[model, batch].rate if size <= batch
        )

    def draw(self, slots: int) -> Template:
        """Draw until a model can run on so many slots, which must be one of the possible sizes."""
        while True:
            template = self._random.choice(self._templates)
            if slots <= template[1] and slots in self._profiles.curves[template].rate:
                return template


def templates_of(profiles: Profiles) -> Sequence[Template]:
    """The reference's fourteen, or everything that the profiles know if they are about other models."""
    if all(template in profiles.curves for template in REFERENCE_TEMPLATES):
        return REFERENCE_TEMPLATES
    return sorted(profiles.curves)


class WishDraws:
    """The streams of deadlines and of best-effort marks."""

    def __init__(self, seed: int, wishes: Wishes) -> None:
        wishes.check()
        # The reference draws these two from a stream without a seed; its first four take seed to seed + 3.
        self._deadline = stream(seed + 4)
        self._best_effort = stream(seed + 5)
        self._wishes = wishes

    def seconds_allowed(self, duration: float) -> int:
        """Draw how long after its submission a job must be done."""
        return int(self._deadline.uniform(self._wishes.min_tightness, self._wishes.max_tightness) * duration)

    def best_effort(self) -> bool:
        """Draw whether a job has no deadline at all."""
        return self._best_effort.uniform(0, 1) < self._wishes.best_effort_share
