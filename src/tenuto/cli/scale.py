"""`tenuto scale`: a user's fixed number of workers."""

from __future__ import annotations

import re
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from tenuto.cli.connect import JobArgument, JsonOption, ServerOption, connect
from tenuto.cli.printing import LOOKS_AHEAD, console, print_json, remark_if_slow
from tenuto.errors import InputInvalid

EXAMPLES = (
    "Examples: tenuto scale train 4 · tenuto scale train +1 --node node-1 · tenuto scale train -1 · "
    "tenuto scale train auto"
)
_MINUS = "\N{MINUS SIGN}"
_SIZE = re.compile(rf"(?P<sign>[+{_MINUS}-]?)(?P<number>\d{{1,6}})", re.ASCII)


class ScaleCommand(TyperCommand):
    """Takes `-1` for a number and not for an option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Write a negative number with a real minus sign."""
        return super().parse_args(ctx, [re.sub(r"^-(?=\d+$)", _MINUS, arg, flags=re.ASCII) for arg in args])


def scale(
    job: JobArgument,
    size: Annotated[
        str, typer.Argument(metavar="N|+N|-N|auto", help="So many, more, fewer, or as the policy likes.")
    ],
    node: Annotated[
        str | None, typer.Option("--node", metavar="NODE", help="On this node; N means all workers there.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Even if a promise breaks by it.")] = False,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fix a job's number of workers, or leave it to the policy again.

    Any number within the job's range will do. One that would break a promise is refused unless --force is given;
    then the breach is recorded with its cause.
    """
    wish = wish_of(size, node) | ({"force": True} if force else {})
    with connect(server) as client, remark_if_slow(LOOKS_AHEAD):
        scaled = client.scale(job, wish)
    if as_json:
        print_json(scaled)
        return
    console().print(f"{scaled['name']} ({scaled['id']}) is to have {_told(scaled)}.", markup=False)


def _told(scaled: dict[str, Any]) -> str:
    if scaled["pin"] is None:
        return "as many workers as the policy gives it"
    size = scaled["pin"]["workers"]
    told = "1 worker" if size == 1 else f"{size} workers"
    return f"{told}; how fast they are is interpolated" if size in scaled["interpolated"] else told


def wish_of(size: str, node: str | None) -> dict[str, Any]:
    """The request that a size on the command line stands for."""
    if size == "auto":
        if node is not None:
            raise InputInvalid("auto chooses the nodes, too", remedy="Leave --node out")
        return {"workers": "auto"}
    found = _SIZE.fullmatch(size)
    if found is None:
        raise InputInvalid(
            f"{size!r} is no number of workers", remedy="Write 4, +1, -1 or auto", field="workers"
        )
    number = int(found["number"])
    if found["sign"]:
        delta = number if found["sign"] == "+" else -number
        return {"delta": delta} if node is None else {"delta": delta, "node": node}
    return {"workers": number} if node is None else {"nodes": {node: number}}
