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
from tenuto.cli.printing import console, print_json, print_list, say, table_of
from tenuto.client.whereabouts import TOKEN, checked_url, read_secret
from tenuto.errors import InputInvalid, NotAllowed
from tenuto.wire.credential_file import read_credential

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


@app.command(epilog="Example: tenuto node credentials --json")
def credentials(server: ServerOption = None, as_json: JsonOption = False) -> None:
    """List the credentials of nodes: which are in use, wait for approval, or were revoked."""
    with connect(server) as client:
        listed = client.credentials()
    if as_json:
        print_json(listed)
        return
    rows = (
        (one["id"], one["node"], one["state"], one["created_at"], one["used_at"] or "never")
        for one in listed["items"]
    )
    print_list(table_of(("id", "node", "state", "created", "last used"), rows))


@app.command()
def approve(name: NameArgument, server: ServerOption = None, as_json: JsonOption = False) -> None:
    """Let a node take part that has joined and waits for approval (setting nodes.approval)."""
    with connect(server) as client:
        changed = client.approve_node(name)
    _tell_credentials(changed, f"{name} is approved; its supervisor is let in within seconds.", as_json)


@app.command()
def rotate(name: NameArgument, server: ServerOption = None, as_json: JsonOption = False) -> None:
    """Have a node replace its credential by a new one at its next report."""
    with connect(server) as client:
        changed = client.rotate_node(name)
    _tell_credentials(changed, f"{name} replaces its credential at its next report.", as_json)


@app.command()
def revoke(name: NameArgument, server: ServerOption = None, as_json: JsonOption = False) -> None:
    """Revoke a node's credential at once: the machine is not listened to before it joins again."""
    with connect(server) as client:
        changed = client.revoke_node(name)
    _tell_credentials(changed, f"The credential of {name} is revoked.", as_json)


def _tell_credentials(changed: Json, sentence: str, as_json: bool) -> None:
    if as_json:
        print_json(changed)
    else:
        console().print(sentence, markup=False)


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
            envvar=TOKEN,
            help="The token for joining. Others on this machine can read it here; better use a file.",
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="A file with the token for joining: a copy of node-token in the server's home. Not needed again "
            "once the node has joined."
        ),
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
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    joined = bool(read_credential(place))
    secret = None if joined and not token else _secret(token, token_file)
    if secret is not None:
        token_file = place / "token"
        write_private(token_file, secret + "\n")
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
            token_file=None if token_file is None else token_file.absolute(),
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
            "a node needs a token to join",
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
