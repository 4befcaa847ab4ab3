"""`tenuto hosts`: a job's allocation as Horovod's host discovery knows it, out and in."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tenuto.cli.connect import JobArgument, JsonOption, ServerOption, connect
from tenuto.cli.printing import LOOKS_AHEAD, console, print_json, remark_if_slow, say, write_data
from tenuto.errors import InputInvalid, TenutoError
from tenuto.model.phase import ENDED
from tenuto.wire.hosts_file import as_script, on_nodes, parse_hosts, text_of

if TYPE_CHECKING:
    from tenuto.client.plain import Json, PlainClient

EXAMPLES = (
    "Examples: tenuto hosts train · tenuto hosts train --script > discover.sh · "
    "tenuto hosts train --apply discover.sh --watch"
)
LOOK_EVERY = 0.5


def hosts(
    job: JobArgument,
    script: Annotated[bool, typer.Option("--script", help="As a script that prints the lines.")] = False,
    names: Annotated[bool, typer.Option("--names", help="The names of nodes, not their addresses.")] = False,
    apply: Annotated[
        Path | None,
        typer.Option("--apply", metavar="FILE", help="Give the job the workers that this file lists."),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="With --apply: again whenever the file is edited.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", "-f", help="With --apply: even if a promise breaks by it.")
    ] = False,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print where a job's workers are, as Horovod's host discovery wants it.

    One `host:slots` line for each machine. With --apply the other way round: the file's lines become the job's
    allocation. A script is read, never run.
    """
    if watch and apply is None:
        raise InputInvalid("--watch needs a file", remedy="Name it with --apply")
    with connect(server) as client:
        if apply is not None:
            content = text_of(apply)
            scaled = _apply(client, job, parse_hosts(content, str(apply)), force=force)
            if as_json:
                print_json(scaled)
            else:
                _tell(scaled)
            if watch:
                _watch(client, scaled["id"], apply, content, force=force)
            return
        found = client.job(job)
        lines = client.hosts(found["id"])["lines"] if not names else _by_name(found["allocation"])
    if as_json:
        print_json({"lines": lines})
    else:
        write_data(as_script(lines) if script else "".join(f"{line}\n" for line in lines))


def _by_name(allocation: str) -> list[str]:
    return allocation.split(",") if allocation else []


def _apply(client: PlainClient, job: str, hosts: Mapping[str, int], *, force: bool) -> Json:
    nodes = on_nodes(hosts, client.nodes()["items"])
    with remark_if_slow(LOOKS_AHEAD):
        return client.scale(job, {"nodes": nodes, "force": True} if force else {"nodes": nodes})


def _tell(scaled: Json) -> None:
    told = ",".join(f"{node}:{workers}" for node, workers in scaled["pin"]["nodes"].items())
    console().print(f"{scaled['name']} ({scaled['id']}) is to have {told}.", markup=False)


def _watch(client: PlainClient, job: str, file: Path, applied: str, *, force: bool) -> None:
    """Apply the file at every edit, until the job ends or somebody presses Ctrl-C; a mistake in it changes nothing."""
    while client.job(job)["state"] not in ENDED:
        time.sleep(LOOK_EVERY)
        try:
            content = text_of(file)
            if content != applied:
                applied = content
                _tell(_apply(client, job, parse_hosts(content, str(file)), force=force))
        except TenutoError as error:
            say(f"tenuto: {error}. The job stays as it is")
