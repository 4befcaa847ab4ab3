"""`tenuto bench`: what rescales, moves and scripted scenarios cost on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tenuto.cli.printing import say
from tenuto.errors import InputInvalid

if TYPE_CHECKING:
    from tenuto.bench.rescales import Case
    from tenuto.client.plain import PlainClient

app = typer.Typer(
    name="bench",
    help="Measure what rescales, moves and scripted scenarios cost on this machine.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
USUAL = ((1, 2), (2, 1), (2, 4), (4, 2))
LARGE = ((8, 16), (16, 8))
_NEEDED = ("torch", "safetensors")

FromOption = Annotated[
    list[int] | None,
    typer.Option("--from", metavar="WORKERS", min=1, max=64, help="Workers before; as often as --to."),
]
ToOption = Annotated[
    list[int] | None, typer.Option("--to", metavar="WORKERS", min=1, max=64, help="Workers after.")
]
ModelOption = Annotated[
    str | None, typer.Option("--model", metavar="NAME", help="A stand-in; tenuto workloads lists them.")
]
ParametersOption = Annotated[
    str | None, typer.Option("--parameters", metavar="N", help="A model of so many parameters, such as 25M.")
]
BatchOption = Annotated[int | None, typer.Option("--batch", min=1, help="Samples of an update.")]
RepeatOption = Annotated[int, typer.Option("--repeat", min=1, max=1000, help="How often each is measured.")]
ServerOption = Annotated[
    str | None,
    typer.Option(
        "--server", metavar="URL", help="A platform that runs; else one of its own, gone afterwards."
    ),
]
OutOption = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="DIR", help="Every measurement goes there as CSV.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON only (on standard output).")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error.")]


@app.command(epilog="Example: tenuto bench rescale --from 1 --to 2 --parameters 25M")
def rescale(
    before: FromOption = None,
    after: ToOption = None,
    large: Annotated[
        bool, typer.Option("--large", help="Also 8→16 and 16→8, whatever the processors.")
    ] = False,
    model: ModelOption = None,
    parameters: ParametersOption = None,
    batch: BatchOption = None,
    repeat: RepeatOption = 3,
    server: ServerOption = None,
    out: OutOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Change the size of a training job while it trains, and tell how long training paused: Figure 12(b)."""
    from tenuto.bench.rescales import Case
    from tenuto.cli.bench_run import Wanted, run_cases

    pairs = _pairs(before or [], after or []) or (*USUAL, *(LARGE if large else ()))
    cases = [Case(*pair) for pair in pairs] * repeat
    job = _job(model, parameters, batch, most=max(max(pair) for pair in pairs))
    with _platform(server, nodes=1, slots=_most(cases)) as client:
        run_cases(client, Wanted(job, cases, out, as_json=as_json, quiet=quiet))


@app.command(epilog="Example: tenuto bench migrate --workers 2")
def migrate(
    workers: Annotated[
        list[int] | None, typer.Option("--workers", metavar="COUNT", min=1, max=64, help="How many move.")
    ] = None,
    model: ModelOption = None,
    parameters: ParametersOption = None,
    batch: BatchOption = None,
    repeat: RepeatOption = 3,
    server: ServerOption = None,
    out: OutOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Move all workers of a training job to another node while it trains, and tell how long training paused."""
    from tenuto.bench.rescales import Case
    from tenuto.cli.bench_run import Wanted, run_cases

    sizes = workers or [2]
    cases = [Case(size, size, migrate=True) for size in sizes] * repeat
    job = _job(model, parameters, batch, most=2 * max(sizes))
    with _platform(server, nodes=2, slots=_most(cases)) as client:
        run_cases(client, Wanted(job, cases, out, as_json=as_json, quiet=quiet))


@app.command(epilog="Example: tenuto bench scenario examples/scenarios/grow-and-shrink.txt")
def scenario(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Commands R, K, G, F, T, U, W, RE and S.")],
    server: ServerOption = None,
    check: Annotated[
        bool, typer.Option("--check", help="Read the file and tell what is in it, only.")
    ] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Play a scripted scenario in the reference's command language; its whole time is the result."""
    from tenuto.bench.scenario import read_scenario
    from tenuto.cli.bench_run import play, tell_scenario

    read = read_scenario(file)
    if check:
        tell_scenario(read, as_json=as_json)
        return
    _check_torch()
    with _platform(server, nodes=read.nodes, slots=read.slots) as client:
        play(client, read, str(file), as_json=as_json, quiet=quiet)


def _pairs(before: list[int], after: list[int]) -> tuple[tuple[int, int], ...]:
    if len(before) != len(after):
        raise InputInvalid(
            f"--from is given {len(before)} times and --to {len(after)} times",
            remedy="Give them in pairs: --from 1 --to 2",
            field="from",
        )
    for pair in zip(before, after, strict=True):
        if pair[0] == pair[1]:
            raise InputInvalid(
                f"from {pair[0]} to {pair[1]} nothing changes", remedy="Give two sizes", field="to"
            )
    return tuple(zip(before, after, strict=True))


def _job(model: str | None, parameters: str | None, batch: int | None, *, most: int) -> dict[str, object]:
    from tenuto.bench.jobs import job_of_model, job_of_size, parameters_of

    if model is not None and parameters is not None:
        raise InputInvalid("both a model and a size are given", remedy="Give --model or --parameters")
    if batch is not None and batch < most:
        raise InputInvalid(
            f"{batch} samples are too few for {most} workers",
            remedy=f"Give --batch {most} or more",
            field="batch",
        )
    found = (
        job_of_size(parameters_of(parameters or "25M"), batch=batch or max(16, most), most=most)
        if model is None
        else job_of_model(model, batch=batch, most=most)
    )
    _check_torch()
    return found


def _check_torch() -> None:
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise InputInvalid(
            f"this trains with PyTorch, and {' and '.join(missing)} cannot be found",
            remedy="Install it with pip install 'tenuto[torch]'",
        )


def _most(cases: list[Case]) -> int:
    """Slots that a node must have."""
    most = max(max(case.before, case.after) for case in cases)
    cores = os.cpu_count() or 1
    if most > cores:
        say(
            f"tenuto: {most} workers share {cores} processors here: steps and rescales take longer than with one each"
        )
    return most


@contextmanager
def _platform(server: str | None, *, nodes: int, slots: int) -> Iterator[PlainClient]:
    """The one that is named, or one of its own; with enough slots."""
    from tenuto.cli.bench_run import await_slots
    from tenuto.cli.connect import connect
    from tenuto.cli.demo_stage import platform

    with connect(server) if server is not None else platform(nodes=nodes, slots=slots) as client:
        await_slots(client, nodes * slots)
        yield client
