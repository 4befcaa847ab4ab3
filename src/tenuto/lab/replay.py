"""One replay of one trace under one policy, by whichever semantics: what `replay` and the laboratory share."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isfinite

from tenuto.errors import InputInvalid
from tenuto.model.snapshot import Placement, Rules
from tenuto.plugins import mistakes_explained
from tenuto.policy.base import Policy
from tenuto.sim import artifact
from tenuto.sim.cost import load_cost
from tenuto.sim.early_stop import EarlyStop
from tenuto.sim.loop import simulate, warm_up
from tenuto.sim.outcome import Outcome
from tenuto.sim.report import Summary, summarise
from tenuto.sim.workload import Workload

REVISIONS = {"artifact": artifact.Revision.HEAD, "artifact-2022": artifact.Revision.R2022}

Tell = Callable[[int, int], None]
"""Told now and then how many of all jobs are done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How a trace is to be replayed, whatever the policy."""

    rules: Rules
    overhead: str = "default"
    compat: str | None = None
    layouts: bool = False
    early_stop: EarlyStop | None = None


@dataclass(frozen=True, slots=True)
class Replay:
    """One finished replay."""

    workload: Workload
    outcome: Outcome
    summary: Summary


def check_terms(terms: Terms) -> None:
    """Refuse what contradicts itself."""
    rules = terms.rules
    if not isfinite(rules.interval) or not isfinite(rules.margin):
        raise InputInvalid("--slot and --margin are finite", remedy="Give a large number instead")
    if rules.seed >= 2**63:
        raise InputInvalid("the seed is too large", remedy="Give one below 2**63")
    if terms.compat is None:
        return
    if terms.overhead not in ("default", "artifact"):
        raise InputInvalid("--compat has the reference's overheads", remedy="Leave --overhead out")
    if rules.placement is not Placement.BUDDY or rules.margin or terms.early_stop is not None:
        raise InputInvalid(
            "--compat knows neither --placement, --margin nor --early-stop", remedy="Leave them out"
        )
    if rules.interval < 1 or rules.interval != int(rules.interval):
        raise InputInvalid("--compat counts time in whole slots", remedy="Give --slot a whole number above 0")


def check_policy(policy: Policy, terms: Terms) -> None:
    """Refuse a policy that the reference does not have, if its semantics are asked for."""
    if terms.compat is not None and policy.name not in artifact.POLICIES:
        raise InputInvalid(
            f"the reference has no working {policy.name}",
            remedy=f"Leave {policy.name} out, or replay it without --compat",
        )


def load_kernels(policy: Policy, terms: Terms) -> float:
    """Load or compile what a replay needs; return the CPU seconds that took."""
    if terms.compat is None:
        with mistakes_explained(policy):
            return warm_up(policy, terms.rules)
    begun = time.process_time()
    artifact.warm_up(policy.name)
    return time.process_time() - begun


def replay(workload: Workload, policy: Policy, terms: Terms, tell: Tell, compile_s: float) -> Replay:
    """Replay one trace under one policy whose kernels are loaded."""
    outcome = replace(_outcome(workload, policy, terms, tell), compile_s=compile_s)
    summary = summarise(workload, outcome, policy=policy.name, slot=terms.rules.interval, compat=terms.compat)
    return Replay(workload, outcome, summary)


def _outcome(workload: Workload, policy: Policy, terms: Terms, tell: Tell) -> Outcome:
    if terms.compat is not None:
        return artifact.replay(
            workload,
            policy.name,
            slot=terms.rules.interval,
            revision=REVISIONS[terms.compat],
            layouts=terms.layouts,
            seed=terms.rules.seed,
            progress=tell,
        )
    with mistakes_explained(policy):
        return simulate(
            workload,
            policy,
            cost=load_cost(terms.overhead, workload.sizes, workload.cluster),
            rules=terms.rules,
            layouts=terms.layouts,
            progress=tell,
            early_stop=terms.early_stop,
        )
