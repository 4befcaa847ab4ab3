"""`tenuto whatif`: before and after of every promise and ETA, on the live state, with nothing changed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tenuto.cli.connect import JsonOption, ServerOption, connect
from tenuto.cli.dry_run import blamed
from tenuto.cli.foresight import ROUGHLY, counted, differences_table, local, planned_facts
from tenuto.cli.pairs import pairs, values
from tenuto.cli.printing import (
    LOOKS_AHEAD,
    console,
    facts_of,
    print_facts,
    print_json,
    print_list,
    remark_if_slow,
)
from tenuto.errors import InputInvalid
from tenuto.wire.job_file import WrittenJob, in_local_zone, in_order, read_jobs

if TYPE_CHECKING:
    from tenuto.cli.console import Console
    from tenuto.client.plain import Json

EXAMPLES = (
    "Examples: tenuto whatif --add job.yaml · tenuto whatif --lose node-1 · tenuto whatif --add-nodes 2x8 · "
    "tenuto whatif --policy themis --all · tenuto whatif --deadline train=+2h --cancel other"
)
NONE = "none"
_NODES = re.compile(r"(\d{1,6})x(\d{1,6})", re.ASCII)
_ALL = 5000
"""Jobs that are told with --all."""

Texts = list[str] | None


def whatif(
    add: Annotated[
        Texts, typer.Option("--add", metavar="FILE", help="The jobs of a file are submitted; repeatable.")
    ] = None,
    lose: Annotated[Texts, typer.Option("--lose", metavar="NODE", help="A node is lost; repeatable.")] = None,
    add_slots: Annotated[
        int | None,
        typer.Option("--add-slots", metavar="N", help="So many more slots, on nodes like those there are."),
    ] = None,
    add_nodes: Annotated[
        Texts, typer.Option("--add-nodes", metavar="NxS", help="N more nodes of S slots each; repeatable.")
    ] = None,
    policy: Annotated[str | None, typer.Option("--policy", metavar="NAME", help="Another policy.")] = None,
    settings: Annotated[
        Texts,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of rounds or the policy; repeatable."),
    ] = None,
    deadline: Annotated[
        Texts,
        typer.Option(
            "--deadline",
            metavar="JOB=WHEN",
            help="Another deadline: +2h is later than the present one, a date is a date; repeatable.",
        ),
    ] = None,
    cancel: Annotated[
        Texts, typer.Option("--cancel", metavar="JOB", help="A job is cancelled; repeatable.")
    ] = None,
    everybody: Annotated[
        bool, typer.Option("--all", help="Show also the jobs for which nothing changes.")
    ] = False,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell what a change would do to every promise and ETA; nothing is changed.

    All options can be combined, and most of them repeated.
    """
    new = in_order([job.checked() for file in add or () for job in read_jobs(file)])
    thought: Json = {
        "add": [job.values for job in new],
        "lose": lose,
        "add_slots": add_slots,
        "add_nodes": [_nodes(text) for text in add_nodes or ()],
        "policy": _policy(policy, settings),
        "deadlines": _deadlines(deadline or ()),
        "cancel": cancel,
    }
    asked = {key: value for key, value in thought.items() if value}
    if not asked:
        raise InputInvalid("nothing is to be different", remedy="Give --add, --lose, --policy … (see --help)")
    if everybody:
        asked |= {"all": True, "limit": _ALL}
    with connect(server) as client, remark_if_slow(LOOKS_AHEAD):
        answer = _answer(client, asked, new)
    if as_json:
        print_json(answer)
    else:
        _print(answer, console())


def _answer(client: Any, asked: Json, new: Sequence[WrittenJob]) -> Json:
    try:
        answer: Json = client.whatif(asked)
    except InputInvalid as error:
        raise blamed(error, "add", new) from None
    return answer


def _nodes(text: str) -> dict[str, int]:
    found = _NODES.fullmatch(text)
    if found is None:
        raise InputInvalid(
            f"--add-nodes {text!r} is no number of nodes and slots", remedy="Write 2x8 for two nodes of eight"
        )
    return {"count": int(found[1]), "slots": int(found[2])}


def _policy(name: str | None, settings: Sequence[str] | None) -> Json | None:
    thought: Json = {} if name is None else {"name": name}
    if settings:
        thought["settings"] = values(settings)
    return thought or None


def _deadlines(given: Sequence[str]) -> dict[str, str | None]:
    found = pairs(given, "--deadline")
    return {job: None if when == NONE else in_local_zone(when) for job, when in found.items()}


def _print(answer: Json, out: Console) -> None:
    now = datetime.now().astimezone()
    changes = local(answer["changes"], now)
    first = f"If {'; '.join(changes)}:" if changes else "Nothing would be different:"
    out.print(first, markup=False, soft_wrap=True)
    for refusal in answer["refused"]:
        [message] = local([refusal["message"]], now)
        out.print(f"  Would be refused, and is left out: {message}.", markup=False, soft_wrap=True)
    slots = answer["slots"]
    if slots["before"] != slots["after"]:
        out.print(f"  {slots['after']} slots can be used instead of {slots['before']}.", markup=False)
    for job in answer["added"]:
        out.print()
        print_facts(facts_of(planned_facts(job, now)), out)
    _print_jobs(answer, now, out)
    for remark in [*local(answer["remarks"], now), *([] if answer["exact"] else [ROUGHLY])]:
        out.print(remark, markup=False, soft_wrap=True)
    out.print("Nothing was changed.", markup=False)


def _print_jobs(answer: Json, now: datetime, out: Console) -> None:
    if answer["jobs"]:
        out.print()
        print_list(differences_table(answer["jobs"], now))
    if answer["more"]:
        out.print(f"and {answer['more']} more.", markup=False)
    out.print()
    counts = answer["counts"]
    told = [f"{counted(counts[effect])} {effect}" for effect in counts if effect != "none"]
    same = f"{counted(counts.get('none', 0))} as before"
    out.print(f"{', '.join([*told, same])}.", markup=False, soft_wrap=True)
