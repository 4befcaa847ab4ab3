"""Records for tests of the store: complete by default, so that a test names only what matters to it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tenuto.model.event import Event
from tenuto.model.job import (
    STARTED,
    After,
    Checkpoint,
    Contract,
    Ending,
    Foretold,
    Job,
    JobSpec,
    Limits,
    Offers,
    Pin,
    Progress,
    Reply,
    Retry,
    Role,
    StartOrder,
)
from tenuto.model.node import Node, NodeState, Slot
from tenuto.model.phase import Phase, PromiseState
from tenuto.store.base import Attempt, Tx

_ids = itertools.count(1)


def a_job(
    name: str = "zażółć", *, labels: Mapping[str, str] | None = None, after: str = "", **fields: Any
) -> Job:
    """A new job with an id of its own."""
    spec = JobSpec(
        name=name,
        run=("python", "train.py"),
        labels=labels or {},
        after=After(job=after) if after else None,
    )
    given: dict[str, Any] = {
        "id": f"j{next(_ids):07d}",
        "owner": "jinho",
        "submitted_at": 1_700_000_000.5,
        "progress": Progress(left=100.0, as_of=1_700_000_000.5),
    }
    return Job(number=0, revision=0, spec=spec, **{**given, **fields})


def a_job_with_everything() -> Job:
    """No field is what it is by default."""
    spec = JobSpec(
        name='이미지 분류 "7"\n',
        run=("/bin/sh", "-c", "python train.py --lr '1e-3' | tee 日志.txt"),
        setup="pip install -r requirements.txt",
        env={"PATH_EXTRA": "/opt/żółw", "EMPTY": ""},
        workdir="/data/训练",
        environment="/opt/venv",
        strategy="allreduce",
        min_workers=2,
        max_workers=8,
        preferred=4,
        roles={"ps": Role(count=2, run=("python", "ps.py"), limits=Limits(memory=1 << 40))},
        limits=Limits(memory=1 << 33, cpus=1.5, files=1024),
        steps=1e15 + 0.1,
        epochs=0.1,
        global_batch=4096,
        deadline="+6h",
        curve={1: 3.2, 2: 6.0, 8: 0.1 + 0.2},
        profile="resnet50",
        auto=True,
        checkpoint=Checkpoint(dir="ckpt", every=100),
        urgent=True,
        share=True,
        start=StartOrder.ORDERED,
        after=After(job="j0"),
        node="node-0",
        labels={"팀": "비전", "k": ""},
        retry=Retry(failures=2, losses=0),
        max_duration=3600.0,
        grace=0.5,
        params={"lr": 1e-3, "layers": [1, 2, {"deep": None}], "limit": float("inf"), "문": "값"},
    )
    return Job(
        id="every-field",
        number=0,
        revision=0,
        spec=spec,
        owner="Łukasz",
        submitted_at=1_700_000_000.123456,
        resubmitted_from="j1",
        deadline=1_700_021_600.1,
        urgent=True,
        pin=Pin(workers=3, nodes={"node-0": 1, "node-1": 2}),
        pause=True,
        cancel=True,
        actor="王芳",
        phase=Phase.RESCALING,
        why="scaled",
        message="a sentence",
        contract=Contract(
            reply=Reply.ADMITTED,
            why="fits",
            message="promised",
            answered_at=1.5,
            promised=2.5,
            expected=3.5,
            share=2,
            firm_at=4.5,
            offers=Offers(earliest=9.5, steps=10.5, in_the_way=("j2", "j3")),
        ),
        promise=PromiseState.AT_RISK,
        breach="node-1 was lost",
        slots={"node-0": (0, 3), "node-1": (2,)},
        generation=4,
        port=29500,
        progress=Progress(
            left=12.25, as_of=5.5, speed=6.0, ready_at=float("-inf"), changed_at=float("inf"), step=99.0
        ),
        curve={1: 3.0, 3: 7.7},
        failures=1,
        losses=2,
        not_before=6.5,
        ran_for=7.5,
        slot_seconds=15.25,
        foretold=(
            Foretold(
                moment=STARTED, at=1.5, finish=7.5, late=9.0, estimate=7.25, situation="runs/free/given"
            ),
        ),
        ending=Ending(phase=Phase.FAILED, why="failed", message="exit 3", exit_code=3),
        started_at=8.5,
        ended_at=9.5,
        exit_code=3,
    )


def a_node(name: str = "node-0", **fields: Any) -> Node:
    given: dict[str, Any] = {"state": NodeState.ONLINE, "slots": (Slot(), Slot(device="GPU-1", kind="A100"))}
    return Node(name=name, number=0, revision=0, **{**given, **fields})


def an_event(kind: str = "phase", **fields: Any) -> Event:
    return Event(kind=kind, at=1_700_000_000.25, actor="controller", **fields)


def an_attempt(job: str, generation: int = 1, rank: int = 0, **fields: Any) -> Attempt:
    given: dict[str, Any] = {"role": "worker", "node": "node-0"}
    return Attempt(job=job, generation=generation, rank=rank, **{**given, **fields})


def adding(job: Job) -> Callable[[Tx], Job]:
    """The act of a submission: the job and its event."""

    def act(tx: Tx) -> Job:
        stored = tx.add_job(job)
        tx.add_event(an_event("submitted", job=job.id))
        return stored

    return act


def in_phase(job: Job, phase: Phase) -> Job:
    return replace(job, phase=phase)
