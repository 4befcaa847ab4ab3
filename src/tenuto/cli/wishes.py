"""`tenuto pause`, `resume` and `cancel`."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated

import typer

from tenuto.cli.connect import JobArgument, JsonOption, ServerOption, connect
from tenuto.cli.printing import console, print_json
from tenuto.cli.verdict import REFUSED, await_verdict, has_become, print_verdict, refused
from tenuto.model.phase import ENDED, Phase

if TYPE_CHECKING:
    from tenuto.client.plain import Json, PlainClient

WaitOption = Annotated[bool, typer.Option("--wait", help="Return when it is done, not when it is noted.")]
_LOOK_EVERY = 0.3


def pause(
    job: JobArgument, wait: WaitOption = False, server: ServerOption = None, as_json: JsonOption = False
) -> None:
    """Stop a job's workers for now; its promise is given up."""
    with connect(server) as client:
        paused = client.act(job, "pause")
        if wait:
            paused = await_state(client, paused, {Phase.PAUSED, *ENDED})
    _tell(
        paused,
        has_become(paused["state"]) if paused["state"] in (Phase.PAUSED, *ENDED) else "will be paused",
        as_json,
    )


def resume(
    job: JobArgument, wait: WaitOption = False, server: ServerOption = None, as_json: JsonOption = False
) -> None:
    """Let a paused job go on; it gets a new answer.

    With --wait the answer is printed, and exit code 3 says that it was no: the job stays paused.
    """
    with connect(server) as client:
        resumed = client.act(job, "resume")
        if not wait:
            _tell(resumed, "will go on if there is room", as_json)
            return
        resumed = await_verdict(client, resumed)
    if as_json:
        print_json(resumed)
    else:
        print_verdict(resumed, console())
    if refused(resumed) or resumed["state"] == Phase.PAUSED:
        raise typer.Exit(REFUSED)


def cancel(
    job: JobArgument, wait: WaitOption = False, server: ServerOption = None, as_json: JsonOption = False
) -> None:
    """End a job for good. Its workers get SIGTERM, and after its grace time SIGKILL."""
    with connect(server) as client:
        cancelled = client.act(job, "cancel")
        if wait:
            cancelled = await_end(client, cancelled)
    _tell(
        cancelled, has_become(cancelled["state"]) if cancelled["ended_at"] else "will be cancelled", as_json
    )


def await_end(client: PlainClient, job: Json) -> Json:
    """The job when it has ended."""
    while job["state"] not in ENDED:
        asked = time.monotonic()
        job = client.job(job["id"], wait="end")
        time.sleep(max(0.0, _LOOK_EVERY - (time.monotonic() - asked)) if job["state"] not in ENDED else 0.0)
    return job


def await_state(client: PlainClient, job: Json, states: Collection[str]) -> Json:
    """The job when it is in one of these states."""
    while job["state"] not in states:
        time.sleep(_LOOK_EVERY)
        job = client.job(job["id"])
    return job


def _tell(job: Json, what: str, as_json: bool) -> None:
    if as_json:
        print_json(job)
    else:
        console().print(f"{job['name']} ({job['id']}) {what}.", markup=False)
