"""`tenuto policies`: which policies there are, and what can be set."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from tenuto.cli.printing import print_facts, print_json, say
from tenuto.plugins import lack, survey
from tenuto.policy.base import Policy
from tenuto.tuning import settings_of


def policies(
    settings: Annotated[
        bool, typer.Option("--settings", help="List what can be set with `tenuto replay --set`.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """List the policies, one sentence each; those that cannot be used are named on standard error."""
    found = survey()
    known = found.policies.values()
    if as_json:
        print_json([_row(policy) for policy in known])
    else:
        print_facts(_settings_table(known) if settings else _table(known))
    lacks = (problem for policy in known if (problem := lack(policy)))
    for problem in (*found.problems, *lacks):
        say(f"tenuto: {problem}")


def _row(policy: Policy) -> dict[str, Any]:
    return {
        "name": policy.name,
        "summary": policy.summary,
        "promises": policy.promises,
        "aliases": list(policy.aliases),
        "requires": list(policy.requires),
        "settings": [_as_default(asdict(setting)) for setting in settings_of(policy)],
    }


def _as_default(setting: dict[str, Any]) -> dict[str, Any]:
    return {"default" if key == "value" else key: value for key, value in setting.items()}


def _table(known: Iterable[Policy]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("policy", no_wrap=True)
    table.add_column("what it does")
    table.add_column("promises")
    table.add_column("also called", no_wrap=True)
    for policy in known:
        promises = "yes" if policy.promises else "no"
        # As text, not markup: a summary may contain square brackets.
        table.add_row(policy.name, Text(policy.summary), promises, ", ".join(policy.aliases))
    return table


def _settings_table(known: Iterable[Policy]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("setting", no_wrap=True)
    table.add_column("default")
    table.add_column("what it means")
    for policy in known:
        for setting in settings_of(policy):
            table.add_row(f"{policy.name}.{setting.name}", f"{setting.value}", Text(setting.description))
    return table
