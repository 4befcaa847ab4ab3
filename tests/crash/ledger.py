"""What the workers themselves wrote down, and what must be true of it whatever was killed when."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Line:
    """One entry of a worker."""

    kind: str
    pid: int
    at: float
    code: int | None = None


class Ledger:
    """The directory into which every worker writes a file of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir()

    def workers(self) -> dict[str, list[Line]]:
        """The lines of every worker, by `job.generation.role.rank`."""
        return {
            path.name: [_line(text) for text in path.read_text().splitlines()]
            for path in self.directory.iterdir()
            if not path.name.startswith("slot-")
        }

    def check(self) -> None:
        """No worker was started twice, and no slot held two at once."""
        for worker, lines in self.workers().items():
            kinds = [line.kind for line in lines]
            assert kinds.count("start") == 1, f"{worker} was started twice: {lines}"
            assert "double" not in kinds, f"{worker} found another on its slot: {lines}"


def _line(text: str) -> Line:
    told: dict[str, Any] = json.loads(text)
    return Line(told["kind"], told["pid"], told["at"], told.get("code"))
