"""The three queues as JSON: what waits, what runs and what has ended, each job in one of them.

All jobs are read once, in pages by their number, so that a job that moves on meanwhile is neither lost nor told
twice. What was read is kept on disk until everything is there: a queue may be longer than memory.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from tenuto.cli.printing import json_text, write_text
from tenuto.errors import InputInvalid, Place
from tenuto.model.phase import ENDED, PLACED

if TYPE_CHECKING:
    from tenuto.client.plain import Json, PlainClient

WAITING, RUNNING, FINISHED = QUEUES = ("waiting", "running", "finished")
_PAGE = 500


def queue_of(state: str) -> str:
    """The queue of a job in that state."""
    if state in PLACED:
        return RUNNING
    return FINISHED if state in ENDED else WAITING


def print_queues(client: PlainClient, query: Mapping[str, Any]) -> None:
    """One JSON object with a list for each queue."""
    with ExitStack() as opened:
        files = {
            name: opened.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8")) for name in QUEUES
        }
        _write(client, query, files)
        write_text("{")
        for name, file in files.items():
            file.seek(0)
            write_text(f'{"" if name == QUEUES[0] else ", "}"{name}": ')
            shutil.copyfileobj(file, sys.stdout)
        write_text("}\n")


def write_queues(client: PlainClient, query: Mapping[str, Any], directory: Path) -> dict[str, int]:
    """A file `NAME.json` for each queue, each whole or not at all; returns how many jobs are in each."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory, prefix=".queues-") as part, ExitStack() as opened:
            made = {name: Path(part, f"{name}.json") for name in QUEUES}
            files = {
                name: opened.enter_context(path.open("w", encoding="utf-8")) for name, path in made.items()
            }
            counts = _write(client, query, files)
            opened.close()
            for path in made.values():
                path.replace(directory / path.name)
    except OSError as error:
        raise InputInvalid(
            f"the queues cannot be written ({error.strerror})",
            remedy="Name a directory of your own",
            place=Place(str(directory)),
        ) from None
    return counts


def _write(client: PlainClient, query: Mapping[str, Any], files: Mapping[str, IO[str]]) -> dict[str, int]:
    counts = dict.fromkeys(QUEUES, 0)
    for file in files.values():
        file.write("[")
    for job in _all(client, query):
        name = queue_of(job["state"])
        files[name].write(f"{',' if counts[name] else ''}\n{json_text(job)}")
        counts[name] += 1
    for file in files.values():
        file.write("\n]\n")
    return counts


def _all(client: PlainClient, query: Mapping[str, Any]) -> Iterator[Json]:
    cursor: str | None = None
    while True:
        page = client.jobs(**{**query, "limit": _PAGE, "cursor": cursor})
        yield from page["items"]
        if (cursor := page["next"]) is None:
            return
