"""The process of a run: an errand of the laboratory that tells how it goes, one line of JSON after the other."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

NOTES = "errand.log"
"""What an errand writes to standard error."""

Process = asyncio.subprocess.Process


async def started(verb: str, directory: Path) -> Process:
    """Start an errand. It ends with this process, and with the thread that calls this, however they end."""
    command = (sys.executable, "-m", "tenuto.lab.errand", verb, str(directory), str(os.getpid()))
    # One thread for linear algebra: the other processors are not ours.
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with (directory / NOTES).open("wb") as notes:
        return await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=notes,
            env=environment,
            start_new_session=True,
        )


async def lines_of(process: Process) -> AsyncIterator[dict[str, Any]]:
    """What it tells, until it ends."""
    assert process.stdout is not None
    async for line in process.stdout:
        with suppress(ValueError):
            yield json.loads(line)


async def ended(process: Process) -> None:
    """Let it be over, at once. Its files are whole at any moment."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
    await process.wait()


def last_words(directory: Path) -> str:
    """Why an errand ended that could not say so."""
    with suppress(OSError):
        said = (directory / NOTES).read_text(encoding="utf-8", errors="replace").strip()
        if said:
            return said.splitlines()[-1]
    return "its process was killed; was there too little memory?"
