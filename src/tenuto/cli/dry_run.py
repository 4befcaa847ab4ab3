"""`tenuto submit --dry-run` and `tenuto plan`: the whole answer, and nothing is submitted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from tenuto.cli.foresight import ROUGHLY, counted, differences_table, local, planned_facts
from tenuto.cli.printing import (
    LOOKS_AHEAD,
    console,
    facts_of,
    print_facts,
    print_json,
    print_list,
    remark_if_slow,
    say,
)
from tenuto.cli.verdict import REFUSED
from tenuto.errors import InputInvalid

if TYPE_CHECKING:
    from tenuto.client.plain import Json, PlainClient
    from tenuto.wire.job_file import WrittenJob


def dry_run(client: PlainClient, jobs: Sequence[WrittenJob], *, as_json: bool) -> int:
    """Ask what these jobs would be answered, print it, and tell the exit code."""
    if any(job.hosts for job in jobs):
        say("The list of hosts is left out: this is the answer to a job that may run anywhere.")
    with remark_if_slow(LOOKS_AHEAD):
        answer = asked(client, jobs)
    if as_json:
        print_json(answer)
    else:
        _print(answer)
    declined = any(job["reply"] in ("declined", "unschedulable") for job in answer["jobs"])
    return REFUSED if declined else 0


def asked(client: PlainClient, jobs: Sequence[WrittenJob]) -> Json:
    """The server's answer; what is wrong with a job names its place in the file."""
    try:
        return client.plan([job.values for job in jobs])
    except InputInvalid as error:
        raise blamed(error, "jobs", jobs) from None


def blamed(error: InputInvalid, field: str, jobs: Sequence[WrittenJob]) -> InputInvalid:
    """An error about one of the jobs in a list, as one about that job."""
    parts = (error.field or "").split(".", 2)
    if parts[0] != field or len(parts) < 2 or not parts[1].isdigit() or int(parts[1]) >= len(jobs):
        return error
    about = InputInvalid(
        error.problem.removeprefix(f"{field}.{parts[1]}."),
        remedy=error.remedy,
        field=parts[2] if len(parts) > 2 else None,
    )
    return jobs[int(parts[1])].blamed(about)


def _print(answer: Json) -> None:
    now = datetime.now().astimezone()
    out = console()
    for job in answer["jobs"]:
        print_facts(facts_of(planned_facts(job, now)), out)
        out.print()
    for remark in local(answer["remarks"], now):
        out.print(remark, markup=False, soft_wrap=True)
    _print_moved(answer, now)
    if not answer["exact"]:
        out.print(ROUGHLY, markup=False, soft_wrap=True)
    out.print("Nothing was submitted.", markup=False)


def _print_moved(answer: Json, now: datetime) -> None:
    out, moved = console(), answer["moved"]
    if not moved:
        out.print("No other job would be done later or earlier.", markup=False)
        return
    out.print(f"It would move {counted(len(moved) + answer['moved_more'])}:", markup=False)
    print_list(differences_table(moved, now))
    if answer["moved_more"]:
        out.print(f"and {answer['moved_more']} more.", markup=False)
