"""`tenuto token`: list, create and revoke the tokens with which programs and people use the API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tenuto.cli.connect import JsonOption, ServerOption, connect
from tenuto.cli.printing import console, print_json, print_list, say, table_of
from tenuto.errors import InputInvalid
from tenuto.wire.quantities import Unusable, duration

if TYPE_CHECKING:
    from tenuto.client.plain import Json

app = typer.Typer(
    name="token", help="List, create and revoke tokens.", no_args_is_help=True, rich_markup_mode=None
)


COLUMNS = ("id", "kind", "user", "name", "state", "created", "last used", "expires")


@app.command(name="ls", epilog="Example: tenuto token ls --json")
def list_tokens(server: ServerOption = None, as_json: JsonOption = False) -> None:
    """List the tokens: whose they are, what for, and when they were last used."""
    with connect(server) as client:
        tokens = client.tokens()
    if as_json:
        print_json(tokens)
        return
    print_list(table_of(COLUMNS, map(_row, tokens["items"])))


@app.command(epilog="Example: tenuto token create --name ci --expires 30d")
def create(
    name: Annotated[str, typer.Option(help="What it is for.")] = "",
    expires: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="After this time it ends, such as 12h or 30d; else never."),
    ] = None,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create a token; its secret is printed this once."""
    with connect(server) as client:
        made = client.create_token(name, None if expires is None else _seconds(expires))
    if as_json:
        print_json(made)
        return
    say(f"Token {made['token']['id']} is shown this once; put it into TENUTO_TOKEN where it is used:")
    console().print(made["secret"], markup=False)


@app.command(epilog="Example: tenuto token revoke 1f2e3d4c5b6a")
def revoke(
    token: Annotated[str, typer.Argument(metavar="ID", help="As tenuto token ls shows it.")],
    yes: Annotated[
        bool, typer.Option("--yes", help="Even if it is the one with which you revoke it.")
    ] = False,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Revoke a token at once; browsers that were logged in with it are logged out."""
    with connect(server) as client:
        revoked = client.revoke_token(token, force=yes)
    if as_json:
        print_json(revoked)
    else:
        console().print(f"Token {token} is revoked.", markup=False)


def _row(token: Json) -> tuple[str, ...]:
    return (
        *(token["id"] + (" (this one)" if token["current"] else ""), token["kind"], token["user"]),
        *(token["name"], token["state"], token["created_at"]),
        *(token["used_at"] or "never", token["expires_at"] or "never"),
    )


def _seconds(text: str) -> float:
    try:
        return duration(text)
    except Unusable as error:
        raise InputInvalid(error.problem, remedy=error.remedy, field="expires") from None
