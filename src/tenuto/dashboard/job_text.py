"""A job as text: reading it as the command line does, and changing one key so that everything else stays. Pure."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import yaml

from tenuto.errors import InputInvalid
from tenuto.wire.job_file import WrittenJob
from tenuto.wire.job_yaml import as_yaml
from tenuto.wire.written import Written, read_documents

FILE = "the job"
"""What complaints call it, where the command line names a file."""
LONGEST = 50_000
"""Characters: everything is read anew at every change, while others wait."""


def written_in(text: str) -> WrittenJob:
    """The one job that a text describes, not checked yet. Raises InputInvalid with line and column."""
    documents = _read(text)
    if len(documents) > 1:
        raise InputInvalid(
            "several jobs stand here",
            remedy="Keep one of them, or submit the file with tenuto submit",
            place=documents[1].place(()),
        )
    written = documents[0] if documents else Written({}, FILE)
    return WrittenJob(written.values, written)


def _read(text: str) -> list[Written]:
    if len(text) > LONGEST:
        raise InputInvalid(
            f"the job has {len(text):,} characters, of which a page takes {LONGEST:,}",
            remedy="Submit it as a file with tenuto submit",
        )
    return read_documents(text, FILE)


def blamed(job: WrittenJob, error: InputInvalid) -> InputInvalid:
    """An error of the server's about a job, with the place that it means; a dry run names the job by its number."""
    field = (error.field or "").removeprefix("jobs.0.")
    problem = error.problem.removeprefix("jobs.0.")
    return job.blamed(InputInvalid(problem, remedy=error.remedy, field=field or None))


def with_key(text: str, key: str, value: Any) -> str:
    """The text with another value for one key; None takes it away. Comments and all other keys stay as they are."""
    documents = _read(text)
    values = dict(documents[0].values) if documents else {}
    lines = text.splitlines()
    new = [] if value is None else _lines(key, value)
    if not documents:
        return _joined([*lines, *new])
    begins = _begins(documents[0], lines)
    if begins is None:  # it is not written line by line
        values.pop(key, None)
        return as_yaml(values if value is None else {**values, key: value})
    if key not in begins:
        return _joined([*_without_blank_end(lines), *new])
    begin = begins[key]
    end = min((line for line in begins.values() if line > begin), default=len(lines))
    while end > begin + 1 and _says_nothing(lines[end - 1]):
        end -= 1
    return _joined([*lines[:begin], *new, *lines[end:]])


def _begins(written: Written, lines: list[str]) -> dict[str, int] | None:
    """In which line each key stands, counted from 0; None if keys do not begin lines of their own."""
    found: dict[str, int] = {}
    for key in written.values:
        place = written.keys.get((key,))
        if place is None or place.line is None or place.column != 1:
            return None
        if lines[place.line - 1].startswith("{"):
            return None
        found[str(key)] = place.line - 1
    return found


def _says_nothing(line: str) -> bool:
    """Whether a line belongs to no key: it is blank, or a comment at the margin."""
    return not line.strip() or line.startswith("#")


def _without_blank_end(lines: list[str]) -> list[str]:
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    return lines[:end]


def _joined(lines: list[str]) -> str:
    return "\n".join(lines) + "\n" if lines else ""


def _lines(key: str, value: Any) -> list[str]:
    """A key with its value as one would write it: the plainest way that is read back as the same."""
    for way in _ways(key, value):
        try:
            read = read_documents(way, FILE)
        except InputInvalid:
            continue
        if len(read) == 1 and read[0].values == {key: value}:
            return way.splitlines()
    return as_yaml({key: value}).splitlines()


def _ways(key: str, value: Any) -> Iterator[str]:
    if isinstance(value, str) and "\n" in value:
        indented = "\n".join(f"  {line}" if line else "" for line in value.rstrip("\n").split("\n"))
        yield f"{key}: |{'' if value.endswith(chr(10)) else '-'}\n{indented}"
    elif isinstance(value, str):
        yield f"{key}: {value}"
    elif isinstance(value, Mapping | list):
        dumped = yaml.safe_dump(
            value, default_flow_style=True, allow_unicode=True, sort_keys=False, width=10_000
        )
        yield f"{key}: {dumped.strip()}"
    yield f"{key}: {json.dumps(value, ensure_ascii=False)}"


def command_line(run: object) -> str:
    """A command as one line for the shell."""
    if isinstance(run, list | tuple):
        return shlex.join(str(part) for part in run)
    return run if isinstance(run, str) else ""


def without_zone(deadline: object) -> str | None:
    """A date and time that does not say its zone, for whoever knows the visitor's; None for everything else."""
    try:
        moment = datetime.fromisoformat(deadline.strip()) if isinstance(deadline, str) else None
    except ValueError:
        return None
    return None if moment is None or moment.tzinfo else moment.isoformat(timespec="seconds")


def edit_between(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """What must be changed about a job's keys to get the new ones; None takes one away."""
    edit: dict[str, Any] = {
        key: value for key, value in new.items() if key not in old or _plain(old[key]) != _plain(value)
    }
    return edit | {key: None for key in old if key not in new}


def _plain(value: Any) -> Any:
    """With keys as JSON has them."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value
