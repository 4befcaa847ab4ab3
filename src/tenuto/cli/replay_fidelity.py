"""How a replay in wall time is told: every job in both tellings, and why those are apart that are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.text import Text

from tenuto.cli.humane import span
from tenuto.cli.printing import console, print_json, print_list, table_of
from tenuto.cli.replay_compared import FILE, mean_jct, walk_of, write_walks
from tenuto.cli.replay_table import duration
from tenuto.rehearsal.reasons import CLOSE, Fidelity
from tenuto.rehearsal.score import Score
from tenuto.rehearsal.site import Site
from tenuto.rehearsal.walk import ends

if TYPE_CHECKING:
    from tenuto.cli.replay_wanted import Wanted


@dataclass(frozen=True)
class Told:
    """Everything about one replay in wall time."""

    score: Score
    site: Site
    jobs: Sequence[Fidelity]
    seconds: float
    """Of the wall clock."""

    @property
    def close(self) -> int:
        """Jobs that both tell alike, near enough."""
        return sum(job.close for job in self.jobs)

    @property
    def disagree(self) -> bool:
        """Whether a job got another answer, or did not end where the simulator lets it."""
        return any(job.off is None and not job.close for job in self.jobs)

    @property
    def summary(self) -> str:
        """In a sentence."""
        return f"finish times within {CLOSE:.0%} for {self.close} of {len(self.jobs)} jobs"


def print_fidelity(wanted: Wanted, told: Told) -> None:
    """Write the file, if one is wanted, and tell it."""
    if wanted.outputs.out is not None:
        _write(wanted, told)
    if wanted.as_json:
        print_json(_json(told))
        return
    out, score, site = console(), told.score, told.site
    scheduling = site.rule.scheduling
    out.print(
        Text(
            f"{score.workload.trace.name} on {site.cluster.total} slots under {scheduling.policy}, "
            f"{score.speedup:g} times faster than it was: {span(told.seconds)}"
        )
    )
    print_list(
        table_of(
            ("job", "simulated", "JCT", "live", "JCT", "rescales", "off"), (_cells(job) for job in told.jobs)
        )
    )
    for job in told.jobs:
        for reason in job.reasons:
            out.print(Text(f"job {job.simulated.job}: {reason}"), soft_wrap=True)
    out.print(Text(told.summary[0].upper() + told.summary[1:] + "."))


def _cells(job: Fidelity) -> tuple[str, ...]:
    simulated, live = job.simulated, job.live.walk
    return (
        simulated.job,
        simulated.verdict,
        duration(simulated.duration),
        live.verdict if live.finished is not None or not live.admitted else job.live.state,
        duration(live.duration),
        f"{len(simulated.changes)} / {len(live.changes)}",
        "-" if job.off is None else f"{job.off:+.1%}",
    )


def _write(wanted: Wanted, told: Told) -> None:
    assert wanted.outputs.out is not None, "nobody asked for a file"
    policy = told.site.rule.policy().name
    target = wanted.outputs.out / told.score.workload.trace.name / policy
    target.mkdir(parents=True, exist_ok=True)
    write_walks(
        target / FILE,
        ((job.simulated, job.live.walk) for job in told.jobs),
        {
            "off": ["" if job.off is None else job.off for job in told.jobs],
            "reasons": ["; ".join(job.reasons) for job in told.jobs],
        },
    )


def _json(told: Told) -> dict[str, Any]:
    walks = [job.live.walk for job in told.jobs]
    declined, finished = ends(walks)
    scheduling = told.site.rule.scheduling
    return {
        "trace": told.score.workload.trace.name,
        "policy": scheduling.policy,
        "slots": told.site.cluster.total,
        "speedup": told.score.speedup,
        "seconds": round(told.seconds, 3),
        "interval": scheduling.interval,
        "start_cost": scheduling.start_cost,
        "rescale_cost": scheduling.rescale_cost,
        "margin": scheduling.margin,
        "jobs": len(told.jobs),
        "declined": declined,
        "finished": finished,
        "mean_jct": mean_jct(walks),
        "close": told.close,
        "summary": told.summary,
        "items": [_job(job) for job in told.jobs],
    }


def _job(job: Fidelity) -> dict[str, Any]:
    return {
        "job": job.simulated.job,
        "simulated": walk_of(job.simulated),
        "live": {**walk_of(job.live.walk), "state": job.live.state},
        "off": job.off,
        "reasons": list(job.reasons),
        "starts_ms": [round(1000 * seconds, 1) for seconds in job.live.starts],
    }
