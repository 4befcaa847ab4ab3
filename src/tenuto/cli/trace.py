"""`tenuto trace`: make, look at, convert and keep traces."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tenuto.cli.console import Console
from tenuto.cli.printing import print_json, say, write_data
from tenuto.cli.trace_tables import description_table, library_table
from tenuto.errors import InputInvalid, Place
from tenuto.sim.convert import Origin, tell
from tenuto.sim.convert import convert as convert_file
from tenuto.sim.data_home import home
from tenuto.sim.describe import describe as describe_trace
from tenuto.sim.draw_trace import draw_trace
from tenuto.sim.draws import Wishes
from tenuto.sim.generate import GeneratorOptions
from tenuto.sim.generate import generate as generate_trace
from tenuto.sim.library import Library, find_trace
from tenuto.sim.read_cluster import load_cluster
from tenuto.sim.read_profiles import load_profiles
from tenuto.sim.read_trace import read_trace
from tenuto.sim.whole_file import whole_file
from tenuto.sim.write_trace import LOST, Form, write_trace, write_users

if TYPE_CHECKING:
    from rich.table import Table

    from tenuto.sim.trace import Trace

app = typer.Typer(
    name="trace",
    help="Make, look at, convert and keep traces: lists of jobs to replay.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

# The options of the reference's generator, accepted but not advertised.
REFERENCE_OPTIONS = {
    "num_jobs": "jobs",
    "lam": "interarrival",
    "min_ddl": "min-tightness",
    "max_ddl": "max-tightness",
    "best_effort_percentage": "best-effort",
    "max_scale_factor": "max-slots",
    "output_file": "out",
}

OutOption = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write here instead of to standard output.")
]
FormOption = Annotated[Form, typer.Option("--form", help="Our own columns, or those of another program.")]
ForceOption = Annotated[bool, typer.Option("--force", "-f", help="Overwrite what is there.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
SeedOption = Annotated[int, typer.Option("--seed", help="The same seed gives the same bytes.")]
ProfilesOption = Annotated[
    str, typer.Option("--profiles", metavar="NAME|PATH", help="a100, t4, a CSV file or a directory of them.")
]
MinTightnessOption = Annotated[
    float, typer.Option("--min-tightness", help="Least time until a deadline, in multiples of the duration.")
]
MaxTightnessOption = Annotated[
    float, typer.Option("--max-tightness", help="Most time until a deadline, in multiples of the duration.")
]
BestEffortOption = Annotated[
    float, typer.Option("--best-effort", metavar="SHARE", help="Share of jobs without a deadline, 0 to 1.")
]
TraceArgument = Annotated[
    str, typer.Argument(metavar="TRACE", help="A file, or a name from `tenuto trace list`.")
]


@app.command(
    context_settings={"token_normalize_func": lambda name: REFERENCE_OPTIONS.get(name, name)},
    epilog="Example: tenuto trace generate --jobs 200 --interarrival 240 --best-effort 0.2 -o day.csv",
)
def generate(
    jobs: Annotated[int, typer.Option("--jobs", "-n", help="How many jobs.")],
    interarrival: Annotated[
        float, typer.Option("--interarrival", metavar="SECONDS", help="Mean time between two submissions.")
    ],
    seed: SeedOption = 0,
    max_slots: Annotated[int, typer.Option("--max-slots", help="No job requests more slots than this.")] = 16,
    min_tightness: MinTightnessOption = 0.5,
    max_tightness: MaxTightnessOption = 1.5,
    best_effort: BestEffortOption = 0.0,
    profiles: ProfilesOption = "a100",
    form: FormOption = Form.TENUTO,
    out: OutOption = None,
    force: ForceOption = False,
) -> None:
    """Draw a synthetic trace, as the ElasticFlow artifact's generator does."""
    _check_free(out, force)
    options = GeneratorOptions(
        jobs=jobs,
        mean_interarrival=interarrival,
        seed=seed,
        max_slots=max_slots,
        min_tightness=min_tightness,
        max_tightness=max_tightness,
        best_effort_share=best_effort,
    )
    _write(generate_trace(options, load_profiles(profiles)), out, form)


@app.command(epilog="Example: tenuto trace convert raw/cluster01.csv --seed 1 -o cluster01.csv")
def convert(
    trace: TraceArgument,
    form: Annotated[Form, typer.Option("--to", "--form", help="Whose columns to write.")] = Form.TENUTO,
    origin: Annotated[
        Origin | None, typer.Option("--from", help="Whose columns to expect; else they tell by themselves.")
    ] = None,
    names: Annotated[
        Path | None,
        typer.Option("--names", metavar="FILE", help="With --to chronus: also write the users' names."),
    ] = None,
    seed: SeedOption = 0,
    min_tightness: MinTightnessOption = 0.5,
    max_tightness: MaxTightnessOption = 1.5,
    best_effort: BestEffortOption = 0.0,
    profiles: ProfilesOption = "a100",
    out: OutOption = None,
    force: ForceOption = False,
) -> None:
    """Write a trace in another form, or make one of a raw cluster log.

    A raw log (job_id, submission_time, duration, num_gpu) says nothing of models and deadlines: they are
    drawn by lot; jobs that cannot be replayed are left out and counted. A trace of Pollux gets durations from
    the profiles. Of other traces only the form changes.
    """
    _check_free(out, force)
    _check_names(names, form, force)
    if names is not None and names == out:
        raise InputInvalid("--names and --out name the same file", remedy="Give them two names")
    wishes = Wishes(min_tightness, max_tightness, best_effort)
    converted = convert_file(find_trace(trace), seed, wishes, load_profiles(profiles), origin)
    # Both files appear, or none.
    with nullcontext() if names is None else whole_file(names) as stream:
        if stream is not None:
            write_users(converted.trace, stream)
        _write(converted.trace, out, form)
    if converted.left_out:
        say(f"Left out {converted.left_out_count} jobs: {tell(converted.left_out)}.")
    for remark in (converted.remark, LOST.get(form)):
        if remark:
            say(remark)


@app.command(epilog="Example: tenuto trace describe lab-200 --cluster n8g8 --picture lab-200.png")
def describe(
    trace: TraceArgument,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", metavar="NAME|FILE", help="Compare the demand with this cluster: n8g8."),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", metavar="FILE", help="Draw it too: a name ending in .png or .svg."),
    ] = None,
    as_json: JsonOption = False,
    force: ForceOption = False,
) -> None:
    """Say what a trace is like: sizes, durations, urgency, models and demand."""
    _check_free(picture, force)
    jobs = read_trace(find_trace(trace))
    size = None if cluster is None else load_cluster(cluster)
    description = describe_trace(jobs, size)
    if picture is not None:
        draw_trace(jobs, picture, size)
        say(f"Drew {picture}.")
    _print(asdict(description), description_table(description), as_json)


@app.command(epilog="Example: tenuto trace add philly philly_103959.csv")
def add(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME] FILE", help="A trace, or a .tar.gz or .zip of traces; its name if another."
        ),
    ],
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Keep a trace in your library, so that every command knows it by name.

    Without NAME a trace is named after its file. All CSV files of an archive are kept, each under its own
    name, with NAME- in front of it if NAME is given. The library is in $TENUTO_HOME, or else in
    ~/.local/share/tenuto.
    """
    match what:
        case [file]:
            name = None
        case [name, file]:
            pass
        case _:
            raise typer.BadParameter("give the FILE, or a NAME and the FILE")
    added = Library(home(os.environ)).add(Path(file), name, replace=force)
    _print([asdict(entry) for entry in added], library_table(added), as_json)


@app.command(name="list", epilog="Example: tenuto trace list --json")
def list_traces(as_json: JsonOption = False) -> None:
    """List the traces that have a name: your library's and the bundled ones."""
    entries = Library(home(os.environ)).entries()
    _print([asdict(entry) for entry in entries], library_table(entries), as_json)


def _check_free(path: Path | None, force: bool) -> None:
    if path is not None and path.exists() and not force:
        raise InputInvalid(
            "the file exists",
            remedy="Choose another name, or overwrite it with --force",
            place=Place(str(path)),
        )


def _check_names(names: Path | None, form: Form, force: bool) -> None:
    if names is not None and form is not Form.CHRONUS:
        raise InputInvalid("only Chronus' form has names of users", remedy="Leave --names out")
    _check_free(names, force)


def _write(trace: Trace, out: Path | None, form: Form) -> None:
    if out is None:
        text = StringIO()
        write_trace(trace, text, form)
        write_data(text.getvalue())
        return
    write_trace(trace, out, form)
    say(f"Wrote {len(trace):,} jobs to {out}.")


def _print(value: object, table: Table, as_json: bool) -> None:
    if as_json:
        print_json(value)
    else:
        Console().print(table)
