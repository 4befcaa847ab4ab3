"""`tenuto doctor`: what is here, what is missing and how to get it, on this machine and on every node."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tenuto.cli.connect import JsonOption, ServerOption, connect
from tenuto.cli.home import Home
from tenuto.cli.printing import console, print_json, print_list, remark_if_slow, table_of
from tenuto.client.whereabouts import URL
from tenuto.doctor.finding import Finding, Status, is_well, worst_first
from tenuto.errors import TenutoError

if TYPE_CHECKING:
    from tenuto.client.plain import Json, PlainClient

EXAMPLES = (
    "Examples: tenuto doctor · tenuto doctor --all-nodes --path /data --path /envs · tenuto doctor --json"
)
NOT_WELL = 1
_AT_ONCE = 100
"""Nodes that are asked by one request."""
_SILENT = {
    "late": (Status.PROBLEM, "has not answered in time", "Ask again with a longer --timeout"),
    "offline": (Status.WARNING, "is offline", "Start its supervisor again, or forget it: tenuto node rm"),
    "unable": (
        Status.WARNING,
        "does not answer this: its tenuto is older",
        "Install the same version there, and start its supervisor again",
    ),
}


def doctor(
    all_nodes: Annotated[
        bool, typer.Option("--all-nodes", help="Let every node of the running platform look at itself, too.")
    ] = False,
    paths: Annotated[
        list[Path] | None,
        typer.Option("--path", metavar="DIR", help="A directory that must be usable; repeatable."),
    ] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", min=1, max=60, help="Seconds to wait for the nodes.")
    ] = 30.0,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell what is here, what is missing and how to get it. Nothing is changed.

    Ends with 1 if something will not work as it is; parts that are missing and optional are only listed.
    """
    directories = [path.expanduser().absolute() for path in paths or ()]
    with remark_if_slow("Looking around; what lies on a file server may take a while."):
        here = list(_here(directories, server))
        nodes = _nodes(here, directories, timeout, server) if all_nodes else []
    found = {"this machine": here} | {node: findings for node, _, findings in nodes}
    well = all(map(is_well, found.values()))
    if as_json:
        print_json(
            {
                "well": well,
                "findings": [asdict(one) for one in here],
                "nodes": [
                    {"node": node, "answer": answer, "findings": [asdict(one) for one in findings]}
                    for node, answer, findings in nodes
                ],
            }
        )
    else:
        _print(found)
    if not well:
        raise typer.Exit(NOT_WELL)


def _here(directories: Sequence[Path], server: str | None) -> Iterator[Finding]:
    from tenuto.cli.doctor_home import find_home, find_server, no_server
    from tenuto.cli.doctor_influx import find_influx
    from tenuto.doctor.examine import examine

    home = Home.named_by(os.environ)
    yield from find_home(home)
    try:
        client = connect(server)
    except TenutoError:
        if server:
            raise
        yield no_server(home)
    else:
        with client:
            client.patience = 0.0
            yield from find_server(client)
            yield from find_influx(client)
    yield from examine(directories)


def _nodes(
    here: list[Finding], paths: Sequence[Path], timeout: float, server: str | None
) -> list[tuple[str, str, list[Finding]]]:
    """What each node says of itself; that there is nobody to ask is a problem of this machine."""
    try:
        with connect(server) as client:
            answers = list(_asked(client, [str(path) for path in paths], timeout))
    except TenutoError as error:
        told, remedy = str(getattr(error, "problem", error)), f"tenuto up, or name a server in {URL}"
        here.append(Finding(topic="nodes", name="nodes", status=Status.PROBLEM, told=told, remedy=remedy))
        return []
    if not answers:
        told, remedy = (
            "none has joined yet",
            "Ask again in a moment, or let one join: tenuto node join --help",
        )
        here.append(Finding(topic="nodes", name="nodes", status=Status.WARNING, told=told, remedy=remedy))
    return [(one["node"], one["answer"], _findings(one)) for one in answers]


def _asked(client: PlainClient, paths: Sequence[str], timeout: float) -> Iterator[Json]:
    cursor: str | None = None
    while True:
        page = client.nodes(cursor=cursor, limit=_AT_ONCE)
        if names := [node["name"] for node in page["items"]]:
            yield from client.check_nodes(names, paths, timeout)["items"]
        if (cursor := page["next"]) is None:
            return


def _findings(answer: Json) -> list[Finding]:
    if answer["answer"] != "answered":
        status, told, remedy = _SILENT[answer["answer"]]
        return [Finding(topic="node", name=answer["node"], status=status, told=told, remedy=remedy)]
    return [Finding(**{**one, "status": Status(one["status"])}) for one in answer["findings"]]


def _print(found: dict[str, list[Finding]]) -> None:
    """One table for each machine, problems first."""
    out = console()
    for number, (machine, findings) in enumerate(found.items()):
        if len(found) > 1:
            out.print(f"{'' if number == 0 else chr(10)}{machine}", markup=False, style="bold")
        rows = [(str(one.status), one.topic, one.name, one.told, one.remedy) for one in worst_first(findings)]
        print_list(table_of(("status", "about", "what", "found", "what to do"), rows))
