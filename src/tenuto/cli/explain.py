"""`tenuto explain`: why a job waits, was declined or shrunk, and what would help."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from tenuto.cli.connect import JobArgument, JsonOption, ServerOption, connect
from tenuto.cli.foresight import local, stretches
from tenuto.cli.printing import LOOKS_AHEAD, console, print_json, remark_if_slow
from tenuto.cli.verdict import has_become

if TYPE_CHECKING:
    from tenuto.cli.console import Console
    from tenuto.client.plain import Json

EXAMPLES = "Examples: tenuto explain train · tenuto explain 4f21 --json"


def explain(job: JobArgument, server: ServerOption = None, as_json: JsonOption = False) -> None:
    """Tell why a job waits, was declined or shrunk, and what would help.

    Every change that is named was tried in thought: the next round would grant it. Nothing is changed.
    """
    with connect(server) as client, remark_if_slow(LOOKS_AHEAD):
        told = client.explain(job)
    if as_json:
        print_json(told)
    else:
        _print(told, console())


def _print(told: Json, out: Console) -> None:
    now = datetime.now().astimezone()
    out.print(f"{told['name']} ({told['id']}) {has_become(told['state'])}.", markup=False, soft_wrap=True)
    for sentence in local(told["sentences"], now):
        out.print(f"  {sentence}", markup=False, soft_wrap=True)
    if len(told["foreseen"]) > 1:
        out.print(f"  Foreseen: {stretches(told['foreseen'], now)}.", markup=False, soft_wrap=True)
    if not told["remedies"]:
        return
    out.print("What would help:", markup=False)
    for remedy in told["remedies"]:
        [sentence] = local([remedy["sentence"]], now)
        how = f"  ({remedy['command']})" if remedy["command"] else ""
        out.print(f"  - {sentence}{how}", markup=False, soft_wrap=True)
