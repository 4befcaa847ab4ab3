"""A worker's own files: a log for people and programs, and the newest line for a quick look.

Nothing here raises: a full disk costs records, never a step.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tenuto.atomic_file import replace_file
from tenuto.wire.spool import appending


class WorkerLog:
    """The same records as a file of JSON lines and one that people read, for as long as the user keeps them."""

    def __init__(self, directory: Path, node: str, worker: str) -> None:
        name = f"{node}_worker{worker}".replace(os.sep, "_")
        self._records = directory / f"{name}.jsonl"
        self._text = directory / f"{name}.txt"
        self._who = f"{node}/{worker}"
        with contextlib.suppress(OSError):
            directory.mkdir(parents=True, exist_ok=True)

    def write(self, line: bytes, record: Mapping[str, Any]) -> None:
        """Append one record to both."""
        _append(self._records, line)
        if record["kind"] == "step":
            _append(self._text, "".join(f"{text}\n" for text in self._step_lines(record)).encode())

    def _step_lines(self, record: Mapping[str, Any]) -> Iterator[str]:
        step = record["step"]
        if record.get("samples_per_second") is not None:
            yield f"global_step: {step} samples_per_sec: {record['samples_per_second']:.1f}"
        if record.get("seconds") is not None:
            yield f"[{step}] node/worker: {self._who} -> elapsed time: {record['seconds']:.6f}"
        now = datetime.fromtimestamp(record["at"], tz=UTC)
        yield f"[{step}] node/worker: {self._who} -> current time: {now.isoformat()}"


def write_progress(path: Path, progress: Mapping[str, Any]) -> None:
    """Make this the only line of a worker's report (`wire.env.REPORT`)."""
    with contextlib.suppress(OSError):
        replace_file(str(path), f"{json.dumps(progress)}\n".encode(), mode=0o666)


def _append(path: Path, data: bytes) -> None:
    with contextlib.suppress(OSError), appending(path) as file:
        os.write(file, data)
