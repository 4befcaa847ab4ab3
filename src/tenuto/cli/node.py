"""`tenuto node`: other machines join the platform, and leave it again."""

from __future__ import annotations

import logging
import os
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tenuto.cli.connect import JsonOption, ServerOption, connect
from tenuto.cli.home import Home, write_private
from tenuto.cli.node_usage import NameArgument, gpustat, list_nodes, show_node
from tenuto.cli.pairs import pairs
from tenuto.cli.printing import console, print_json, say
from tenuto.client.whereabouts import TOKEN, checked_url, read_secret
from tenuto.errors import InputInvalid, NotAllowed

if TYPE_CHECKING:
    from tenuto.client.plain import Json

app = typer.Typer(
    name="node",
    help="See the nodes, let machines join and leave.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)


app.command(name="ls", epilog="Example: tenuto node ls --json")(list_nodes)
app.command(name="show", epilog="Example: tenuto node show node-0")(show_node)
app.command(epilog="Examples: tenuto node gpustat node-0 -cp · tenuto node gpustat node-0 --json")(gpustat)


@app.command()
def drain(name: NameArgument, server: ServerOption = None, as_json: JsonOption = False) -> None:
    """Let a node keep no worker and get none: its jobs go on elsewhere."""
    with connect(server) as client:
        _tell(client.drain(name), as_json)


@app.command()
def undrain(name: NameArgument, server: ServerOption = None, as_json: JsonOption = False) -> None:
    """Let a drained node be used again."""
    with connect(server) as client:
        _tell(client.undrain(name), as_json)


@app.command(name="rm")
def remove(name: NameArgument, server: ServerOption = None, as_json: JsonOption = False) -> None:
    """Forget a node that has no workers; its supervisor ends."""
    with connect(server) as client:
        removed = client.remove_node(name)
    if as_json:
        print_json(removed)
    else:
        console().print(f"{name} is forgotten; its supervisor ends.", markup=False)


def _tell(node: Json, as_json: bool) -> None:
    if as_json:
        print_json(node)
        return
    busy = f" It still has workers of {', '.join(node['jobs'])}." if node["jobs"] else ""
    console().print(f"{node['name']} is {node['state']}.{busy}", markup=False)


@app.command(
    epilog="Example: tenuto node join http://gpu-box:8080 --token-file node-token --name desk",
)
def join(
    url: Annotated[str, typer.Argument(metavar="URL", help="The server's address, as tenuto up prints it.")],
    token: Annotated[
        str | None,
        typer.Option(
            envvar=TOKEN, help="The node token. Others on this machine can read it here; better use a file."
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(help="A file with the node token: a copy of node-token in the server's home."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="The node's name; else this machine's.")] = None,
    slots: Annotated[
        int | None,
        typer.Option(min=1, max=1024, help="CPU slots; else the GPUs or processors of this machine."),
    ] = None,
    directory: Annotated[
        Path | None,
        typer.Option("--dir", help="Where the supervisor keeps its records; else in the home directory."),
    ] = None,
    address: Annotated[
        str, typer.Option(help="Where workers on other nodes reach this one; else it is found out.")
    ] = "",
    label: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A label; repeatable.")] = None,
) -> None:
    """Let this machine be a node of a server; stays until it is told to leave.

    Ctrl-C ends the supervisor and leaves its workers alone: start it again, and it finds them. To leave for good use
    `tenuto node drain` and `tenuto node rm`.
    """
    server, called = checked_url(url), _checked_name(name or socket.gethostname())
    home = Home.named_by(os.environ)
    place = directory or home.path / "joined" / called
    labels = pairs(label or (), "--label")
    secret = _secret(token, token_file)
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    if secret is not None:
        token_file = place / "token"
        write_private(token_file, secret + "\n")
    assert token_file is not None
    os.environ.pop(TOKEN, None)  # workers must not inherit it

    from tenuto.engines.supervisor.log_setup import log_to_stderr
    from tenuto.engines.supervisor.options import SupervisorOptions
    from tenuto.engines.supervisor.run import run

    log_to_stderr(logging.INFO)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    say(f"Node {called} joins {server}. Ctrl-C ends the supervisor and leaves its workers alone.")
    code = run(
        SupervisorOptions(
            directory=place,
            node=called,
            server=server,
            token_file=token_file.absolute(),
            slots=slots,
            address=address,
            labels=labels,
        )
    )
    raise typer.Exit(code)


def _secret(token: str | None, token_file: Path | None) -> str | None:
    """The secret that was given in words; None if it is in a file of the user's own."""
    if token_file is not None:
        if read_secret(token_file) is None:
            raise InputInvalid(
                f"there is no token in {token_file}", remedy="Copy node-token from the server's home there"
            )
        return None
    if not token:
        raise NotAllowed(
            "a node needs a token",
            remedy=f"Give --token-file, or put it into the environment variable {TOKEN}",
        )
    return token.strip()


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise InputInvalid(
            f"{name!r} is no name of a node",
            remedy="Use up to 100 letters, digits and . _ - with a letter or digit at the beginning",
            field="name",
        )
    return name
