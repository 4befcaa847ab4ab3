"""`tenuto show`: everything about one job."""

from __future__ import annotations

from datetime import datetime

from tenuto.cli.connect import JobArgument, JsonOption, ServerOption, connect
from tenuto.cli.job_tables import attempts_table, job_facts
from tenuto.cli.printing import console, print_json
from tenuto.cli.read_reply import attempts_of, job_of

EXAMPLES = "Examples: tenuto show train · tenuto show 4f21 --json"


def show(job: JobArgument, server: ServerOption = None, as_json: JsonOption = False) -> None:
    """Tell everything about a job: its contract, its progress, its workers and what was asked for."""
    with connect(server) as client:
        found = client.job(job)
        attempts = client.attempts(found["id"])["items"]
    if as_json:
        print_json({**found, "attempts": attempts})
        return
    now, out = datetime.now().astimezone(), console()
    out.print(job_facts(job_of(found), now))
    if attempts:
        out.print()
        out.print(attempts_table(attempts_of(attempts), now))
    out.print()
    out.print(as_yaml(found["spec"]), markup=False, end="", soft_wrap=True)


def as_yaml(spec: object) -> str:
    """A spec as a job file would say it."""
    import yaml  # not for help

    return str(yaml.safe_dump(spec, allow_unicode=True, sort_keys=False, width=110))
