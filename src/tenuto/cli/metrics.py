"""`tenuto metrics`: how a job, a node or the cluster has been doing, in lines of characters; and all of it in files."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from tenuto.cli.connect import JsonOption, ServerOption, connect
from tenuto.cli.metrics_export import export
from tenuto.cli.metrics_options import ClusterOption, JobOrNone, NodeOption, SinceOption
from tenuto.cli.metrics_steps import COLUMNS, all_points, apart, rows
from tenuto.cli.metrics_time import Whose, look, remarks, since_of, table
from tenuto.cli.printing import console, print_json, print_list, say, table_of
from tenuto.errors import InputInvalid
from tenuto.model.phase import ENDED

if TYPE_CHECKING:
    from tenuto.client.plain import Json, PlainClient

EXAMPLES = (
    "Examples: tenuto metrics train · tenuto metrics train --since 1h --watch · tenuto metrics --node gpu-1 · "
    "tenuto metrics train --names loss --every 100 · tenuto metrics export train --out train.csv"
)
WATCH_EVERY = 2.0
"""Seconds."""
pause = time.sleep


class JobOrCommand(TyperGroup):
    """A job may stand where a command would; whoever has a job called `export` names it by its id."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Leave the options behind a command to it; else they are ours, wherever they stand."""
        below = bool(args) and args[0] in self.commands
        ctx.allow_interspersed_args = not below
        return super().parse_args(ctx, ["", *args] if below else args)

    def get_params(self, ctx: Any) -> list[Any]:
        """No job stands before a command, whose usage would say so."""
        found = super().get_params(ctx)
        return found if ctx.command is self else [one for one in found if one.param_type_name == "option"]


app = typer.Typer(name="metrics", cls=JobOrCommand, invoke_without_command=True, rich_markup_mode=None)
app.command("export", epilog="Example: tenuto metrics export train --format parquet --out train.parquet")(
    export
)


@app.callback(epilog=EXAMPLES)
def metrics(
    context: typer.Context,
    job: JobOrNone = "",
    node: NodeOption = None,
    cluster: ClusterOption = False,
    since: SinceOption = None,
    watch: Annotated[
        bool, typer.Option("--watch", "-f", help="Show it anew every two seconds, until the job ends.")
    ] = False,
    worker: Annotated[
        str | None,
        typer.Option("--worker", metavar="ID", help="Only this worker, by step, as `show` names it."),
    ] = None,
    names: Annotated[
        str | None, typer.Option("--names", metavar="A,B", help="Only these of the reported values.")
    ] = None,
    from_step: Annotated[int, typer.Option("--from-step", min=0, help="By step, from this one on.")] = 0,
    every: Annotated[
        int | None, typer.Option("--every", min=1, help="By step, and so many between two points at least.")
    ] = None,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show how fast a job's workers go and what they report, over time and beside the GPUs that it holds.

    All lines share one axis; · stands where nothing is known. Seconds are those of one step; samples/s are counted
    from the samples that were processed. With --worker, --from-step or --every the axis is that of steps.
    """
    if context.invoked_subcommand is not None:
        _nothing_before(context)
        return
    if names and not job:
        raise InputInvalid("only jobs report values", remedy="Leave --names out")
    by_step = worker is not None or from_step > 0 or every is not None
    _check(job, node, cluster=cluster, by_step=by_step, over_time=since is not None or watch)
    if watch and as_json:
        raise InputInvalid("--json and --watch exclude each other", remedy="Leave one of them out")
    steps = {"worker": worker, "names": names, "from_step": from_step}
    wanted = frozenset((names or "").split(",")) - {""}
    with connect(server) as client:
        if by_step:
            _show_steps(client, job, steps, every, as_json=as_json)
            return
        whose = _whose(client, (job, node), since, wanted)
        if as_json:
            told = _steps(client, job, steps, None) if job else {}
            print_json({**told, "time": look(client, whose).json()})
        elif watch:
            _watch(client, whose)
        elif not _show_time(client, whose) and job:
            _show_steps(client, job, steps, None, as_json=False)


def _nothing_before(context: typer.Context) -> None:
    """Refuse what stands before the command below, where it would mean nothing to it."""
    sources = {name: context.get_parameter_source(name) for name in context.params if name != "job"}
    given = any(source is not None and source.name == "COMMANDLINE" for source in sources.values())
    if given or context.params["job"]:
        below = context.invoked_subcommand
        raise InputInvalid(
            f"a job and options stand behind {below}", remedy=f"Write tenuto metrics {below} JOB --since …"
        )


def _check(job: str, node: str | None, *, cluster: bool, by_step: bool, over_time: bool) -> None:
    if [bool(job), node is not None, cluster].count(True) != 1:
        raise InputInvalid(
            "say whose numbers are meant, and only once",
            remedy="Write tenuto metrics JOB, tenuto metrics --node NAME or tenuto metrics --cluster",
        )
    if by_step and not job:
        raise InputInvalid("only jobs have steps", remedy="Leave --worker, --from-step and --every out")
    if by_step and over_time:
        raise InputInvalid(
            "--since and --watch are about time, --worker, --from-step and --every about steps",
            remedy="Leave one of them out",
        )


def _whose(
    client: PlainClient, named: tuple[str, str | None], since: str | None, names: frozenset[str]
) -> Whose:
    from tenuto.wire.job_file import in_local_zone

    job, node = named
    begin = None if since is None else in_local_zone(since)
    if job:
        found = client.job(job)
        started, ended = since_of(found)
        return Whose("job", found["id"], begin or started, ended, names)
    return Whose("cluster" if node is None else "node", node or "", begin or "1h")


def _show_time(client: PlainClient, whose: Whose) -> bool:
    """Print everything on one axis; whether there was anything."""
    seen = look(client, whose)
    made = table(seen, whose)
    if made is not None:
        print_list(made)
        for remark in remarks(seen):
            say(remark)
    elif whose.kind != "job":
        say("Nothing is known of that time; see docs/monitoring.md for what is sampled.")
    return made is not None


def _watch(client: PlainClient, whose: Whose) -> None:
    """Show it until the job has ended, or somebody presses Ctrl-C."""
    from rich.live import Live  # only those who watch need it

    with Live(console=console(), auto_refresh=False) as live:
        while True:
            live.update(table(look(client, whose), whose) or "Nothing is known yet.", refresh=True)
            if whose.kind == "job" and client.job(whose.name)["state"] in ENDED:
                return
            try:
                pause(WATCH_EVERY)
            except KeyboardInterrupt:
                return


def _steps(client: PlainClient, job: str, query: Json, every: int | None) -> Json:
    return all_points(client, job, every=every or apart(client, job, query["from_step"]), **query)


def _show_steps(client: PlainClient, job: str, query: Json, every: int | None, *, as_json: bool) -> None:
    told = _steps(client, job, query, every)
    if as_json:
        print_json(told)
    elif any(series["points"] for series in told["series"]):
        print_list(table_of(COLUMNS, rows(told)))
    else:
        say("No worker of this job has told a step; see the chapter on reports in docs/jobs.md.")
