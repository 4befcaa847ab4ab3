"""`tenuto submit`: jobs from files, scripts or the command line; the answer is a contract."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from tenuto.cli import job_options as options
from tenuto.cli.connect import JsonOption, ServerOption, connect
from tenuto.cli.printing import console, print_json, say
from tenuto.cli.verdict import REFUSED, await_verdict, print_verdict, refused
from tenuto.errors import InputInvalid, TenutoError
from tenuto.model.phase import ENDED
from tenuto.wire.hosts_file import on_nodes
from tenuto.wire.job_file import WrittenJob, from_command, in_order, read_jobs
from tenuto.wire.quantities import Unusable, duration

if TYPE_CHECKING:
    from tenuto.client.plain import Json, PlainClient

EXAMPLES = (
    "Examples: tenuto submit job.yaml · tenuto submit train.sh --deadline +6h · "
    "tenuto submit --workers 2 --min 1 --max 4 --nic eth0 -- python train.py --epochs 3"
)
PLAN_EXAMPLES = "Examples: tenuto plan job.yaml · tenuto plan train.sh --deadline +6h --json"
PLAN_HELP = """Tell what jobs would be answered, without submitting them.

It takes what submit takes, and is the same as submit --dry-run: the promise or the reason and the counter-offers, when
it would begin and be done, how many slots it would have where and when, and which other jobs it would move. Exit code 3
says that the platform would decline a job, or cannot hold it."""
COMMAND, DRY_RUN = "command", "dry_run"


class SubmitCommand(TyperCommand):
    """Keeps what stands behind `--` apart: it is a command of the user's, not a list of files."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take the command out before the options are read."""
        if "--" in args:
            at = args.index("--")
            ctx.meta[COMMAND], args = args[at + 1 :], args[:at]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Show it in the help."""
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND...]"]


class PlanCommand(SubmitCommand):
    """The same command for those who only want to know."""

    def __init__(self, *names: Any, **settings: Any) -> None:
        super().__init__(*names, **{**settings, "help": PLAN_HELP})

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Submit nothing."""
        ctx.meta[DRY_RUN] = True
        return super().parse_args(ctx, args)


def submit(
    ctx: typer.Context,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE]...", help="Job files (YAML, - for standard input) or scripts."),
    ] = None,
    more_files: Annotated[
        list[str] | None, typer.Option("--file", "-f", metavar="FILE", help="Another way to name a file.")
    ] = None,
    name: options.NameOption = None,
    workers: options.WorkersOption = None,
    least: Annotated[int | None, typer.Option("--min", metavar="N", help="The fewest workers.")] = None,
    most: Annotated[int | None, typer.Option("--max", metavar="N", help="The most workers.")] = None,
    gpus: options.GpusOption = None,
    deadline: options.DeadlineOption = None,
    steps: options.StepsOption = None,
    curve: options.CurveOption = None,
    priority: options.PriorityOption = None,
    env: options.EnvOption = None,
    nic: Annotated[
        str | None, typer.Option("--nic", metavar="IF", help="The network interface for Gloo and NCCL.")
    ] = None,
    workdir: Annotated[str | None, typer.Option("--workdir", metavar="DIR", help="Where it runs.")] = None,
    node: options.NodeOption = None,
    labels: options.LabelOption = None,
    after: options.AfterOption = None,
    settings: options.SetOption = None,
    fresh: options.FreshOption = False,
    only_asked: Annotated[
        bool,
        typer.Option("--dry-run", help="Print the whole answer and submit nothing; same as tenuto plan."),
    ] = False,
    detach: Annotated[
        bool, typer.Option("--detach", "-d", help="Print the id and do not wait for the answer.")
    ] = False,
    patience: options.PatienceOption = None,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Hand in jobs and get an answer: a promise, or the reason why not.

    Exit code 3 says that the platform declined a job, or cannot hold it; the answer tells what could be had.
    """
    wishes = options.Wishes(
        plain={
            "name": name,
            "deadline": deadline,
            "priority": priority,
            "workdir": workdir,
            "node": node,
            "after": after,
        },
        workers=workers,
        least=least,
        most=most,
        gpus=gpus,
        steps=steps,
        curve=curve,
        nic=nic,
        env=env or (),
        labels=labels or (),
        set=settings or (),
    )
    jobs = in_order(_jobs([*(files or ()), *(more_files or ())], ctx.meta.get(COMMAND), wishes))
    with connect(server, patience=seconds_of(patience)) as client:
        if only_asked or ctx.meta.get(DRY_RUN):
            from tenuto.cli.dry_run import dry_run  # whoever submits need not wait for it

            raise typer.Exit(dry_run(client, jobs, as_json=as_json))
        made = submit_all(client, jobs, fresh=fresh)
        if detach:
            _print_ids(made, as_json)
            return
        answered = [_answered(client, job, show=not as_json) for job in made]
    if as_json:
        print_json(answered[0] if len(answered) == 1 else {"items": answered, "next": None})
    if any(refused(job) for job in answered):
        raise typer.Exit(REFUSED)


def _jobs(files: Sequence[str], command: Sequence[str] | None, wishes: options.Wishes) -> list[WrittenJob]:
    """Everything that shall be submitted, checked before anything is sent."""
    if command is not None and files:
        raise InputInvalid(
            "both files and a command are given", remedy="Put either the files or, behind --, the command"
        )
    written = [job for file in files for job in read_jobs(file)]
    if command:
        written = [from_command(command, {})]
    if not written:
        raise InputInvalid("there is nothing to submit", remedy="Name a job file, or put a command behind --")
    return [job.changed(wishes.over(dict(job.values))).checked() for job in written]


def submit_all(client: PlainClient, jobs: Sequence[WrittenJob], *, fresh: bool = False) -> list[Json]:
    """Send the jobs in turn; each that waits for another of them gets its id."""
    made: dict[str, Json] = {}
    try:
        for job in jobs:
            made[job.name] = _submitted(client, job, made)
            if fresh:
                delete_earlier_logs(client, made[job.name])
    except (TenutoError, KeyboardInterrupt):
        if made:
            say(f"Submitted before that: {', '.join(job['id'] for job in made.values())}")
        raise
    return list(made.values())


def _submitted(client: PlainClient, job: WrittenJob, made: dict[str, Json]) -> Json:
    if job.after in made:
        job = job.waiting_for(made[job.after]["id"])
    nodes = on_nodes(job.hosts, client.nodes()["items"]) if job.hosts else {}
    try:
        sent = client.submit(job.values)
        return client.scale(sent["id"], {"nodes": nodes}) if nodes else sent
    except InputInvalid as error:
        raise job.blamed(error) from None


def delete_earlier_logs(client: PlainClient, job: Json) -> None:
    """Delete what ended jobs of the same name and owner printed; the new one is safely stored by now."""
    query = {"name": job["name"], "owner": job["owner"], "state": sorted(ENDED), "limit": 500}
    cursor: str | None = None
    while True:
        page = client.jobs(**query, cursor=cursor)
        for earlier in page["items"]:
            if earlier["id"] != job["id"]:
                client.delete_logs(earlier["id"])
        if (cursor := page["next"]) is None:
            return


def _answered(client: PlainClient, job: Json, *, show: bool) -> Json:
    try:
        job = await_verdict(client, job)
    except KeyboardInterrupt:
        say(f"The job is submitted all the same: tenuto show {job['id']}")
        raise
    if show:
        print_verdict(job, console())
    return job


def _print_ids(jobs: Sequence[Json], as_json: bool) -> None:
    if as_json:
        print_json(jobs[0] if len(jobs) == 1 else {"items": jobs, "next": None})
        return
    out = console()
    for job in jobs:
        out.print(job["id"], markup=False)


def seconds_of(patience: str | None) -> float | None:
    """How long to try, if something is said about it."""
    if patience is None:
        return None
    try:
        return duration(patience)
    except Unusable as error:
        raise InputInvalid(f"--patience {error.problem}", remedy=error.remedy) from None
