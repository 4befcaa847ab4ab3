"""Answers of the API for tests of a job's page, with valid defaults."""

from __future__ import annotations

from typing import Any

from tenuto.wire.overview import MapJobOut, MapOut
from tenuto.wire.replies import AttemptOut, EventOut, JobOut
from tenuto.wire.series import ColumnsOut

SUBMITTED = "2026-11-16T09:00:00.000Z"
BEGUN = 1_794_819_600.0
"""The same moment in Unix seconds."""


def a_job(**more: Any) -> JobOut:
    """A job that runs with two workers of one to four."""
    told: dict[str, Any] = {
        "id": "k4m2x9w7pq", "number": 1, "name": "train", "owner": "kim", "state": "running", "why": "", "message": "",
        "submitted_at": SUBMITTED, "started_at": SUBMITTED, "ended_at": None, "deadline": None, "priority": "normal",
        "workers": 2, "min_workers": 1, "max_workers": 4, "pin": None, "slots": {"a": [0, 1]}, "allocation": "a:2",
        "generation": 1, "members": [], "ready": {}, "restarts": {"failures": 0, "losses": 0},
        "promise": {"state": "none", "breach": ""}, "contract": None,
        "progress": {"left": 900.0, "total": 1000.0, "done": 100.0, "speed": 10.0, "step": 120.0, "unit": "steps"},
        "curve": {}, "interpolated": [], "exit_code": None, "elapsed": 12.0, "wish": "", "after": None,
        "resubmitted_from": "", "labels": {}, "revision": 1, "spec": {"name": "train", "run": "true"},
    }  # fmt: skip
    return JobOut.model_validate({**told, **more})


def an_attempt(worker: str = "1.worker.0", **more: Any) -> AttemptOut:
    """A worker on slot 0 of node a that runs since the job began."""
    told: dict[str, Any] = {
        "job": "k4m2x9w7pq", "worker": f"k4m2x9w7pq.{worker}", "generation": 1, "role": "worker", "rank": 0,
        "node": "a", "slot": 0, "pid": 4711, "started_at": SUBMITTED, "ended_at": None, "exit_code": None,
        "reason": "", "message": "",
    }  # fmt: skip
    return AttemptOut.model_validate({**told, **more})


def an_event(kind: str, **more: Any) -> EventOut:
    """Something that happened when the job was submitted."""
    told: dict[str, Any] = {
        "id": 1, "kind": kind, "at": SUBMITTED, "actor": "controller", "job": "k4m2x9w7pq", "node": "", "before": "",
        "after": "", "reason": "", "data": {},
    }  # fmt: skip
    return EventOut.model_validate({**told, **more})


def a_map(*jobs: str, **nodes: str) -> MapOut:
    """Nodes by name, each with a letter for each of its slots: the place of a job from `a` on, or a dot."""
    named = jobs or ("k4m2x9w7pq",)
    return MapOut(
        nodes=list(nodes),
        states=["online"] * len(nodes),
        slots=[[-1 if slot == "." else ord(slot) - ord("a") for slot in slots] for slots in nodes.values()],
        jobs=[MapJobOut(id=job, name=job, state="running", promise="none") for job in named],
    )


def columns(
    part: str, at: list[float], *, name: str = "k4m2x9w7pq", kind: str = "job", **values: Any
) -> ColumnsOut:
    """Numbers of one subject; moments are seconds after the job began."""
    return ColumnsOut(
        kind=kind, name=name, part=part, step=1.0, means_until=None, at=[BEGUN + one for one in at], values=values,
        units={}, next=None,
    )  # fmt: skip
