"""`tenuto workloads`: the models that traces name, and job files that train something of their kind."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
import yaml
from rich.table import Table

from tenuto.cli.printing import print_facts, print_json, write_data
from tenuto.workloads.job import Wanted, job_file
from tenuto.workloads.registry import WORKLOADS, data_of, workload_called

EXAMPLES = "Example: tenuto workloads resnet50 --steps 500 > job.yaml && tenuto submit job.yaml"


def workloads(
    name: Annotated[str | None, typer.Argument(help="Print a job file that trains this one.")] = None,
    steps: Annotated[int, typer.Option("--steps", min=1, help="How many steps to train.")] = 100,
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="DIR", help="Train with this data, not with synthetic one."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """List the models that traces name, or print a job file that trains one."""
    if name is not None:
        workload = workload_called(name)
        job = job_file(workload, Wanted(steps=steps, data=data_of(workload, data)))
        if as_json:
            print_json(job)
        else:
            write_data(yaml.safe_dump(job, sort_keys=False, allow_unicode=True))
    elif as_json:
        print_json([asdict(workload) for workload in WORKLOADS.values()])
    else:
        print_facts(_table())


def _table() -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("workload", no_wrap=True)
    table.add_column("stands for")
    table.add_column("what is trained")
    table.add_column("batch", justify="right")
    for workload in WORKLOADS.values():
        table.add_row(workload.name, workload.stands_for, workload.standin, str(workload.batch))
    return table
