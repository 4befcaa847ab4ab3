"""Job files: YAML, or a script with `#TENUTO key: value` lines at its head. Every complaint names its line.

A file may hold several jobs (documents with `---` between them), and a job may name another one of them in
`after`. What is read here is checked as far as one can without the platform; the server checks it again.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tenuto.errors import InputInvalid, Place
from tenuto.wire.api import JobIn
from tenuto.wire.hosts_file import read_hosts
from tenuto.wire.problems import invalid, problems_in
from tenuto.wire.written import Written, read_documents

STDIN = "-"
HEADER = "#TENUTO"
HOSTS = "hosts"
"""The one key of a job file that the server does not know: a file of `host:slots` lines."""
LARGEST = 1 << 20
"""Bytes of the largest file that is taken for a job file."""
_YAML_SUFFIXES = (".yaml", ".yml", ".json")
_INTERPRETERS = {".py": ("python3",), ".sh": ("/bin/sh",), ".bash": ("bash",)}
_NOT_IN_NAMES = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True)
class WrittenJob:
    """One job as a user wrote it, ready to be sent."""

    values: Mapping[str, Any]
    """What `wire.api.JobIn` reads, with paths and times completed."""
    written: Written
    hosts: Mapping[str, int] = field(default_factory=dict)
    """Workers by host, if the file names a file of them."""

    @property
    def name(self) -> str:
        """What the job is called."""
        return str(self.values.get("name", ""))

    @property
    def after(self) -> str:
        """The job that it waits for, by whatever it is called."""
        after = self.values.get("after")
        return str(after.get("job", "") if isinstance(after, Mapping) else after or "")

    def waiting_for(self, job: str) -> WrittenJob:
        """The same job, with the id of the one it waits for."""
        after = self.values["after"]
        after = {**after, "job": job} if isinstance(after, Mapping) else job
        return replace(self, values={**self.values, "after": after})

    def changed(self, values: Mapping[str, Any]) -> WrittenJob:
        """The same job with some keys set from elsewhere, such as the command line."""
        return replace(self, values={**self.values, **values})

    def checked(self) -> WrittenJob:
        """Itself, if it can be sent. Raises InputInvalid with the place."""
        try:
            JobIn.model_validate(self.values)
        except ValidationError as error:
            found = error.errors()
            first = problems_in(found, JobIn)
            unknown = found[0]["type"] == "extra_forbidden"
            raise self._placed(invalid(first), first[0].path, key=unknown) from None
        return self

    def blamed(self, error: InputInvalid) -> InputInvalid:
        """An error of the server's, with the place that it means."""
        return self._placed(error, tuple((error.field or "").split(".")) if error.field else ())

    def _placed(self, error: InputInvalid, path: tuple[str | int, ...], *, key: bool = False) -> InputInvalid:
        missing = bool(path) and path[0] not in self.written.values
        if error.place is not None or (missing and (path[0] in self.values or not self.written.file)):
            return error
        place = Place(self.written.file) if missing else self.written.place(path, key=key)
        return InputInvalid(error.problem, remedy=error.remedy, place=place, field=error.field)


def read_jobs(file: str) -> list[WrittenJob]:
    """All jobs of a file (`-` is standard input), as they were written."""
    text, base = _text(file)
    path = Path(file)
    if _is_script(path, text):
        return [_completed(_script(text, path), base, path.stem)]
    documents = read_documents(text, file)
    if not documents:
        raise InputInvalid(
            "the file is empty", remedy="Describe a job in it, with name and run", place=Place(file)
        )
    return [_completed(document, base, "job" if file == STDIN else path.stem) for document in documents]


def from_command(command: Sequence[str], values: Mapping[str, Any]) -> WrittenJob:
    """A job of a command line's arguments."""
    job = {"name": name_of(command), "run": list(command), **values}
    return _completed(Written(job, "the command line"), Path.cwd(), "job")


def name_of(command: Iterable[str]) -> str:
    """A name for a job: that of the script it runs, else of its program."""
    words = [Path(word).name for word in command if not word.startswith("-")]
    scripts = [word for word in words if Path(word).suffix in (*_INTERPRETERS, ".pl", ".jl")]
    stem = Path((scripts or words or ["job"])[0]).stem
    return _NOT_IN_NAMES.sub("-", stem).strip("-._")[:80] or "job"


def _text(file: str) -> tuple[str, Path]:
    """What a file says, and the directory from which its relative paths are seen."""
    if file == STDIN:
        return sys.stdin.read(LARGEST + 1), Path.cwd()
    path = Path(file)
    try:
        with path.open("rb") as stream:
            content = stream.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise InputInvalid(
                "the file is too large for a job file", remedy="Name the job file itself", place=Place(file)
            )
        return content.decode("utf-8-sig"), path.absolute().parent
    except UnicodeDecodeError:
        raise InputInvalid("this is no UTF-8 text", remedy="Save it as UTF-8", place=Place(file)) from None
    except OSError as error:
        raise InputInvalid(
            f"the file cannot be read ({error.strerror})", remedy="Check the name", place=Place(file)
        ) from None


def _is_script(path: Path, text: str) -> bool:
    if path.suffix in _YAML_SUFFIXES:
        return False
    return path.suffix in _INTERPRETERS or text.startswith("#!") or _headers(text) != {}


def _headers(text: str) -> dict[int, str]:
    """The lines of a script's head that speak to tenuto, by number; the first command ends the head."""
    found: dict[int, str] = {}
    for number, line in enumerate(text.splitlines()):
        bare = line.strip()
        if bare and not bare.startswith("#"):
            break
        if bare == HEADER or bare.startswith((f"{HEADER} ", f"{HEADER}\t")):
            found[number] = line
    return found


def _script(text: str, path: Path) -> Written:
    """A script's headers as a mapping, with the script itself as the command."""
    headers = _headers(text)
    bare = {number: line.strip().removeprefix(HEADER).strip() for number, line in headers.items()}
    lines = [bare.get(number, "") for number in range(max(bare, default=-1) + 1)]

    def place(line: int, column: int) -> Place:
        before = headers.get(line, "").find(bare.get(line, ""))
        return Place(str(path), line + 1, max(before, 0) + column + 1)

    documents = read_documents("\n".join(lines), str(path), place)
    written = documents[0] if documents else Written({}, str(path))
    if "run" in written.values or "module" in written.values:
        raise InputInvalid(
            "the script is what is run", remedy="Leave run and module out", place=written.place(("run",))
        )
    written.values["run"] = [*_interpreter(text, path), str(path.absolute())]
    return written


def _interpreter(text: str, path: Path) -> list[str]:
    """What the first line says, as the system reads it: a program and at most one argument."""
    first = text.splitlines()[0] if text else ""
    if first.startswith("#!") and first[2:].strip():
        return first[2:].strip().split(maxsplit=1)
    if path.suffix in _INTERPRETERS:
        return list(_INTERPRETERS[path.suffix])
    raise InputInvalid(
        "the script does not say what runs it",
        remedy="Begin it with a line such as #!/bin/sh",
        place=Place(str(path), 1),
    )


def _completed(written: Written, base: Path, name: str) -> WrittenJob:
    """A job with its defaults: a name, absolute paths, and the time zone of who wrote the deadline."""
    values: dict[str, Any] = {"name": name, **written.values}
    values["workdir"] = _absolute(values.get("workdir") or ".", base)
    if values.get("environment"):
        values["environment"] = _absolute(values["environment"], base)
    if isinstance(values.get("deadline"), str):
        values["deadline"] = in_local_zone(values["deadline"])
    hosts = values.pop(HOSTS, None)
    if hosts is None:
        return WrittenJob(values, written)
    place = written.place((HOSTS,))
    if not isinstance(hosts, str):
        raise InputInvalid(
            "hosts names no file", remedy="Write the name of a file of host:slots lines", place=place
        )
    allocation = read_hosts(Path(_absolute(hosts, base)))
    values.setdefault("workers", sum(allocation.values()))
    return WrittenJob(values, written, allocation)


def _absolute(path: object, base: Path) -> Any:
    return str(base / Path(path).expanduser()) if isinstance(path, str) else path


def in_local_zone(deadline: str) -> str:
    """A date without a zone is meant in the zone of this machine; everything else stays as it is."""
    try:
        moment = datetime.fromisoformat(deadline.strip())
    except ValueError:
        return deadline
    return deadline if moment.tzinfo else moment.astimezone().isoformat()


def in_order(jobs: Sequence[WrittenJob]) -> list[WrittenJob]:
    """The jobs so that each comes after the one it waits for. Raises InputInvalid for a circle."""
    by_name = {job.name: job for job in jobs}
    placed: dict[int, WrittenJob] = {}
    for job in jobs:
        chain: dict[int, WrittenJob] = {}
        while id(job) not in placed:
            if id(job) in chain:
                raise _circle(list(chain.values()), job)
            chain[id(job)] = job
            if job.after not in by_name:
                break
            job = by_name[job.after]  # noqa: PLW2901  up the chain
        placed |= dict(reversed(chain.items()))
    return list(placed.values())


def _circle(chain: Sequence[WrittenJob], again: WrittenJob) -> InputInvalid:
    names = [job.name for job in chain[chain.index(again) :]] + [again.name]
    return InputInvalid(
        f"the jobs wait for each other: {' after '.join(names)}",
        remedy="Leave out one of these after keys",
        place=again.written.place(("after",)),
        field="after",
    )
