"""Questions about the future that change nothing: dry runs, explanations, what-if. What they ask, and the answers."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import FailFast, Field, model_validator

from tenuto.wire import fields
from tenuto.wire.api import JobIn
from tenuto.wire.fields import Request
from tenuto.wire.quantities import Unusable
from tenuto.wire.replies import Answer, ContractOut

MOST_NEW = 100
"""Jobs that can be asked about at once."""
MOST_NAMED = 1000
MOST_SLOTS = 100_000
"""Slots that can be added in thought."""
MOST_SHOWN = 5000
SHOWN = 100

Ref = Annotated[str, Field(min_length=1, max_length=100)]
_NewJobs = Annotated[list[JobIn], Field(max_length=MOST_NEW), FailFast()]
"""Problems of the first job that has some are reported, not of all."""


class PlanIn(Request):
    """Jobs that nobody has submitted yet, in the order in which they would be."""

    jobs: Annotated[_NewJobs, Field(min_length=1)]


class NodesIn(Request):
    """Some equal nodes."""

    count: Annotated[int, Field(ge=1, le=MOST_NAMED)] = 1
    slots: Annotated[int, Field(ge=1, le=4096)]


class PolicyThought(Request):
    """Another policy, other settings, or both."""

    name: fields.Word | None = None
    settings: fields.PolicySettings = Field(default_factory=dict)


class WhatIfIn(Request):
    """What is to be different; any number of changes together."""

    add: _NewJobs = Field(default_factory=list)
    lose: Annotated[list[fields.NodeName], Field(max_length=MOST_NAMED)] = Field(default_factory=list)
    add_slots: Annotated[int, Field(ge=1, le=4096)] | None = None
    """On as many nodes like those that there are."""
    add_nodes: Annotated[list[NodesIn], Field(max_length=100)] = Field(default_factory=list)
    policy: PolicyThought | None = None
    deadlines: Annotated[
        dict[Ref, fields.Moment | None], Field(max_length=MOST_NEW), fields.at_most(MOST_NEW)
    ] = Field(default_factory=dict)
    """By job: `+2h` is later than its present deadline, a date is a date, null takes the deadline away."""
    cancel: Annotated[list[Ref], Field(max_length=MOST_NAMED)] = Field(default_factory=list)
    all: bool = False
    """Tell of everybody, not only of those for whom something changes."""
    limit: Annotated[int, Field(ge=1, le=MOST_SHOWN)] = SHOWN
    """Jobs that are told; the others are counted."""

    @model_validator(mode="after")
    def _asks_for_something(self) -> Self:
        changes = ("add", "lose", "add_slots", "add_nodes", "policy", "deadlines", "cancel")
        if not any(getattr(self, key) for key in changes):
            raise Unusable("nothing is to be different", f"Give one of {', '.join(changes)}")
        if sum(nodes.count * nodes.slots for nodes in self.add_nodes) > MOST_SLOTS:
            raise Unusable("these are too many slots", f"Add at most {MOST_SLOTS}", "add_nodes")
        if self.policy is not None and self.policy.name is None and not self.policy.settings:
            raise Unusable("nothing is said about the policy", "Give name, settings or both", "policy")
        return self


class ForeseenOut(Answer):
    """When a job begins and is done, as things stand; null where that cannot be foreseen."""

    start: str | None = None
    finish: str | None = None
    """The median."""
    finish_p90: str | None = None
    """Nine of ten such jobs are done by then."""
    later_than: str | None = None
    """Where the finish is not foreseen: it is not before this moment."""


class StretchOut(Answer):
    """So many slots for so long; an end that is null is the job's own."""

    begin: str
    end: str | None
    slots: int


class PlannedOut(Answer):
    """What a job would get if it were submitted now."""

    name: str
    reply: str
    """As in a contract; `held` if it would be answered after another job, `submitted` if nothing is decided now."""
    message: str
    contract: ContractOut | None
    eta: ForeseenOut
    place: dict[str, list[int]]
    """The slots on which it would begin at once; empty if it would wait."""
    allocation: str
    reserved: list[StretchOut]
    """How many slots would be promised to it when; empty without a promise."""
    foreseen: list[StretchOut]
    """How many slots it would probably have when, spare ones included."""
    curve: dict[str, float]
    curve_from: str


class FateOut(Answer):
    """What becomes of a job."""

    promise: str
    """`none`, `holds`, `at_risk`, `broken` or `refused`."""
    promised: str | None
    eta: ForeseenOut


class DifferenceOut(Answer):
    """A job before and after; null where it is not there, or not waiting for slots."""

    id: str
    name: str
    state: str
    effect: str
    """`lost`, `broken`, `refused`, `later`, `cancelled`, `earlier`, `admitted`, `kept` or `none`."""
    before: FateOut | None
    after: FateOut | None


class PlanOut(Answer):
    """The answer to jobs that were not submitted."""

    as_of: str
    policy: str
    jobs: list[PlannedOut]
    moved: list[DifferenceOut]
    """Other jobs for which something would change, the gravest first."""
    moved_more: int
    """Further ones that are not listed."""
    exact: bool
    """Whether every event ahead was looked at; if not, finishes are told to within about a tenth."""
    remarks: list[str]


class RefusalOut(Answer):
    """A change that would not be granted, and was left out."""

    job: str
    message: str


class SidesOut(Answer):
    """Before and after of something."""

    before: str
    after: str


class WhatIfOut(Answer):
    """Before and after of everybody."""

    as_of: str
    changes: list[str]
    """What was thought to be different, in sentences."""
    refused: list[RefusalOut]
    policy: SidesOut
    slots: dict[str, int]
    """That can be used: `before` and `after`."""
    added: list[PlannedOut]
    jobs: list[DifferenceOut]
    """Those for whom something changes, the gravest first; everybody with `all`."""
    more: int
    """Further ones that are not listed."""
    counts: dict[str, int]
    """How many jobs have each effect; `none` are those for whom nothing changes."""
    exact: bool
    """Whether every event ahead was looked at; if not, finishes are told to within about a tenth."""
    remarks: list[str]


class HolderOut(Answer):
    """Somebody who has slots that are waited for."""

    id: str
    name: str
    slots: int
    promised: str | None
    finish: str | None


class RemedyOut(Answer):
    """A change that would help; it was tried in thought."""

    kind: str
    """`deadline`, `work`, `workers`, `priority`, `slots`, `job`, `policy`, or `do` for something to be done."""
    sentence: str
    command: str


class ExplainOut(Answer):
    """Why a job is as it is."""

    id: str
    name: str
    state: str
    why: str
    """The decisive reason, for machines."""
    sentences: list[str]
    """The same for people, the most important first."""
    holds: dict[str, list[int]]
    """Its slots."""
    reserved: list[StretchOut]
    """How many slots are promised to it when; empty without a promise."""
    foreseen: list[StretchOut]
    """How many slots it will probably have when, spare ones included."""
    eta: ForeseenOut
    in_the_way: list[HolderOut]
    """Who holds the slots that it waits for, the largest first."""
    remedies: list[RemedyOut]
    """The cheapest first."""
    as_of: str
