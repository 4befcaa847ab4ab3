"""Whose numbers are meant, and from when on: the options that `tenuto metrics` and its export share."""

from __future__ import annotations

from typing import Annotated

import typer

JobOrNone = Annotated[
    str, typer.Argument(metavar="JOB", help="A job's id, the beginning of it, or its name.")
]
NodeOption = Annotated[
    str | None, typer.Option("--node", metavar="NAME", help="A node and its GPUs instead of a job.")
]
ClusterOption = Annotated[bool, typer.Option("--cluster", help="The whole instead of a job.")]
SinceOption = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="WHEN",
        help="From then on: 1h ago, or a date and time; a job's start, if not said.",
    ),
]
