"""The user's library of traces: files kept under a name, each with its checksum, beside the bundled ones.

A trace lies in a directory named after its content, so that replacing it is one swap of the index: if the
machine stops meanwhile, the library has the old trace or the new one, never half of it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from tenuto.errors import InputInvalid, Place
from tenuto.sim.archive import TraceFile, files_in
from tenuto.sim.data_home import home
from tenuto.sim.read_trace import parse_trace
from tenuto.sim.table import decode
from tenuto.sim.whole_file import whole_file, written_beside
from tenuto.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_NAME = re.compile(r"\w[\w.+-]{0,99}")


@dataclass(frozen=True, slots=True)
class Entry:
    """One trace of the library."""

    name: str
    jobs: int
    sha256: str
    origin: str
    """The file it was added from; empty for bundled traces."""
    path: str


class Library:
    """The traces under one directory, and those that come with tenuto."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory / "traces"
        self._index = self._directory / "index.json"

    def entries(self) -> list[Entry]:
        """Everything that has a name, sorted by it."""
        return sorted([*self._added().values(), *bundled().values()], key=lambda entry: entry.name)

    def find(self, text: str) -> Path:
        """Find the file that a user means: a path, a name in the library, or a bundled name."""
        path = Path(text)
        if path.is_file():
            return path
        if entry := self._added().get(text):
            return _verified(entry)
        if entry := bundled().get(text):
            return Path(entry.path)
        raise self._unknown(text)

    def add(self, file: Path, name: str | None = None, *, replace: bool = False) -> list[Entry]:
        """Keep a trace, or every CSV file of an archive, under a name; all of them or none."""
        traces = [(_entry_name(found, name, file), found) for found in files_in(file)]
        new = {entry_name: self._entry(entry_name, found, file) for entry_name, found in traces}
        if len(new) < len(traces):
            raise InputInvalid(
                "two files would get the same name", remedy="Rename one of them", place=Place(str(file))
            )
        with self._locked():
            added = self._added()
            self._check_free(new, added, replace=replace)
            for entry_name, found in traces:
                _keep(Path(new[entry_name].path), found.content)
            self._write_index({**added, **new})
            replaced = {entry.path for entry in added.values()} - {
                entry.path for entry in {**added, **new}.values()
            }
            for path in replaced:
                shutil.rmtree(Path(path).parent, ignore_errors=True)
        return list(new.values())

    def _entry(self, name: str, found: TraceFile, file: Path) -> Entry:
        trace = parse_trace(decode(found.content, found.label), file=found.label, name=name)
        checksum = hashlib.sha256(found.content).hexdigest()
        path = self._directory / f"{name}-{checksum[:16]}" / f"{name}{found.suffix}"
        return Entry(name, len(trace), checksum, str(file.absolute()), str(path))

    def _check_free(self, new: Mapping[str, Entry], added: Mapping[str, Entry], *, replace: bool) -> None:
        for name, entry in new.items():
            if name in bundled():
                raise InputInvalid(f"{name!r} is the name of a bundled trace", remedy="Choose another name")
            if name in added and added[name].sha256 != entry.sha256 and not replace:
                raise InputInvalid(
                    f"the library already has another trace named {name!r}",
                    remedy="Choose another name, or replace it with --force",
                )

    def _added(self) -> dict[str, Entry]:
        try:
            rows = json.loads(self._index.read_text(encoding="utf-8"))["traces"]
            entries = [Entry(**{**row, "path": str(self._directory / row["path"])}) for row in rows]
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputInvalid(
                f"the library's index cannot be read ({error})",
                remedy="Move the file away and add your traces again",
                place=Place(str(self._index)),
            ) from None
        return {entry.name: entry for entry in entries}

    def _write_index(self, entries: Mapping[str, Entry]) -> None:
        rows = [asdict(entries[name]) for name in sorted(entries)]
        for row in rows:
            # Relative, so that the library can be moved or mounted elsewhere.
            row["path"] = str(Path(row["path"]).relative_to(self._directory))
        with whole_file(self._index) as stream:
            json.dump({"version": 1, "traces": rows}, stream, ensure_ascii=False, indent=2)
            stream.write("\n")

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Let two commands add one after the other, so that neither forgets the other's entry."""
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            lock = (self._directory / ".lock").open("w")
        except OSError as error:
            raise InputInvalid(
                f"the library cannot be written ({error.strerror})",
                remedy="Set TENUTO_HOME to a directory in which you may write",
                place=Place(str(self._directory)),
            ) from None
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _unknown(self, text: str) -> InputInvalid:
        names = [entry.name for entry in self.entries()]
        return InputInvalid(
            f"{text!r} is neither a file nor a known trace",
            remedy=f"{did_you_mean(text, names)}Known are {_listed(names)}; give one of them or the path of a file",
        )


def find_trace(text: str) -> Path:
    """Find the file that a user means, looking into this user's library."""
    return Library(home(os.environ)).find(text)


def bundled() -> dict[str, Entry]:
    """The traces that come with tenuto, by name."""
    directory = Path(str(resources.files("tenuto"))) / "data" / "traces"
    entries = {}
    for path in sorted(directory.glob("*.csv")):
        content = path.read_bytes()
        jobs = content.count(b"\n") - 1
        entries[path.stem] = Entry(path.stem, jobs, hashlib.sha256(content).hexdigest(), "", str(path))
    return entries


def _listed(names: Sequence[str], most: int = 20) -> str:
    more = f" and {len(names) - most} more (tenuto trace list)" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _entry_name(found: TraceFile, wanted: str | None, file: Path) -> str:
    own = found.name
    name = own if wanted is None else wanted
    if found.archived and wanted is not None:
        name = f"{wanted}-{own}"
    if not _NAME.fullmatch(name):
        raise InputInvalid(
            f"{name!r} cannot be the name of a trace",
            remedy="Use letters, digits and . + - _, beginning with a letter or digit, at most 100",
            place=Place(str(file)),
        )
    return name


def _keep(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_beside(path) as part:
        part.write_bytes(content)


def _verified(entry: Entry) -> Path:
    path = Path(entry.path)
    try:
        checksum = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        checksum = ""
    if checksum != entry.sha256:
        raise InputInvalid(
            f"trace {entry.name!r} is damaged: it is not what was added from {entry.origin}",
            remedy=f"Add it again: tenuto trace add {entry.name} FILE --force",
            place=Place(entry.path),
        )
    return path
