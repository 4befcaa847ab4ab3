"""`tenuto policies`: which policies there are."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from tenuto.policy.registry import POLICIES


def policies(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """List the policies, one sentence each."""
    if as_json:
        rows = [
            {
                "name": policy.name,
                "summary": policy.summary,
                "promises": policy.promises,
                "aliases": list(policy.aliases),
            }
            for policy in POLICIES.values()
        ]
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
        return
    table = Table("policy", "what it does", "promises", "also called", box=None, pad_edge=False)
    for policy in POLICIES.values():
        promises = "yes" if policy.promises else "no"
        table.add_row(policy.name, policy.summary, promises, ", ".join(policy.aliases))
    Console().print(table)
