"""Why the platform as a whole may not answer a job at this moment, whatever the job is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tenuto.errors import Conflict, InputInvalid
from tenuto.server.scene import Rule
from tenuto.settings import Scheduling, scheduling_in_force
from tenuto.store.base import EventQuery, Tx

if TYPE_CHECKING:
    from tenuto.policy.base import Policy

WAITS_FOR_NODES = "waits_for_nodes"


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What keeps rounds from being run."""

    draining: bool = False
    joined: int = 1
    wanted: int = 1
    controller: str = ""
    """As it says itself: `compiling`, `stopped` …"""
    policy_problem: str = ""
    """What the policy did wrong, if that is the last thing that was heard of it."""

    @property
    def why(self) -> str:
        """For machines; empty if nothing keeps the platform from deciding."""
        if self.draining:
            return "draining"
        if self.controller == "stopped":
            return "controller_stopped"
        if self.joined < self.wanted:
            return WAITS_FOR_NODES
        if self.policy_problem:
            return "policy_failed"
        return "compiling" if self.controller == "compiling" else ""

    @property
    def sentence(self) -> str:
        """The same for people."""
        match self.why:
            case "draining":
                return "The platform is being shut down: no job is answered or started before its next start."
            case "controller_stopped":
                return "The controller does not run: jobs are answered when the platform decides again."
            case "waits_for_nodes":
                nodes = "a node has" if self.wanted == 1 else f"{self.wanted} nodes have"
                return f"Nothing is decided before {nodes} joined; there are {self.joined} now."
            case "policy_failed":
                return f"The policy fails, so that all jobs keep what they have: {self.policy_problem}."
            case "compiling":
                return "The controller compiles its kernels, which takes a minute or two on a new machine."
        return ""


def policy_of(rule: Rule) -> Policy:
    """The policy in force, for a question. Raises Conflict if it cannot be used: that is no fault of the question's."""
    try:
        return rule.policy()
    except InputInvalid as error:
        raise Conflict(
            f"the policy in force cannot be used: {error.problem}",
            remedy="Choose another one: tenuto policy set elasticflow",
        ) from None


def circumstances(tx: Tx, default: Scheduling) -> Circumstances:
    """Look at the platform."""
    told = tx.meta("controller") or {}
    return Circumstances(
        draining=bool(tx.meta("draining")),
        joined=len(tx.nodes()),
        wanted=scheduling_in_force(tx.meta("scheduling"), default).wait_nodes,
        controller=str(told.get("state", "")),
        policy_problem=_policy_problem(tx),
    )


def _policy_problem(tx: Tx) -> str:
    """A failure after which the policy has neither answered nor moved anybody, and was not changed."""
    last = next(iter(tx.events(EventQuery(kind="policy", limit=1, last=True))), None)
    if last is None or last.after != "failed":
        return ""
    since = [tx.events(EventQuery(kind=kind, after=last.id, limit=1)) for kind in ("verdict", "scaled")]
    return "" if any(since) else last.reason.partition("; all jobs keep")[0]
