"""`tenuto update`, `resubmit` and `delete`."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tenuto.cli.connect import JobArgument, JsonOption, ServerOption, connect
from tenuto.cli.job_options import FreshOption
from tenuto.cli.job_tables import contract_table
from tenuto.cli.pairs import pairs, values
from tenuto.cli.printing import LOOKS_AHEAD, console, print_facts, print_json, remark_if_slow, say
from tenuto.cli.read_reply import job_of
from tenuto.cli.submit import delete_earlier_logs
from tenuto.cli.verdict import REFUSED, await_new_promise, await_verdict, print_verdict, refused
from tenuto.errors import Conflict, InputInvalid, Place, TenutoError
from tenuto.wire.job_file import in_local_zone, read_jobs

if TYPE_CHECKING:
    from tenuto.client.plain import Json, PlainClient

UPDATE_EXAMPLES = (
    "Examples: tenuto update train --deadline +3h · tenuto update train --priority urgent -l team=vision · "
    "tenuto update train --deadline none"
)
RESUBMIT_EXAMPLES = "Examples: tenuto resubmit train --set deadline=+6h · tenuto resubmit 4f21 --edit"
NONE = "none"


def update(
    job: JobArgument,
    deadline: Annotated[
        str | None, typer.Option("--deadline", metavar="WHEN", help="+6h, a date, or none.")
    ] = None,
    priority: Annotated[str | None, typer.Option("--priority", metavar="P", help="normal or urgent.")] = None,
    after: Annotated[
        str | None, typer.Option("--after", metavar="JOB", help="The job to wait for, or none.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", "-n", metavar="NAME", help="Another name.")] = None,
    labels: Annotated[
        list[str] | None, typer.Option("--label", "-l", metavar="KEY=VALUE", help="Set a label; repeatable.")
    ] = None,
    unlabel: Annotated[
        list[str] | None, typer.Option("--unlabel", metavar="KEY", help="Remove a label; repeatable.")
    ] = None,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change a job's deadline, priority, name, labels or what it waits for.

    A deadline that cannot be promised is refused, and nothing is changed.
    """
    wishes: dict[str, Any] = {}
    for key, text in {"deadline": deadline, "priority": priority, "after": after, "name": name}.items():
        if text is not None:
            wishes[key] = None if text == NONE and key in ("deadline", "after") else text
    if wishes.get("deadline"):
        wishes["deadline"] = in_local_zone(wishes["deadline"])
    with connect(server) as client:
        if labels or unlabel:
            wishes["labels"] = _labels(client.job(job)["labels"], labels or [], unlabel or [])
        if not wishes:
            raise InputInvalid("nothing is to be changed", remedy="Give --deadline, --priority, --name …")
        with remark_if_slow(LOOKS_AHEAD):
            changed = client.change(job, wishes)
        if "deadline" in wishes:
            changed = await_new_promise(client, changed)
    if as_json:
        print_json(changed)
    else:
        print_facts(contract_table(job_of(changed), datetime.now().astimezone()))


def _labels(now: Mapping[str, str], new: list[str], gone: list[str]) -> dict[str, str]:
    for key in gone:
        if key not in now:
            raise InputInvalid(
                f"the job has no label {key!r}", remedy=f"It has {', '.join(now) or 'none'}", field="labels"
            )
    return {key: value for key, value in now.items() if key not in gone} | pairs(new, "--label")


def resubmit(
    job: JobArgument,
    edit: Annotated[bool, typer.Option("--edit", help="Change it in $EDITOR first.")] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a key; none takes it away; repeatable."),
    ] = None,
    fresh: FreshOption = False,
    detach: Annotated[
        bool, typer.Option("--detach", "-d", help="Print the id and do not wait for the answer.")
    ] = False,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Submit a job once more, as it was or with changes. It gets a new id and a new answer."""
    changes = values(settings or ())
    if isinstance(changes.get("deadline"), str):
        changes["deadline"] = in_local_zone(changes["deadline"])
    with connect(server) as client:
        if edit:
            old = client.job(job)
            edited = _in_editor({**old["spec"], **changes}, old)
            if edited is None:
                say("Nothing was changed, so nothing was submitted.")
                return
            changes = _difference(old["spec"], edited)
        made = client.resubmit(job, changes or None)
        if fresh:
            delete_earlier_logs(client, made)
        answered = made if detach else await_verdict(client, made)
    if as_json:
        print_json(answered)
    elif detach:
        console().print(answered["id"], markup=False)
    else:
        print_verdict(answered, console())
    if refused(answered):
        raise typer.Exit(REFUSED)


def _difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """What to send so that the old spec becomes the new one."""
    changed = {key: value for key, value in new.items() if key not in old or old[key] != value}
    return changed | {key: None for key in old if key not in new}


def _in_editor(spec: Mapping[str, Any], old: Json) -> dict[str, Any] | None:
    """What a user makes of a spec; None if nothing. Their work is kept where it cannot be used."""
    from tenuto.wire.job_yaml import as_yaml  # not for help

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    text = f"# {old['name']} ({old['id']}), to be submitted again. An empty file submits nothing.\n{as_yaml(spec)}"
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", prefix="tenuto-", delete=False) as file:
        file.write(text)
    path = Path(file.name)
    try:
        subprocess.run([*shlex.split(editor), str(path)], check=True)  # noqa: S603  the user's own editor
    except (OSError, subprocess.CalledProcessError) as error:
        path.unlink()
        why = str(error)
        if isinstance(error, subprocess.CalledProcessError):
            why = f"exit code {error.returncode}"
        raise InputInvalid(
            f"the editor {editor!r} failed ({why})", remedy="Name another one in EDITOR"
        ) from None
    written = path.read_text(encoding="utf-8")
    if written == text or not _content(written):
        path.unlink()
        return None
    try:
        [job] = read_jobs(str(path))
        found = dict(job.checked().values)
    except (TenutoError, ValueError) as error:
        say(f"What you wrote is kept in {path}")
        raise error if isinstance(error, TenutoError) else _several(path) from None
    path.unlink()
    # A job file's own name and place complete what it leaves out; this one's mean nothing.
    if "workdir" not in job.written.values:
        del found["workdir"]
    return {**found, "name": job.written.values.get("name", old["name"])}


def _content(text: str) -> str:
    return "".join(line for line in text.splitlines() if not line.startswith("#")).strip()


def _several(path: Path) -> InputInvalid:
    return InputInvalid("there are several jobs here", remedy="Leave one", place=Place(str(path)))


def delete(
    job: JobArgument,
    cascade: Annotated[bool, typer.Option("--cascade", help="Also all jobs that wait for it.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Forget a job that has ended or never began. Its events stay."""
    with connect(server) as client:
        found = _to_delete(client, job)
        if not yes:
            _confirm(found, cascade)
        gone = client.delete(found["id"], cascade=cascade)
    if as_json:
        print_json(gone)
    else:
        console().print(f"Deleted {', '.join(gone['deleted'])}.", markup=False)


def _to_delete(client: PlainClient, job: str) -> Json:
    """The job as the server shows it; of one whose record cannot be read, what is known."""
    try:
        return client.job(job)
    except Conflict as error:
        if error.code != "unreadable":
            raise
        return {"id": job, "name": "a job that cannot be read", "state": "unreadable"}


def _confirm(job: Json, cascade: bool) -> None:
    """Ask whoever sits at the terminal; where nobody sits, the answer must be given beforehand."""
    if not sys.stdin.isatty():
        raise InputInvalid("nobody can be asked whether to delete it", remedy="Say --yes")
    also = " and all jobs that wait for it" if cascade else ""
    typer.confirm(
        f"Delete {job['name']} ({job['id']}, {job['state']}){also}, with its logs?", abort=True, err=True
    )
