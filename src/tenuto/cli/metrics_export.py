"""`tenuto metrics export`: numbers over time in a file for other programs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tenuto.cli.connect import JsonOption, ServerOption, connect
from tenuto.cli.foresight import counted
from tenuto.cli.metrics_options import ClusterOption, JobOrNone, NodeOption, SinceOption
from tenuto.cli.metrics_time import since_of
from tenuto.cli.printing import print_json, say
from tenuto.errors import InputInvalid
from tenuto.suggest import did_you_mean

if TYPE_CHECKING:
    from rich.progress import Progress

    from tenuto.cli.metrics_files import Piece
    from tenuto.client.plain import Json, PlainClient

POINTS = 10_000
"""Of a subject that are asked for at a time."""
FORMATS = ("csv", "parquet", "tensorboard", "influx")


def export(
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="PATH", help="The file to write; for tensorboard a directory."),
    ],
    job: JobOrNone = "",
    node: NodeOption = None,
    cluster: ClusterOption = False,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="csv, parquet, tensorboard or influx; as the file is named, if not said.",
        ),
    ] = None,
    since: SinceOption = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="WHEN", help="Before then; now, if not said.")
    ] = None,
    step: Annotated[
        str,
        typer.Option(
            "--step", metavar="SPAN", help="Means of so long, such as 60 or 5m, instead of all points."
        ),
    ] = "raw",
    force: Annotated[bool, typer.Option("--force", help="Overwrite what is there.")] = False,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the numbers of a job, a node or the cluster over time to a file.

    CSV and Parquet have a line for each value that is known; TensorBoard gets a run for each worker, GPU and so forth;
    an InfluxDB gets the lines that it would have been sent.
    """
    from tenuto.cli.metrics_files import check_free, opened

    if [bool(job), node is not None, cluster].count(True) != 1:
        raise InputInvalid(
            "say whose numbers are meant, and only once",
            remedy="Write tenuto metrics export JOB, --node NAME or --cluster",
        )
    chosen = _format(form, out)
    check_free(out, chosen, force=force)
    subjects = values = 0
    with connect(server) as client:
        export_ = _Export(client, (job, node), (since, until), step)
        with opened(out, chosen, export_.job) as sink, _bar(export_.count) as bar:
            line = bar.add_task("", total=export_.count)
            for subject in export_.subjects:
                subjects += 1
                for piece in export_.pieces(subject):
                    sink.add(piece)
                    values += piece.known
                bar.advance(line)
    if as_json:
        print_json({"out": str(out), "format": chosen, "subjects": subjects, "values": values})
    else:
        say(f"{out} has {values:,} values of {counted(subjects, 'subject')}.")


def _format(named: str | None, out: Path) -> str:
    if named is None:
        return "parquet" if out.suffix == ".parquet" else "csv"
    if named not in FORMATS:
        raise InputInvalid(
            f"there is no format {named[:60]!r}",
            remedy=f"{did_you_mean(named, FORMATS)}Known are {', '.join(FORMATS)}",
            field="format",
        )
    return named


class _Export:
    """What is asked for, with its time fixed: a long export must not wander off."""

    def __init__(
        self,
        client: PlainClient,
        named: tuple[str, str | None],
        when: tuple[str | None, str | None],
        step: str,
    ) -> None:
        self._client = client
        job, node = named
        self._kind = "job" if job else "cluster" if node is None else "node"
        self._name = node or ""
        self.job = ""
        """What the job is called."""
        since, until = (None if one is None else _zoned(one) for one in when)
        if job:
            found = client.job(job)
            self._name, self.job = found["id"], found["name"]
            since, until = since or found["submitted_at"], until or since_of(found)[1]
        asked = {"name": self._name, "since": since, "until": until, "step": step}
        first = client.numbers(self._kind, **asked, points=1, limit=1)
        self._query = {**asked, "since": first["since"], "until": first["until"]}
        self.subjects = list(self._subjects())
        self.count = len(self.subjects)

    def pieces(self, subject: Json) -> Iterator[Piece]:
        """All points of one subject."""
        from tenuto.cli.metrics_files import Piece

        since = self._query["since"]
        while since is not None:
            asked = {**self._query, "name": subject["name"], "since": since}
            page = self._client.numbers(self._kind, **asked, part=subject["part"], points=POINTS)
            item = next((one for one in page["items"] if one["part"] == subject["part"]), None)
            if item is None:
                return
            yield Piece(item["kind"], item["name"], item["part"], item["at"], item["values"])
            since = item["next"]

    def _subjects(self) -> Iterator[Json]:
        cursor = None
        while True:
            page = self._client.subjects(self._kind, name=self._name, limit=500, cursor=cursor)
            yield from page["items"]
            cursor = page["next"]
            if cursor is None:
                return


def _zoned(written: str) -> str:
    from tenuto.wire.job_file import in_local_zone

    return in_local_zone(written)


def _bar(count: int) -> Progress:
    """A line on standard error that moves with the subjects; nothing where nobody watches."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from tenuto.cli.console import Console

    where = Console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("subjects"), TimeRemainingColumn())
    return Progress(*columns, console=where, transient=True, disable=not where.is_terminal or count < 2)
