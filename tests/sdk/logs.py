"""What a worker has told, read from its own log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def records_in(directory: Path) -> list[dict[str, Any]]:
    """The records of the one worker whose log is there."""
    (log,) = directory.glob("*.jsonl")
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
