"""`tenuto run`: a command as a job, attached to this terminal."""

from __future__ import annotations

import math
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperCommand

from tenuto.cli import job_options as options
from tenuto.cli.connect import ServerOption, connect
from tenuto.cli.humane import in_local_time
from tenuto.cli.log_follow import LogReader, follow_logs, rescales_in_place
from tenuto.cli.log_view import LogView
from tenuto.cli.printing import console, print_json, say
from tenuto.cli.submit import seconds_of, submit_all
from tenuto.cli.verdict import REFUSED, await_verdict, has_become, print_verdict, refused
from tenuto.errors import InputInvalid, TenutoError
from tenuto.wire.job_file import from_command

if TYPE_CHECKING:
    from tenuto.client.plain import Json, PlainClient

EXAMPLES = (
    "Examples: tenuto run -- python train.py · "
    "tenuto run --workers 1..4 --steps 1000 --curve auto --deadline +2h -- python train.py"
)
FAILED, INTERRUPTED = 1, 130


class RunCommand(TyperCommand):
    """Everything behind the first word that is no option belongs to the command."""

    allow_interspersed_args = False


def run(
    command: Annotated[list[str], typer.Argument(metavar="COMMAND...", help="What to run, with arguments.")],
    name: options.NameOption = None,
    workers: options.WorkersOption = None,
    gpus: options.GpusOption = None,
    deadline: options.DeadlineOption = None,
    steps: options.StepsOption = None,
    curve: options.CurveOption = None,
    priority: options.PriorityOption = None,
    env: options.EnvOption = None,
    node: options.NodeOption = None,
    labels: options.LabelOption = None,
    after: options.AfterOption = None,
    settings: options.SetOption = None,
    fresh: options.FreshOption = False,
    detach: Annotated[
        bool, typer.Option("--detach", "-d", help="Return after the answer; see tenuto logs -f.")
    ] = False,
    patience: options.PatienceOption = None,
    server: ServerOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="With --detach: print the job as JSON.")] = False,
) -> None:
    """Submit a command, show what it prints, and end as it ends.

    The first Ctrl-C cancels the job and waits for its end; the second leaves it to itself. The exit code is the
    job's own, or 3 if it was declined.
    """
    wishes = options.Wishes(
        plain={"name": name, "deadline": deadline, "priority": priority, "node": node, "after": after},
        workers=workers,
        gpus=gpus,
        steps=steps,
        curve=curve,
        env=env or (),
        labels=labels or (),
        set=settings or (),
    )
    if as_json and not detach:
        raise InputInvalid(
            "standard output belongs to what the job prints", remedy="Give --detach with --json"
        )
    job = from_command(command, {})
    job = job.changed(wishes.over(dict(job.values))).checked()
    with connect(server, patience=seconds_of(patience)) as client:
        [made] = submit_all(client, [job], fresh=fresh)
        if not detach:
            raise typer.Exit(_attended(client, made))
        made = await_verdict(client, made)
    if as_json:
        print_json(made)
    else:
        print_verdict(made, console())
    if refused(made):
        raise typer.Exit(REFUSED)


def _attended(client: PlainClient, job: Json) -> int:
    """Stay with a job to its end; returns what this program shall end with."""
    # Only what the job prints goes to standard output.
    messages = console(error=True)
    reader = LogReader(client, job["id"], LogView(sys.stdout), by_birth=rescales_in_place(job))
    try:
        job = await_verdict(client, job)
        print_verdict(job, messages, attached=True)
        if refused(job):
            return REFUSED
        return _exit_code(_followed(reader, job))
    except KeyboardInterrupt:
        return _interrupted(reader, job)


def _followed(reader: LogReader, job: Json) -> Json:
    reader.client.patience = math.inf
    before = {"state": job["state"], "answer": job["contract"]}

    def tell(now: Json) -> None:
        if now["state"] != before["state"]:
            _tell(now)
        if now["contract"] != before["answer"]:
            print_verdict(now, console(error=True), attached=True)
        before.update(state=now["state"], answer=now["contract"])

    ended = follow_logs(reader, job, begin=0, changed=tell)
    _tell(ended)
    return ended


def _tell(job: Json) -> None:
    told, why = has_become(job["state"]), in_local_time(job["message"], datetime.now().astimezone())
    if why.startswith(f"{job['state']} "):  # cancelled by somebody
        told, why = told.removesuffix(job["state"]) + why, ""
    say(f"tenuto: {job['name']} {told}{f': {why}' if why else ''}")


def _interrupted(reader: LogReader, job: Json) -> int:
    """Cancel the job and see it off; another Ctrl-C leaves it alone."""
    client = reader.client
    say(f"tenuto: cancelling {job['name']} ({job['id']}); Ctrl-C once more leaves it to itself")
    try:
        try:
            job = client.act(job["id"], "cancel")
        except TenutoError as error:
            say(f"tenuto: {error}")
        _followed(reader, client.job(job["id"]))
    except KeyboardInterrupt:
        say(f"tenuto: left alone; see tenuto show {job['id']}")
    return INTERRUPTED


def _exit_code(job: Json) -> int:
    if job["state"] == "succeeded":
        return 0
    return job["exit_code"] or FAILED
