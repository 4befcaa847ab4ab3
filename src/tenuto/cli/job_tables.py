"""How jobs are shown on a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from tenuto.cli.humane import amount, clock, parsed, relative, span, told
from tenuto.cli.printing import facts_of, table_of

if TYPE_CHECKING:
    from rich.table import Table

    from tenuto.wire.replies import AttemptOut, ContractOut, JobOut

COLUMNS = ("id", "name", "state", "ready", "restarts", "age", "node", "promise")
WIDE_COLUMNS = (*COLUMNS[:-2], "slots", "workers", "done", "owner", "priority", "labels", "why", "promise")
_ANSWERS = {
    "admitted": "yes, with a promise",
    "queued": "it waits its turn, without a promise",
    "measuring": "its speed is measured first",
    "declined": "no",
    "unschedulable": "no, as the cluster is",
}


def jobs_table(jobs: Iterable[JobOut], now: datetime, *, wide: bool = False) -> Table:
    """One line per job."""
    rows = [_wide_row(job, now) if wide else _row(job, now) for job in jobs]
    return table_of(WIDE_COLUMNS if wide else COLUMNS, rows)


def _row(job: JobOut, now: datetime) -> tuple[str, ...]:
    nodes = ",".join(job.slots) or "-"
    return (*_first_cells(job, now), nodes, promise(job, now))


def _wide_row(job: JobOut, now: datetime) -> tuple[str, ...]:
    return (
        *_first_cells(job, now),
        job.allocation or "-",
        _size_range(job),
        _share_done(job),
        job.owner,
        job.priority,
        ",".join(f"{key}={value}" for key, value in job.labels.items()) or "-",
        job.why or "-",
        promise(job, now),
    )


def _first_cells(job: JobOut, now: datetime) -> tuple[str, ...]:
    restarts = job.restarts.failures + job.restarts.losses
    age = span((now - parsed(job.submitted_at)).total_seconds())
    return (job.id, job.name, state(job), _ready(job), str(restarts), age)


def state(job: JobOut) -> str:
    """The state, and what the job was told to become."""
    coming = {"pause": "pausing", "cancel": "ending"}.get(job.wish)
    settled = job.state == "paused" or job.ended_at is not None
    return f"{job.state} ({coming})" if coming and not settled else job.state


def _ready(job: JobOut) -> str:
    if len(job.ready) == 1:
        return next(iter(job.ready.values()))
    return " ".join(f"{role} {ready}" for role, ready in job.ready.items()) or "-"


def _size_range(job: JobOut) -> str:
    least, most = job.min_workers, job.max_workers
    sizes = str(least) if least == most else f"{least}..{most}"
    return f"{sizes} (pinned {job.pin.workers})" if job.pin else sizes


def _share_done(job: JobOut) -> str:
    done, total = job.progress.done, job.progress.total
    return "-" if done is None or not total else f"{min(done / total, 1):.0%}"


def promise(job: JobOut, now: datetime) -> str:
    """What was promised, and how it stands."""
    if job.promise.state == "none":
        return "-"
    promised = job.contract.promised if job.contract else None
    word = job.promise.state.replace("_", " ")
    return f"{word}, {clock(parsed(promised), now)}" if promised else word


def contract_table(job: JobOut, now: datetime) -> Table:
    """The answer to a submission."""
    return facts_of({"job": f"{job.name} ({job.id})", **_contract(job, now)})


def _contract(job: JobOut, now: datetime) -> dict[str, str]:
    contract = job.contract
    if contract is None:
        return {"answer": f"none yet ({job.state})", "reason": job.message}
    return {
        "answer": f"{contract.reply}: {_ANSWERS.get(contract.reply, '')}".rstrip(": "),
        "promised": _moment(contract.promised, now),
        "expected": _moment(contract.expected, now),
        "reserved": _slots(contract.share),
        "firm answer": _moment(contract.firm_at, now),
        "reason": contract.message.removeprefix(f"{contract.reply}: "),
        **_offers(job, contract, now),
    }


def _slots(share: int | None) -> str:
    return "" if share is None else f"{share} {'slot' if share == 1 else 'slots'} at least"


def _offers(job: JobOut, contract: ContractOut, now: datetime) -> dict[str, str]:
    offers = contract.offers
    steps = "" if offers.steps is None else f"{amount(offers.steps)} {job.progress.unit} by that deadline"
    return {
        "could have": _moment(offers.earliest, now),
        "or": steps,
        "in the way": ", ".join(offers.in_the_way),
    }


def _moment(text: str | None, now: datetime) -> str:
    return "" if text is None else told(parsed(text), now)


def job_facts(job: JobOut, now: datetime) -> Table:
    """Everything about a job but its workers and its spec."""
    ended = "" if job.exit_code is None else f", exit code {job.exit_code}"
    return facts_of(
        {
            "job": f"{job.name} ({job.id})",
            "state": f"{state(job)}{ended}",
            "because": job.message or job.why,
            "owner": job.owner,
            "priority": "" if job.priority == "normal" else job.priority,
            "submitted": _moment(job.submitted_at, now),
            "started": _moment(job.started_at, now),
            "ended": _moment(job.ended_at, now),
            "ran for": span(job.elapsed) if job.elapsed else "",
            "deadline": _moment(job.deadline, now),
            **_contract(job, now),
            "promise": _promise_fact(job),
            "progress": _progress(job),
            "workers": f"{job.workers} of {_size_range(job)}",
            "slots": job.allocation,
            "curve": _curve(job),
            "restarts": _restarts(job),
            "after": _after(job),
            "labels": ", ".join(f"{key}={value}" for key, value in job.labels.items()),
            "submitted before as": job.resubmitted_from,
        }
    )


def _promise_fact(job: JobOut) -> str:
    if job.promise.state == "none":
        return ""
    word = job.promise.state.replace("_", " ")
    return f"{word}: {job.promise.breach}" if job.promise.breach else word


def _progress(job: JobOut) -> str:
    progress = job.progress
    parts = []
    if progress.done is not None and progress.total:
        share = min(progress.done / progress.total, 1)
        parts.append(f"{amount(progress.done)} of {amount(progress.total)} {progress.unit} ({share:.0%})")
    if progress.speed:
        parts.append(f"{progress.speed:.4g} {progress.unit}/s")
    if progress.step is not None:
        parts.append(f"step {amount(progress.step)} reported")
    return ", ".join(parts)


def _curve(job: JobOut) -> str:
    known = [f"{size}: {rate:.4g}" for size, rate in job.curve.items()]
    return ", ".join([*known, *(f"{size}: interpolated" for size in job.interpolated)])


def _restarts(job: JobOut) -> str:
    failures, losses = job.restarts.failures, job.restarts.losses
    return f"{failures} after failures, {losses} after lost workers" if failures or losses else ""


def _after(job: JobOut) -> str:
    return "" if job.after is None else f"{job.after.get('job', '')} ({job.after.get('condition', 'ok')})"


def attempts_table(attempts: Iterable[AttemptOut], now: datetime) -> Table:
    """One line per start of a worker."""
    columns = ("worker", "generation", "node", "slot", "pid", "started", "ran for", "end")
    return table_of(columns, [_attempt(one, now) for one in attempts])


def _attempt(one: AttemptOut, now: datetime) -> tuple[str, ...]:
    started = None if one.started_at is None else parsed(one.started_at)
    ended = now if one.ended_at is None else parsed(one.ended_at)
    end = "-"
    if one.ended_at is not None or one.exit_code is not None:
        code = "no exit code" if one.exit_code is None else f"exit code {one.exit_code}"
        end = ", ".join(filter(None, (code, one.reason.replace("_", " "), one.message)))
    return (
        f"{one.role}/{one.rank}",
        str(one.generation),
        one.node,
        "-" if one.slot is None else str(one.slot),
        "-" if one.pid is None else str(one.pid),
        "-" if started is None else relative(started, now),
        "-" if started is None else span((ended - started).total_seconds()),
        end,
    )
