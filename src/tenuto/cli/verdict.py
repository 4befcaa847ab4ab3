"""Waiting for the answer to a submission, and telling it."""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from tenuto.cli.console import Console
from tenuto.cli.humane import parsed
from tenuto.cli.job_tables import contract_table
from tenuto.cli.printing import print_facts, say
from tenuto.cli.read_reply import job_of

if TYPE_CHECKING:
    from tenuto.client.plain import Json, PlainClient

REFUSED = 3
SOON = 2.0
"""Seconds in which the controller has carried out a wish, if it decides at all."""
SAY_AFTER = 1.5
"""Seconds after which somebody who waits wants to know why."""


def refused(job: Json) -> bool:
    """Whether the platform said no."""
    return job["state"] in ("declined", "unschedulable")


def has_become(state: str) -> str:
    """What is said of a job in a state: `is running`, `has failed`, `was cancelled`."""
    if state in ("succeeded", "failed"):
        return f"has {state}"
    return f"was {state}" if state in ("cancelled", "declined", "lost") else f"is {state}"


def await_verdict(client: PlainClient, job: Json) -> Json:
    """The job with its answer, however long that takes; says what it waits for."""
    said = ""
    while _waits(job):
        asked = time.monotonic()
        job = client.job(job["id"], wait="verdict", timeout=SAY_AFTER if not said else 20.0)
        if not _waits(job):
            break
        reason = reason_to_wait(client)
        if reason != said:
            say(reason)
            said = reason
        # A server that does not wait must not be asked without end.
        time.sleep(max(0.0, 0.2 - (time.monotonic() - asked)))
    return job


def await_new_promise(client: PlainClient, job: Json) -> Json:
    """The job when the contract knows its new deadline, or soon: policies that promise nothing change no contract."""
    until = time.monotonic() + SOON
    while _contract_is_behind(job) and time.monotonic() < until:
        time.sleep(0.1)
        job = client.job(job["id"])
    return job


def _contract_is_behind(job: Json) -> bool:
    contract = job["contract"]
    decided = contract is not None and contract["reply"] in ("admitted", "queued")
    return decided and job["ended_at"] is None and contract["promised"] != job["deadline"]


def _waits(job: Json) -> bool:
    """A new job, or a paused one whose wish to go on nobody has looked at yet."""
    return job["state"] == "submitted" or (job["state"] == "paused" and not job["wish"])


def reason_to_wait(client: PlainClient) -> str:
    """Why there is no answer yet."""
    cluster = client.cluster()
    state = cluster["controller"]["state"]
    if state == "compiling":
        return "The controller compiles its kernels; the first time on a machine this takes a minute or two."
    if state == "stopped" or cluster["draining"]:
        return "The job is stored. It gets its answer when the platform decides again."
    joined, wanted = sum(cluster["nodes"].values()), cluster["wait_nodes"]
    if joined < wanted:
        return (
            f"The job is stored. It gets its answer when {wanted} nodes have joined; there are {joined} now."
        )
    return "The job is stored and waits for its answer."


def _next_minute(moment: str) -> str:
    """A moment that is easy to type and not before the one given."""
    return (parsed(moment) + timedelta(seconds=59.999)).strftime("%Y-%m-%dT%H:%M")


def print_verdict(job: Json, out: Console, *, attached: bool = False) -> None:
    """The answer as a small table, and what one may want to do next; who is attached to the job need do nothing."""
    print_facts(contract_table(job_of(job), datetime.now().astimezone()), out)
    id_ = job["id"]
    if job["state"] == "unschedulable":
        steps = ["tenuto node ls", f"tenuto show {id_}", f"tenuto cancel {id_}"]
    elif refused(job):
        earliest = (job["contract"] or {"offers": {}})["offers"].get("earliest")
        steps = [f"tenuto resubmit {id_} --set deadline={_next_minute(earliest)}"] if earliest else []
        steps += [f"tenuto resubmit {id_} --edit", f"tenuto show {id_}"]
    elif attached:
        return
    else:
        steps = [f"tenuto logs -f {id_}", f"tenuto show {id_}", f"tenuto cancel {id_}"]
    out.print(f"Next: {' · '.join(steps)}", markup=False, soft_wrap=True)
