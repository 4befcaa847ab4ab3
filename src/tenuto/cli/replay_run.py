"""Running replays one after the other, with progress on standard error."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tenuto.cli.interrupts import interrupts_held
from tenuto.model.snapshot import Rules
from tenuto.policy.base import Policy
from tenuto.sim import artifact
from tenuto.sim.cost import load_cost
from tenuto.sim.early_stop import EarlyStop
from tenuto.sim.loop import simulate, warm_up
from tenuto.sim.outcome import Outcome
from tenuto.sim.report import Summary, summarise
from tenuto.sim.workload import Workload

REVISIONS = {"artifact": artifact.Revision.HEAD, "artifact-2022": artifact.Revision.R2022}


@dataclass(frozen=True, slots=True)
class Settings:
    """How the traces are to be replayed."""

    policies: tuple[Policy, ...]
    rules: Rules
    overhead: str
    compat: str | None
    layouts: bool
    early_stop: EarlyStop | None


@dataclass(frozen=True, slots=True)
class Replay:
    """One finished replay."""

    workload: Workload
    outcome: Outcome
    summary: Summary


def run_all(workloads: Sequence[Workload], settings: Settings, *, show_progress: bool) -> list[Replay]:
    """Replay every trace under every policy."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not show_progress) as bar:
        return [
            _replay(workload, policy, settings, bar) for workload in workloads for policy in settings.policies
        ]


def _replay(workload: Workload, policy: Policy, settings: Settings, bar: Progress) -> Replay:
    """Replay one trace under one policy."""
    task = bar.add_task("loading kernels (compiled once per version)", total=len(workload.trace))
    with interrupts_held() as let_through:
        compile_s = _warm_up(policy, settings)
        let_through()
        bar.update(task, description=f"{workload.trace.name}, {policy.name}")

        def tell(done: int, jobs: int) -> None:
            bar.update(task, completed=done, total=jobs)
            let_through()

        outcome = replace(_run(workload, policy, settings, tell), compile_s=compile_s)
    bar.remove_task(task)
    summary = summarise(
        workload, outcome, policy=policy.name, slot=settings.rules.interval, compat=settings.compat
    )
    return Replay(workload, outcome, summary)


def _warm_up(policy: Policy, settings: Settings) -> float:
    """Load or compile what a replay needs; return the CPU seconds that took."""
    if settings.compat is None:
        return warm_up(policy, settings.rules)
    begun = time.process_time()
    artifact.warm_up(policy.name)
    return time.process_time() - begun


def _run(workload: Workload, policy: Policy, settings: Settings, tell: Callable[[int, int], None]) -> Outcome:
    if settings.compat is not None:
        return artifact.replay(
            workload,
            policy.name,
            slot=settings.rules.interval,
            revision=REVISIONS[settings.compat],
            layouts=settings.layouts,
            progress=tell,
        )
    return simulate(
        workload,
        policy,
        cost=load_cost(settings.overhead, workload.sizes, workload.cluster),
        rules=settings.rules,
        layouts=settings.layouts,
        progress=tell,
        early_stop=settings.early_stop,
    )
