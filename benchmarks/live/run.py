"""The trace on a real platform and in the simulator, and how many deadlines each met."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.live.jobs import SCHEDULING, SLOTS, TRACE, LiveJob, jobs, write_costs, write_profile

from tenuto.cli.demo_stage import platform
from tenuto.client.plain import PlainClient

Json = dict[str, Any]
LIMIT = 400.0
"""Seconds after which jobs that are not done are late, whatever they do."""
_LOOK = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of the trace under one policy."""

    policy: str
    admitted: int
    met: int
    of: int
    broken: tuple[str, ...] = ()
    """Jobs whose promise was not kept, and why."""
    rescales: int = 0

    @property
    def ratio(self) -> float:
        """Of all deadlines, how many were met."""
        return self.met / self.of


def run_live(policy: str) -> Outcome:
    """Train all ten jobs, each submitted at its time."""
    with platform(nodes=1, slots=SLOTS, scheduling={**SCHEDULING, "policy": policy}) as client:
        _warm_up(client)
        ids = _submit_in_time(client)
        ended = _await_end(client, ids)
        events = client.events(kind="rescale", limit=500)["items"]
    promised = [job for job in ended if job["contract"] and job["contract"]["reply"] == "admitted"]
    return Outcome(
        policy=policy,
        admitted=sum(job["state"] != "declined" for job in ended),
        met=sum(map(_met, ended)),
        of=len(ended),
        broken=tuple(
            f"{job['name']} ({_breach(job)})" for job in promised if job["promise"]["state"] != "kept"
        ),
        rescales=sum(event["before"] not in ("", "0") for event in events),
    )


def _warm_up(client: PlainClient) -> None:
    """One step of something, so that kernels are compiled and torch is imported before the clock runs."""
    first = LiveJob(
        name="warm-up", model="ncf", submitted=0, deadline=600, steps=1, batch=32, requested=1
    ).file(time.time())
    made = client.submit({key: value for key, value in first.items() if key != "deadline"})
    while client.job(made["id"], wait="end")["ended_at"] is None:
        pass


def _submit_in_time(client: PlainClient) -> list[str]:
    begun, ids = time.time(), []
    for job in jobs():
        time.sleep(max(0.0, begun + job.submitted - time.time()))
        ids.append(client.submit(job.file(begun))["id"])
    return ids


def _await_end(client: PlainClient, ids: list[str]) -> list[Json]:
    until = time.monotonic() + LIMIT
    while True:
        seen = [client.job(id_) for id_ in ids]
        if all(job["ended_at"] or job["state"] == "declined" for job in seen) or time.monotonic() > until:
            return seen
        time.sleep(_LOOK)


def _breach(job: Json) -> str:
    return f"{job['state']}, {job['promise']['state']}: {job['promise']['breach']}"


def _met(job: Json) -> bool:
    ended, deadline = job["ended_at"], job["deadline"]
    in_time = ended is not None and datetime.fromisoformat(ended) <= datetime.fromisoformat(deadline)
    return bool(job["state"] == "succeeded" and in_time)


def run_simulated(policy: str) -> Outcome:
    """Replay the same jobs with the same speeds and costs."""
    with tempfile.TemporaryDirectory() as directory:
        profile, costs = Path(directory) / "profile.csv", Path(directory) / "costs.json"
        write_profile(profile)
        write_costs(costs)
        options = ["--profiles", str(profile), "--overhead", str(costs), "--cluster", f"1x{SLOTS}", "--json"]
        rules = ["--slot", f"{SCHEDULING['interval']:g}", "--margin", str(SCHEDULING["margin"]), "--quiet"]
        told = subprocess.run(
            [sys.executable, "-m", "tenuto", "replay", str(TRACE), "--policy", policy, *options, *rules],
            stdout=subprocess.PIPE,
            check=True,
        )
    [row] = json.loads(told.stdout)
    return Outcome(policy=policy, admitted=row["admitted"], met=row["met"], of=row["deadline_jobs"])
