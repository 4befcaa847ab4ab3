"""What a policy decides and what a round returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tenuto.model.columns import Ints


class Answer(StrEnum):
    """The verdict on a newcomer."""

    ADMITTED = "admitted"
    """It has a promise."""
    QUEUED = "queued"
    """It will run when there is room; nothing is promised."""
    DECLINED = "declined"
    UNSCHEDULABLE = "unschedulable"


class Why(StrEnum):
    """The reason of a verdict, for machines."""

    FITS = "fits"
    NO_PROMISE_ASKED = "no_promise_asked"
    POLICY_GIVES_NONE = "policy_gives_none"
    NO_ROOM_FOR_PROMISE = "no_room_for_promise"
    DEADLINE_INFEASIBLE = "deadline_infeasible"
    TOO_LARGE = "too_large"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to one newcomer, with what it was promised or why it was refused."""

    answer: Answer
    why: Why
    promised: float | None = None
    """The finish that is guaranteed: the deadline."""
    expected: float | None = None
    """The finish according to the reservation, without any spare slots."""
    share: int | None = None
    """The most slots that the reservation ever holds."""
    earliest: float | None = None
    """When it could be done at the earliest beside the promises already given; with a refusal."""

    @property
    def refused(self) -> bool:
        """Whether the job will never run."""
        return self.answer in (Answer.DECLINED, Answer.UNSCHEDULABLE)

    def __str__(self) -> str:
        match self.why:
            case Why.FITS:
                return f"finishes by {self.promised:.0f}, {self.share} slots reserved"
            case Why.NO_PROMISE_ASKED:
                return "has no deadline: runs on what the promised jobs leave"
            case Why.POLICY_GIVES_NONE:
                return "runs in the policy's order: this policy gives no promise"
            case Why.NO_ROOM_FOR_PROMISE:
                return "runs on what is left over: its deadline cannot be promised"
            case Why.DEADLINE_INFEASIBLE if self.earliest is not None:
                return f"cannot finish by its deadline; {self.earliest:.0f} could be promised"
            case Why.DEADLINE_INFEASIBLE:
                return "cannot finish by its deadline"
            case Why.TOO_LARGE:
                return "this cluster is not large enough to run the job"


GLADLY, RATHER_NOT, NEVER = 0, 1, 2
"""What a move to other slots would do to a job: nothing; ask for a new plan; break its promise."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What a policy wants: a size for every row of the snapshot, and answers to the newcomers."""

    sizes: Ints
    verdicts: Mapping[int, Verdict]
    """By row, one for every undecided job."""
    wake_at: float
    """When the policy wants to be asked again if nothing else happens; `inf` for not at all."""
    memory: Any = None
    reluctance: Ints | None = None
    """For each row whether it may be moved to other slots: GLADLY, RATHER_NOT or NEVER."""
    modest: Ints | None = None
    """A smaller size for each row that has to do if there is no place for the wanted one."""


class ActionKind(StrEnum):
    """What is done to a job."""

    START = "start"
    RESIZE = "resize"
    MOVE = "move"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Action:
    """One change to one job."""

    kind: ActionKind
    number: int
    before: int
    """Slots held before."""
    slots: tuple[int, ...]
    """The slots held afterwards."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Who shall be where."""

    layout: Ints
    """For each slot the number of the job on it, or IDLE, or UNUSABLE."""


@dataclass(frozen=True, slots=True)
class Round:
    """The result of one scheduling decision."""

    verdicts: Mapping[int, Verdict]
    """By job number."""
    plan: Plan
    actions: tuple[Action, ...]
    """What turns the present layout into the planned one; slots are freed before they are taken."""
    wake_at: float
    memory: Any
