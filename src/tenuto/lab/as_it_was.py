"""What really became of the jobs of the past, in the numbers of a replay, to stand beside those of policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np

from tenuto.lab.digest import Telling

NAME = "as it was"
REFUSED = ("declined", "unschedulable")
"""Answers to a submission that are a no."""


def as_it_was(jobs: Sequence[Mapping[str, Any]], names: Sequence[str], zero: float) -> Telling:
    """Tell of those jobs that are in the trace, by the ids in `names`; times count from `zero`.

    A trace ends a job where it ended, however that was, so every end of one that ran counts as its finish.
    """
    wanted = frozenset(names)
    told = [job for job in jobs if job["id"] in wanted]
    rows = [job["trace"] for job in told]
    arrived = np.array([row["arrived"] - zero for row in rows])
    deadline = np.array([np.nan if row["deadline"] is None else row["deadline"] - zero for row in rows])
    finished = np.array([_finish(job, zero) for job in told])
    refused = np.array([job["reply"] in REFUSED for job in told], dtype=np.bool_)
    promised = np.array([job["promise"] in ("kept", "broken") for job in told], dtype=np.bool_)
    with_deadline, done = ~np.isnan(deadline), ~np.isnan(finished)
    met = with_deadline & done & (finished <= deadline)
    jct = (finished - arrived)[done]
    deadlines = int(with_deadline.sum())
    row: dict[str, Any] = {
        "policy": NAME,
        "deadline_jobs": deadlines,
        "best_effort_jobs": len(told) - deadlines,
        "admitted": int((with_deadline & ~refused).sum()),
        "declined": int((with_deadline & refused).sum()),
        "met": int(met.sum()),
        "missed": int((with_deadline & done & ~met).sum()),
        "broken": int((promised & done & ~met).sum()),
        "ratio": float(met.sum() / deadlines) if deadlines else None,
        "mean_jct": float(jct.mean()) if len(jct) else None,
        "median_jct": float(np.median(jct)) if len(jct) else None,
        "makespan": float(finished[done].max() - arrived.min()) if len(jct) else None,
        "mean_efficiency": None,
        "mean_allocated": None,
    }
    return Telling(NAME, row, arrived, ~refused, finished)


def _finish(job: Mapping[str, Any], zero: float) -> float:
    if job["started_at"] is None or job["ended_at"] is None:
        return float("nan")
    return datetime.fromisoformat(job["ended_at"]).timestamp() - zero
