"""What a supervisor itself tells about a worker, spooled like the worker's own records (`wire.records`).

WORKER/news/    what the supervisor saw of it: that it was lost, that it hung
WORKER/told/    the steps of a worker that knows nothing of us but its report file

They lie beside what the worker writes, never in it, and are brought over and forgotten together with it.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tenuto.engines.supervisor.shim.files import parse_json
from tenuto.engines.supervisor.worker_files import WorkerFiles
from tenuto.wire import env, records
from tenuto.wire.spool import Spool
from tenuto.wire.untrusted_files import UntrustedDirectory, part_name
from tenuto.wire.worker import WorkerOrder

log = logging.getLogger(__name__)
TOLD = "told"
_MOST_PART_BYTES = 16 << 20
_LEAST = 0.5
"""Seconds between two records of a program that reports all the time."""


class News:
    """Appends records about one worker; their numbers go on after a restart of the supervisor."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._spool: Spool | None = None
        self._seq = 0

    def tell(self, kind: str, *, step: int, generation: int, at: float | None = None, **fields: Any) -> bool:
        """Append a record; False if there is no room for it now."""
        spool = self._open()
        moment = time.time() if at is None else at
        record = {
            "seq": self._seq,
            "kind": kind,
            "at": moment,
            "generation": generation,
            "step": step,
            **fields,
        }
        if not spool.write(json.dumps(record, ensure_ascii=False).encode(errors="replace") + b"\n"):
            log.warning("there is no room for the news that %s", kind)
            return False
        self._seq += 1
        return True

    def tell_once(self, kind: str, *, step: int, generation: int, **fields: Any) -> bool:
        """The same, unless this kind was told of the worker before, by whichever supervisor."""
        if any(record.get("kind") == kind for record in self.kept()):
            return True
        return self.tell(kind, step=step, generation=generation, **fields)

    def kept(self) -> Iterator[Mapping[str, Any]]:
        """The records that are still here, in order."""
        directory = UntrustedDirectory(self._directory.parent, self._directory.name)
        for start in directory.part_starts()[0]:
            for line in directory.read(part_name(start), _MOST_PART_BYTES).data.splitlines():
                record = parse_json(line)
                if isinstance(record, dict):  # not half a line
                    yield record

    def _open(self) -> Spool:
        if self._spool is None:
            self._spool = Spool(self._directory)
            self._seq = self._spool.next_seq()
        return self._spool


class Echo:
    """Makes records of a worker's report file, for programs that write nothing else. Looked at again and again."""

    def __init__(self, order: WorkerOrder, files: WorkerFiles) -> None:
        self._files = files
        self._generation = order.id.generation
        self._rank = _number(order.env.get(env.RANK, ""))
        self._world = _number(order.env.get(env.WORLD_SIZE, ""))
        self._batch = _number(order.env.get(env.GLOBAL_BATCH, ""))
        self._news = News(files.directory / TOLD)
        self._stamp = (0, 0)
        self._last: tuple[float, int] | None = None
        for record in self._news.kept():
            at, step = record.get("at"), record.get("step")
            if isinstance(at, int | float) and isinstance(step, int):
                self._last = (float(at), step)

    def look(self, *, ended: bool) -> None:
        """Tell the newest step, if it is another one and the last one was told a while ago."""
        stamp = self._files.report_stamp()
        soon = self._last is not None and time.time() - self._last[0] < _LEAST
        if stamp == self._stamp or (soon and not ended):
            return
        self._stamp = stamp
        progress = self._files.report()
        if progress is None or progress.step is None or progress.step < 0:
            return
        step = int(progress.step)
        if self._last is None or step != self._last[1]:
            self._tell(step, stamp[0] / 1e9, progress.data)

    def _tell(self, step: int, at: float, values: Mapping[str, float]) -> None:
        fields: dict[str, Any] = {"rank": self._rank, "world": self._world, "values": dict(values)}
        if self._last is not None and step > self._last[1] and at > self._last[0]:
            fields["seconds"] = (at - self._last[0]) / (step - self._last[1])
            if self._batch and self._rank == 0:
                fields["samples_per_second"] = self._batch / fields["seconds"]
        if self._batch:
            fields["samples"] = step * self._batch
        if self._news.tell(records.STEP, step=step, generation=self._generation, at=at, **fields):
            self._last = (at, step)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None
