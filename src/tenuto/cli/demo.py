"""`tenuto demo`: a platform of its own, real PyTorch jobs with deadlines, and what becomes of them."""

from __future__ import annotations

import time
from datetime import datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING

import typer

from tenuto.cli.printing import console, say
from tenuto.errors import InputInvalid

if TYPE_CHECKING:
    from tenuto.client.plain import PlainClient

EXAMPLES = "Ctrl-C ends it at any time, and leaves nothing behind."
_NEEDED = ("torch", "safetensors")
_LOOK = 0.2


def demo() -> None:
    """Show the platform with real training jobs in under three minutes: promises, rescales, a killed worker."""
    _check_torch()
    from tenuto.cli.demo_jobs import SLOTS
    from tenuto.cli.demo_screen import screen
    from tenuto.cli.demo_stage import platform
    from tenuto.cli.demo_story import Story
    from tenuto.cli.demo_summary import lines, problems
    from tenuto.cli.humane import in_local_time

    out = console()
    with platform(nodes=1, slots=SLOTS) as client:
        out.print(
            f"A platform of its own, with {SLOTS} CPU slots, listens at {client.address[0]}",
            markup=False,
        )
        _await_kernels(client)
        with screen() as shown:
            tale = Story(client, shown).play()
    for line in lines(tale):
        out.print(in_local_time(line, datetime.now().astimezone()), markup=False, soft_wrap=True)
    if wrong := problems(tale):
        for problem in wrong:
            say(f"tenuto: {problem}")
        raise typer.Exit(1)


def _check_torch() -> None:
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise InputInvalid(
            f"the demo trains with PyTorch, and {' and '.join(missing)} cannot be found",
            remedy="Install it with pip install 'tenuto[torch]', or say make demo, which does that",
        )


def _await_kernels(client: PlainClient) -> None:
    """The first time on a machine the controller compiles, which no deadline should have to wait for."""
    said = False
    while client.cluster()["controller"]["state"] == "compiling":
        if not said:
            say("Kernels are being compiled: a minute or two, the first time on a machine.")
            said = True
        time.sleep(_LOOK)
