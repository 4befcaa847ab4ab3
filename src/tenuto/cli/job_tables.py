"""How jobs are shown on a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from math import floor
from typing import TYPE_CHECKING

from tenuto.cli.humane import amount, clock, in_local_time, parsed, relative, span, told
from tenuto.cli.printing import facts_of, table_of

if TYPE_CHECKING:
    from rich.table import Table

    from tenuto.wire.replies import AttemptOut, ContractOut, JobOut, MemberOut

COLUMNS = ("id", "name", "state", "ready", "restarts", "age", "node", "eta", "promise")
WIDE_COLUMNS = (
    *COLUMNS[:-3],
    "slots",
    "workers",
    "done",
    "owner",
    "priority",
    "labels",
    "why",
    "idle",
    *COLUMNS[-2:],
)
_ANSWERS = {
    "admitted": "yes, with a promise",
    "queued": "it waits its turn, without a promise",
    "measuring": "its speed is measured first",
}


def jobs_table(jobs: Iterable[JobOut], now: datetime, *, wide: bool = False) -> Table:
    """One line per job."""
    rows = [_wide_row(job, now) if wide else _row(job, now) for job in jobs]
    return table_of(WIDE_COLUMNS if wide else COLUMNS, rows)


def _row(job: JobOut, now: datetime) -> tuple[str, ...]:
    nodes = ",".join(job.slots or job.seats) or "-"
    return (*_first_cells(job, now), nodes, eta(job, now), promise(job, now))


def _wide_row(job: JobOut, now: datetime) -> tuple[str, ...]:
    return (
        *_first_cells(job, now),
        _places(job) or "-",
        _size_range(job),
        _share_done(job),
        job.owner,
        job.priority,
        ",".join(f"{key}={value}" for key, value in job.labels.items()) or "-",
        job.why or "-",
        _idle_for(job, now),
        eta(job, now),
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
    if not job.workers:
        return "-"
    if len(job.ready) == 1:
        return next(iter(job.ready.values()))
    return " ".join(f"{role} {ready}" for role, ready in job.ready.items()) or "-"


def _places(job: JobOut) -> str:
    """Where it is, and whether these are no slots of its own."""
    if not job.seats:
        return job.allocation
    return f"{job.allocation} ({'guest' if job.guest else 'no GPU'})"


def _size_range(job: JobOut) -> str:
    least, most = job.min_workers, job.max_workers
    sizes = str(least) if least == most else f"{least}..{most}"
    return f"{sizes} (pinned {job.pin.workers})" if job.pin else sizes


def _idle_for(job: JobOut, now: datetime) -> str:
    """For how long it has not used its GPUs."""
    if job.idle_since is None:
        return "-"
    return span((now - parsed(job.idle_since)).total_seconds()) + (" (shrunk)" if job.shrunk else "")


def _share_done(job: JobOut) -> str:
    done, total = job.progress.done, job.progress.total
    return "-" if done is None or not total else f"{min(done / total, 1):.0%}"


def eta(job: JobOut, now: datetime) -> str:
    """When it will be done: the median, and by when nine of ten such jobs are, where that is later."""
    if job.eta is None or job.eta.finish is None:
        return "-"
    if _is_over(job, now):
        return "any moment"
    median = clock(parsed(job.eta.finish), now)
    late = _later(median, job.eta.finish_p90, now)
    return f"{median} (≤ {late})" if late else median


def _is_over(job: JobOut, now: datetime) -> bool:
    """Whether it should be done by now by all that is known, and is not: its curve or total is not quite true."""
    late = None if job.eta is None else job.eta.finish_p90
    return late is not None and parsed(late) <= now


def _later(told_before: str, late: str | None, now: datetime) -> str:
    """The later moment, without the day if that was told already; empty if it is the same as it is told."""
    moment = told_before if late is None else clock(parsed(late), now)
    day, _, time = moment.rpartition(" ")
    return "" if moment == told_before else time if told_before.startswith(f"{day} ") else moment


def promise(job: JobOut, now: datetime) -> str:
    """What was promised, and how it stands."""
    if job.promise.state == "none":
        return "-"
    promised = job.contract.promised if job.contract else None
    word = job.promise.state.replace("_", " ")
    return f"{word}, {clock(parsed(promised), now)}" if promised else word


def contract_table(job: JobOut, now: datetime) -> Table:
    """The answer to a submission."""
    reason = {} if job.contract else {"reason": in_local_time(job.message, now)}
    return facts_of({"job": f"{job.name} ({job.id})", **_contract(job, now), **reason})


def _contract(job: JobOut, now: datetime) -> dict[str, str]:
    contract = job.contract
    if contract is None:
        return {"answer": "none" if job.ended_at else f"none yet ({job.state})"}
    return {
        "answer": f"{contract.reply}: {_ANSWERS.get(contract.reply, '')}".rstrip(": "),
        "promised": _due(job, contract.promised, now),
        "expected": "" if _is_outdated(job, contract) else _expected(contract, now),
        "reserved": _slots(contract.share),
        "firm answer": _moment(contract.firm_at, now),
        # Why it had no promise is no news of a job that has ended; the line "because" tells how.
        "reason": "" if job.ended_at and contract.reply == "queued" else _reason(contract, now),
        "by the curve": job.curve_from if contract.reply == "admitted" else "",
        **_offers(job, contract, now),
    }


def _is_outdated(job: JobOut, contract: ContractOut) -> bool:
    """Whether what was expected when it was answered is no news any more: it has ended, rests, or has an ETA."""
    return bool(job.ended_at) or job.state == "paused" or (job.eta is not None and not contract.promised)


def _expected(contract: ContractOut, now: datetime) -> str:
    """A promised job may well be faster: spare slots come on top of its own."""
    moment = _moment(contract.expected, now)
    return f"{moment}, with no more than the reserved slots" if moment and contract.promised else moment


def _reason(contract: ContractOut, now: datetime) -> str:
    """The sentence without what has a line of its own: everything of a yes, the counter-offers of a no."""
    if contract.reply == "admitted":
        return ""
    sentence = contract.message.removeprefix(f"{contract.reply}: ")
    if contract.offers.earliest or contract.offers.steps is not None or contract.offers.in_the_way:
        sentence = sentence.partition("; ")[0]
    return in_local_time(sentence, now)


def _slots(share: int | None) -> str:
    return "" if share is None else f"{share} {'slot' if share == 1 else 'slots'} at least"


def _offers(job: JobOut, contract: ContractOut, now: datetime) -> dict[str, str]:
    offers = contract.offers
    steps = "" if offers.steps is None else f"{amount(offers.steps)} {job.progress.unit} by that deadline"
    _, _, with_names = contract.message.partition("in the way: ")
    return {
        "could have": _moment(offers.earliest, now),
        "or": steps,
        "in the way": (with_names if offers.in_the_way else "") or ", ".join(offers.in_the_way),
    }


def _moment(text: str | None, now: datetime) -> str:
    return "" if text is None else told(parsed(text), now)


def _due(job: JobOut, text: str | None, now: datetime) -> str:
    """By when; how far that is away means nothing any more once the job has ended."""
    return clock(parsed(text), now) if text is not None and job.ended_at else _moment(text, now)


def job_facts(job: JobOut, now: datetime) -> Table:
    """Everything about a job but its workers and its spec."""
    ended = "" if job.exit_code is None else f", exit code {job.exit_code}"
    return facts_of(
        {
            "job": f"{job.name} ({job.id})",
            "state": f"{state(job)}{ended}",
            "because": _because(job, now),
            "owner": job.owner,
            "priority": "" if job.priority == "normal" else job.priority,
            "submitted": _moment(job.submitted_at, now),
            "started": _moment(job.started_at, now),
            "ended": _moment(job.ended_at, now),
            "ran for": span(job.elapsed) if job.elapsed else "",
            "deadline": "" if _promised_it(job) else _due(job, job.deadline, now),
            **_contract(job, now),
            "promise": _promise_fact(job, now),
            **_estimates(job, now),
            "progress": _progress(job),
            "workers": _size_range(job) if job.ended_at else f"{job.workers} of {_size_range(job)}",
            "slots": _places(job),
            "GPUs unused": _unused(job, now),
            "generation": str(job.generation) if job.members else "",
            "curve": _curve(job),
            "restarts": _restarts(job),
            "after": _after(job),
            "labels": ", ".join(f"{key}={value}" for key, value in job.labels.items()),
            "submitted before as": job.resubmitted_from,
        }
    )


def _unused(job: JobOut, now: datetime) -> str:
    if job.idle_since is None:
        return ""
    shrunk = "; held at its least size for that" if job.shrunk else ""
    return f"since {told(parsed(job.idle_since), now)}{shrunk}"


def _estimates(job: JobOut, now: datetime) -> dict[str, str]:
    """When it will begin and be done, as things stand."""
    if job.eta is None:
        return {}
    if _is_over(job, now):
        return {"finish estimate": "any moment; it takes longer than its curve and total say"}
    finish = _moment(job.eta.finish, now)
    late = (
        "" if job.eta.finish is None else _later(clock(parsed(job.eta.finish), now), job.eta.finish_p90, now)
    )
    return {
        "start estimate": "" if job.workers else _moment(job.eta.start, now),
        "finish estimate": f"{finish}, nine times of ten by {late}"
        if late
        else finish or "cannot be foreseen",
    }


def _because(job: JobOut, now: datetime) -> str:
    """Why it is in its state, if neither the state nor the answer tells that already."""
    answer = job.contract.message if job.contract else ""
    if job.state == "running" or job.message == answer:
        return ""
    return in_local_time(job.message or job.why, now)


def _promised_it(job: JobOut) -> bool:
    return job.contract is not None and job.contract.promised == job.deadline


def _promise_fact(job: JobOut, now: datetime) -> str:
    if job.promise.state == "none":
        return ""
    word = job.promise.state.replace("_", " ")
    return f"{word}: {in_local_time(job.promise.breach, now)}" if job.promise.breach else word


def _progress(job: JobOut) -> str:
    progress = job.progress
    parts = []
    done = progress.done
    if done is not None and progress.total:
        share = min(done / progress.total, 1)
        whole = floor(done) if progress.unit == "steps" else done
        parts.append(f"{amount(whole)} of {amount(progress.total)} {progress.unit} ({share:.0%})")
    if progress.speed:
        parts.append(f"{progress.speed:.4g} {progress.unit}/s")
    if progress.speed and progress.left:
        parts.append(f"{span(progress.left / progress.speed)} more at this speed")
    if progress.step is not None and (done is None or abs(done - progress.step) >= 1):
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


def members_table(members: Iterable[MemberOut]) -> Table:
    """Who trains together, by rank."""
    columns = ("rank", "worker", "node", "slot", "generation", "stage")
    rows = [
        (str(one.rank), _name(one.worker), one.node, str(one.slot), str(one.generation or "-"), one.stage)
        for one in members
    ]
    return table_of(columns, rows)


def _name(worker: str) -> str:
    """A worker's id without its job's: as it was born, `GENERATION.ROLE.RANK`."""
    return ".".join(worker.rsplit(".", 3)[1:])


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
