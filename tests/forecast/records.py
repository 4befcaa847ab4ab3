"""Records of jobs and nodes for tests: valid by default, so that a test names only what matters to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from tenuto.forecast.contract import contract_of
from tenuto.forecast.picture import Picture, Scene, picture
from tenuto.model.job import Contract, Job, JobSpec, Progress, Reply
from tenuto.model.node import Node, NodeState, Slot
from tenuto.model.phase import Phase, PromiseState
from tenuto.model.plan import Why
from tenuto.model.snapshot import Rules
from tenuto.policy.base import Policy
from tenuto.rounds.round import run_round

EPOCH = 1_750_000_000.0
"""Where the time of snapshots begins in these tests."""
NOW = EPOCH + 1000.0
LINEAR: Mapping[int, float] = {1: 1.0, 2: 2.0, 4: 4.0}


def a_spec(**asked: Any) -> JobSpec:
    """One to four workers and 100 steps."""
    return JobSpec(**{"name": "학습", "run": ("train",), "max_workers": 4, "steps": 100.0, **asked})


def a_record(number: int = 1, *, spec: Mapping[str, Any] | None = None, **known: Any) -> Job:
    """A newcomer with a linear curve; `left` and `ready_at` are parts of its progress."""
    asked = a_spec(**(spec or {}))
    slots: Mapping[str, tuple[int, ...]] = known.get("slots", {})
    curve = known.setdefault("curve", LINEAR)
    held = sum(map(len, slots.values()))
    progress = Progress(
        left=known.pop("left", asked.steps or 0.0),
        as_of=NOW,
        speed=curve.get(held, 0.0),
        ready_at=known.pop("ready_at", NOW if held else -inf),
        changed_at=known.pop("changed_at", NOW if held else -inf),
    )
    if slots:
        known.setdefault("phase", Phase.RUNNING)
    return Job(
        **{
            "id": f"job-{number:04d}",
            "number": number,
            "revision": number,
            "spec": asked,
            "owner": "Łucja",
            "submitted_at": NOW - 10.0 + number / 1000.0,
            "progress": progress,
            **known,
        }
    )


def a_contract(reply: Reply, **told: Any) -> Contract:
    return Contract(**{"reply": reply, "why": Why.FITS.value, "message": "", "answered_at": NOW, **told})


def promised(number: int, deadline: float, **known: Any) -> Job:
    """A job that was promised its deadline and waits for slots, if it has none."""
    contract = a_contract(Reply.ADMITTED, promised=deadline)
    known = {"phase": Phase.RUNNING if known.get("slots") else Phase.QUEUED, **known}
    return a_record(number, deadline=deadline, contract=contract, promise=PromiseState.HOLDS, **known)


def a_node(number: int = 0, slots: int = 4, state: NodeState = NodeState.ONLINE) -> Node:
    return Node(name=f"node-{number}", number=number, revision=1, state=state, slots=(Slot(),) * slots)


def a_scene(jobs: Sequence[Job] = (), nodes: Sequence[Node] | None = None, **known: Any) -> Scene:
    """One node of four slots; nothing costs anything and nothing is added to the work."""
    return Scene(
        **{
            "jobs": jobs,
            "nodes": [a_node()] if nodes is None else nodes,
            "now": NOW,
            "epoch": EPOCH,
            "rules": Rules(margin=0.0),
            "start_cost": 0.0,
            "rescale_cost": 0.0,
            **known,
        }
    )


def answered(scene: Scene, policy: Policy) -> Scene:
    """The scene after one round: what the controller writes, without events and workers. Refused jobs are gone."""
    taken = picture(replace(scene, promises=policy.promises))
    decided = run_round(taken.snapshot, policy)
    jobs = []
    for row, job in enumerate(taken.jobs):
        verdict = decided.verdicts.get(job.number)
        if verdict is not None:
            job = replace(job, contract=contract_of(taken, policy, row, verdict, None))
            promise = PromiseState.HOLDS if verdict.promised is not None else PromiseState.NONE
            job = replace(job, promise=promise, phase=Phase.QUEUED)
        if verdict is None or not verdict.refused:
            jobs.append(_placed(taken, job, np.flatnonzero(decided.plan.layout == job.number).tolist()))
    return replace(scene, jobs=jobs, memory=decided.memory, promises=policy.promises)


def _placed(taken: Picture, job: Job, slots: list[int]) -> Job:
    now = taken.epoch + taken.snapshot.now
    if {name: tuple(sorted(numbers)) for name, numbers in job.slots.items()} == taken.named(slots):
        return job
    progress = Progress(
        left=float(taken.snapshot.left[taken.row_of(job.number) or 0]),
        as_of=now,
        speed=job.curve.get(len(slots), 0.0),
        ready_at=now if slots else -inf,
        changed_at=now,
    )
    return replace(
        job,
        slots=taken.named(slots),
        phase=Phase.RUNNING if slots else Phase.QUEUED,
        progress=progress,
        generation=job.generation + 1,
    )
