"""What the head of a job's page says: state, progress, promise, estimates. Pure; HTML where moments stand in it."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from math import floor

from tenuto.dashboard.wording import NONE, job_path, link, moment, node_path, sentence, span, worker_name
from tenuto.model.phase import ENDED
from tenuto.wire.replies import AttemptOut, JobOut

_COMING = {"pause": "pausing", "cancel": "ending"}
_STATE_COLOURS = {
    "running": "positive", "rescaling": "info", "starting": "info", "queued": "warning", "submitted": "warning",
    "held": "grey", "paused": "grey", "unschedulable": "negative", "declined": "negative", "failed": "negative",
    "lost": "negative", "cancelled": "grey", "succeeded": "positive",
}  # fmt: skip
_PROMISE_CLASSES = {"holds": "t-good", "kept": "t-good", "at_risk": "t-warn", "broken": "t-bad"}


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job is."""

    share: float
    """Between 0 and 1."""
    text: str


def state(job: JobOut) -> str:
    """The state, and what the job was told to become."""
    coming = _COMING.get(job.wish)
    settled = job.state == "paused" or job.ended_at is not None
    return f"{job.state}, {coming}" if coming and not settled else job.state


def state_colour(job: JobOut) -> str:
    """Of Quasar's colours."""
    return _STATE_COLOURS.get(job.state, "grey")


def progress(job: JobOut) -> Progress:
    """Steps done and to do, and the speed."""
    told = job.progress
    done, total = told.done, told.total
    whole = told.step if told.step is not None and told.unit == "steps" else done
    parts = []
    if whole is not None and total:
        parts.append(f"{_amount(whole, told.unit)} of {_amount(total, told.unit)} {told.unit}")
    elif whole is not None:
        parts.append(f"{_amount(whole, told.unit)} {told.unit}")
    if told.speed and whole is not None and job.state not in ENDED:
        parts.append(f"{told.speed:.4g} {told.unit}/s")
    share = min(max(whole / total, 0.0), 1.0) if whole is not None and total else 0.0
    if total and whole is not None:
        parts.append(f"{floor(100 * share)} %")
    return Progress(share, " · ".join(parts) or "It has not told of any step yet.")


def _amount(value: float, unit: str) -> str:
    return f"{floor(value):,}" if unit == "steps" else f"{value:,.4g}"


def promise_html(job: JobOut) -> str:
    """What was promised, and what has become of it."""
    promised = None if job.contract is None else job.contract.promised
    kind = _PROMISE_CLASSES.get(job.promise.state, "t-muted")
    word = "no promise" if job.promise.state == "none" else job.promise.state.replace("_", " ")
    parts = [f'<b class="{kind}">{escape(word)}</b>']
    if promised is not None:
        parts.append(moment(promised))
    if job.promise.breach:
        parts.append(f'<span class="t-muted">{sentence(job.promise.breach)}</span>')
    return " ".join(parts)


def eta_html(job: JobOut) -> str:
    """When it will be done: the median, and by when nine of ten such jobs are."""
    if job.ended_at is not None:
        return f"ended {moment(job.ended_at)} after {escape(span(job.elapsed))}"
    if job.eta is None:
        return NONE
    start = f"starts {moment(job.eta.start)}, " if job.eta.start is not None and not job.workers else ""
    if job.eta.finish is None:
        return f"{start}end not foreseen"
    late = job.eta.finish_p90
    nine = (
        f' <span class="t-muted">nine of ten by {moment(late)}</span>'
        if late and late != job.eta.finish
        else ""
    )
    return f"{start}{moment(job.eta.finish)}{nine}"


def where_html(job: JobOut) -> str:
    """How many workers, and on which nodes."""
    places = job.slots or job.seats
    if not places:
        return "none"
    nodes = ", ".join(f"{len(numbers)} on {link(node_path(name), name)}" for name, numbers in places.items())
    kind = " as a guest" if job.guest else " without a GPU" if job.seats else ""
    return f"{job.workers}: {nodes}{kind}" if len(places) > 1 else f"{nodes}{kind}"


def facts(job: JobOut) -> dict[str, str]:
    """More about a job, as HTML by what it is called; what there is nothing to tell of is left out."""
    answer = "" if job.contract is None else job.contract.message
    after = job.after or {}
    told = {
        "Because": "" if job.state == "running" or not job.message else sentence(job.message),
        "Answer": "" if answer == job.message else sentence(answer),
        "Submitted": moment(job.submitted_at),
        "Started": moment(job.started_at, none=""),
        "Ended": moment(job.ended_at, none=""),
        "Exit code": "" if job.exit_code is None else str(job.exit_code),
        "Ran for": escape(span(job.elapsed)) if job.elapsed else "",
        "Workers": escape(_range(job)),
        "Generation": str(job.generation) if job.generation else "",
        "Started again": _restarts(job),
        "After": link(job_path(after["job"]), after["job"]) if after.get("job") else "",
        "GPUs unused": "" if job.idle_since is None else f"since {moment(job.idle_since)}",
        "Submitted before as": link(job_path(job.resubmitted_from), job.resubmitted_from)
        if job.resubmitted_from
        else "",
        "Curve": escape(_curve(job)),
    }
    return {name: text for name, text in told.items() if text}


def _range(job: JobOut) -> str:
    least, most = job.min_workers, job.max_workers
    return str(least) if least == most else f"{least} to {most}"


def _restarts(job: JobOut) -> str:
    counts = {"after a failure": job.restarts.failures, "after a loss": job.restarts.losses}
    return ", ".join(
        f"{'once' if count == 1 else f'{count} times'} {word}" for word, count in counts.items() if count
    )


def _curve(job: JobOut) -> str:
    speeds = ", ".join(f"{size}: {rate:.4g}" for size, rate in list(job.curve.items())[:8])
    unit = f" {job.progress.unit}/s" if speeds else ""
    return f"{speeds}{unit}" + (f" ({job.curve_from})" if job.curve_from and speeds else "")


def member_rows(job: JobOut) -> list[dict[str, str | int]]:
    """The workers of a job that rescales in place, for a table."""
    return [
        {
            "key": one.worker, "rank": one.rank, "worker": worker_name(one.worker), "node": one.node,
            "href": node_path(one.node), "slot": one.slot, "stage": one.stage, "generation": one.generation,
        }
        for one in job.members
    ]  # fmt: skip


def attempt_rows(attempts: list[AttemptOut]) -> list[dict[str, str | int | None]]:
    """Every start of a worker, newest first, for a table."""
    return [
        {
            "key": one.worker, "worker": worker_name(one.worker), "generation": one.generation,
            "node": one.node, "href": node_path(one.node), "slot": one.slot, "pid": one.pid,
            "started": one.started_at, "ended": one.ended_at, "end": _end(one),
        }
        for one in reversed(attempts)
    ]  # fmt: skip


def _end(attempt: AttemptOut) -> str:
    if attempt.ended_at is None:
        return "running" if attempt.started_at else "starting"
    code = "" if attempt.exit_code is None else f"exit code {attempt.exit_code}"
    reason = "" if attempt.reason in ("", "ended") else attempt.reason.replace("_", " ")
    return ", ".join(filter(None, (code, reason, attempt.message))) or "ended"
