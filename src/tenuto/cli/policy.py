"""`tenuto policy`: who decides, and by which settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tenuto.cli.connect import JsonOption, ServerOption, connect
from tenuto.cli.pairs import values
from tenuto.cli.printing import LOOKS_AHEAD, facts_of, print_facts, print_json, remark_if_slow
from tenuto.cli.shadow import EXAMPLES, shadow
from tenuto.errors import InputInvalid

if TYPE_CHECKING:
    from tenuto.client.plain import Json

_SECONDS = ("interval", "start_cost", "rescale_cost", "lease", "quantum")
"""Settings that are times."""

app = typer.Typer(
    name="policy",
    help="See and change the policy that decides.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command(epilog="Example: tenuto policy show --json")
def show(server: ServerOption = None, as_json: JsonOption = False) -> None:
    """Tell which policy is in force, and its settings."""
    with connect(server) as client:
        _print(client.policy(), as_json)


@app.command(
    name="set",
    epilog="Examples: tenuto policy set edf · tenuto policy set --set margin=0.2 --set interval=5m",
)
def set_policy(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A name that `tenuto policies` lists.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting; repeatable.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", "-f", help="Even if promises are given up by it.")
    ] = False,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put another policy or other settings in force.

    If that would break promises, they are listed and nothing is changed, unless --force is given.
    """
    wish: Json = {} if name is None else {"name": name}
    if changed := values(settings or ()):
        wish["settings"] = changed
    if not wish:
        raise InputInvalid("nothing is to be changed", remedy="Name a policy, or give --set KEY=VALUE")
    with connect(server) as client, remark_if_slow(LOOKS_AHEAD):
        changed_policy = client.set_policy({**wish, "force": True} if force else wish)
    _print(changed_policy, as_json)


app.command(epilog=EXAMPLES)(shadow)


def _print(policy: Json, as_json: bool) -> None:
    if as_json:
        print_json(policy)
        return
    facts = {
        "policy": policy["name"],
        "in a sentence": policy["summary"],
        "promises": "yes" if policy["promises"] else "no",
    }
    settings = {key: _written(key, value) for key, value in policy["settings"].items()}
    cost = {"a rescale costs": f"{policy['rescale_cost']:.3g} s ({policy['rescale_cost_from']})"}
    print_facts(facts_of(facts | settings | cost))


def _written(key: str, value: object) -> str:
    if key in _SECONDS and isinstance(value, int | float):
        return f"{value:g} s"
    return f"{value:g}" if isinstance(value, float) else str(value)
