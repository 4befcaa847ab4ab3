"""`tenuto profile`: runs a job at several sizes and batches, and writes how fast it was."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tenuto.cli.connect import JsonOption, ServerOption, connect
from tenuto.cli.home import Home
from tenuto.cli.printing import console, print_json, print_list, say, table_of
from tenuto.cli.profile_file import Point, check_profile, write_facts, write_profile
from tenuto.cli.profile_run import Profiler, Wish, check_room, default_sizes
from tenuto.errors import InputInvalid
from tenuto.model.job import JobSpec

if TYPE_CHECKING:
    from tenuto.client.plain import PlainClient

EXAMPLES = (
    "Examples: tenuto profile job.yaml · tenuto profile job.yaml --workers 1,2,4 --batches 64,128 · "
    "tenuto profile job.yaml --local --seconds 2 --out resnet.csv"
)
_MOST = 1024
_JOINS = 30.0
"""Seconds in which the nodes of a platform that was just started should have joined."""
_LOOK = 0.1


def profile(
    file: Annotated[str, typer.Argument(metavar="JOB.yaml", help="A job file, or a script.")],
    workers: Annotated[
        str | None, typer.Option("--workers", metavar="N,N", help="Sizes; else min, doubled up to max.")
    ] = None,
    batches: Annotated[
        str | None, typer.Option("--batches", metavar="N,N", help="Global batches; else that of the job.")
    ] = None,
    seconds: Annotated[
        float, typer.Option("--seconds", min=0.1, max=3600, help="Seconds of training at each size.")
    ] = 5.0,
    out: Annotated[
        Path | None, typer.Option("--out", help="The profile to write or update; else NAME.profile.csv.")
    ] = None,
    local: Annotated[
        bool, typer.Option("--local", help="On a platform of its own, which is gone afterwards.")
    ] = False,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how fast a job is at several sizes, and write its profile.

    Admission and replays can use it. The platform remembers the curve for later jobs of the same kind. Nothing else is
    left behind, whether measuring ends well or by Ctrl-C. Beside the profile stands a JSON file with what it took.
    """
    job, spec = _read(file)
    sizes, chosen = _numbers(workers, "workers"), _numbers(batches, "batches")
    target = out or Path(f"{spec.name}.profile.csv")
    check_profile(target)
    begun = time.monotonic()
    room = sizes or default_sizes(spec, os.cpu_count() or 1)
    with _platform(local, server, max(room, default=1)) as client, TemporaryDirectory() as scratch:
        slots = client.cluster()["slots"]["usable"]
        sizes = sizes or default_sizes(spec, slots)
        check_room(sizes, slots)
        wish = Wish(job=job, sizes=sizes, batches=chosen or [None], seconds=seconds, scratch=scratch)
        profiler = Profiler(client, _quiet if as_json else say, _kind(client))
        points = _measured(profiler, wish, shown=not as_json)
    took = time.monotonic() - begun
    model = str(spec.params.get("model") or spec.profile or spec.name)
    write_profile(target, model, points)
    facts = _facts(model, profiler.kind, took, points)
    write_facts(target, facts)
    if as_json:
        print_json({**facts, "profile": str(target)})
        return
    print_list(_table(points))
    say(f"{target} is written. Measuring took {took:.0f} s in all.")


def _read(file: str) -> tuple[dict[str, Any], JobSpec]:
    """The one job of a file, as it is written and as it is understood."""
    from tenuto.wire.api import JobIn
    from tenuto.wire.job_file import read_jobs

    jobs = [job.checked() for job in read_jobs(file)]
    if len(jobs) != 1:
        raise InputInvalid(f"{file} holds {len(jobs)} jobs", remedy="Measure one at a time")
    return dict(jobs[0].values), JobIn.model_validate(jobs[0].values).spec()


def _quiet(_: str) -> None:
    """Programs want the result only."""


def _numbers(text: str | None, field: str) -> list[int]:
    """Whole numbers as a user lists them, ascending."""
    if text is None:
        return []
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words or not all(word.isascii() and word.isdigit() and int(word[:10]) > 0 for word in words):
        raise InputInvalid(f"{text!r} is no list of numbers", remedy="Write them like 1,2,4", field=field)
    if field == "workers" and max(map(int, words)) > _MOST:
        raise InputInvalid(f"{text!r} has too many workers", remedy=f"Use {_MOST} at most", field=field)
    return sorted({int(word) for word in words})


@contextmanager
def _platform(local: bool, server: str | None, slots: int) -> Iterator[PlainClient]:
    """The running platform; one of our own if that is wished, or if none runs here and none is named."""
    if local and server:
        raise InputInvalid("--local and --server exclude each other", remedy="Leave one of them out")
    if server or (not local and Home.named_by(os.environ).is_served()):
        with connect(server) as client:
            _await_slots(client, 1)
            yield client
        return
    from tenuto.cli.demo_stage import platform

    say("Measuring on a platform of its own, which is gone afterwards.")
    with platform(nodes=1, slots=slots) as client:
        _await_slots(client, slots)
        yield client


def _await_slots(client: PlainClient, slots: int) -> None:
    """Give nodes that are just joining a while."""
    give_up = time.monotonic() + _JOINS
    while client.cluster()["slots"]["usable"] < slots and time.monotonic() < give_up:
        time.sleep(_LOOK)


def _kind(client: PlainClient) -> str:
    """The kind of device that the cluster has; of several, the one that comes first."""
    kinds = [slot["kind"] for node in client.nodes()["items"] for slot in node["slots"]]
    return kinds[0] if kinds else "cpu"


def _measured(profiler: Profiler, wish: Wish, *, shown: bool) -> list[Point]:
    """All points, with a bar that shows how many are done where people look."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    out = console(error=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    points: list[Point] = []
    with Progress(*columns, console=out, transient=True, disable=not (shown and out.is_terminal)) as bar:
        task = bar.add_task("starting", total=len(wish.sizes) * len(wish.batches))
        if shown and out.is_terminal:
            profiler.tell = lambda what: bar.update(task, description=what)
        for point in profiler.measure(wish):
            points.append(point)
            bar.advance(task)
    return points


def _facts(model: str, kind: str, took: float, points: Sequence[Point]) -> dict[str, Any]:
    return {
        "model": model,
        "device": kind,
        "at": time.time(),
        "seconds": round(took, 3),
        "points": [_point(point) for point in points],
    }


def _point(point: Point) -> dict[str, Any]:
    told = asdict(point)
    told["steps_per_second"] = told.pop("rate")
    return told


def _table(points: Sequence[Point]) -> Any:
    alone = {point.batch: point for point in reversed(points)}
    columns = ("global batch", "workers", "steps/s", "speed-up", "measured for", "took")
    rows = [
        (
            str(point.batch),
            str(point.workers),
            f"{point.rate:.4g}",
            f"{point.rate / alone[point.batch].rate:.2f}",
            f"{point.seconds:.1f} s",
            f"{point.spent:.1f} s",
        )
        for point in points
    ]
    return table_of(columns, rows)
