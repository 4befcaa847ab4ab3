"""What the workers themselves wrote down, and what must be true of it whatever was killed when."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DRAINED = 143


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
        """No worker was started twice, no slot held two at once, no job went on after it had succeeded."""
        ends: dict[str, list[int]] = defaultdict(list)
        starts: dict[str, list[int]] = defaultdict(list)
        for worker, lines in self.workers().items():
            job, generation, role, rank = worker.split(".")
            assert [line.kind for line in lines].count("start") == 1, f"{worker} was started twice: {lines}"
            assert [line for line in lines if line.kind == "double"] == [], f"{worker} shared its slot"
            starts[job].append(int(generation))
            if role == "worker" and rank == "0" and lines[-1].kind == "exit" and lines[-1].code == 0:
                ends[job].append(int(generation))
        for job, generations in ends.items():
            assert len(generations) == 1, f"{job} ran to its end in generations {generations}"
            assert max(starts[job]) == generations[0], f"{job} was started again after its end"

    def generations(self, job: str) -> set[int]:
        """The generations of a job of which a worker was started."""
        return {int(name.split(".")[1]) for name in self.workers() if name.startswith(f"{job}.")}


def _line(text: str) -> Line:
    told: dict[str, Any] = json.loads(text)
    return Line(told["kind"], told["pid"], told["at"], told.get("code"))
