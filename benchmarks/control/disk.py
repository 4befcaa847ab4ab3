"""What one durable write costs on the disk of the store: nobody can commit more often than that."""

from __future__ import annotations

import os
import tempfile
import time

from benchmarks.control.figures import Report, quantile

TABLE = "This disk"


def measure(report: Report, repeat: int = 200) -> None:
    """Append a page and have it written through, again and again."""
    with tempfile.TemporaryFile() as file:
        took = []
        for _ in range(repeat):
            os.write(file.fileno(), b"x" * 4096)
            begun = time.perf_counter()
            os.fdatasync(file.fileno())
            took.append(time.perf_counter() - begun)
    report.add(
        TABLE,
        {
            "what": "fdatasync of 4 KiB",
            "p50 ms": 1e3 * quantile(took, 0.5),
            "p99 ms": 1e3 * quantile(took, 0.99),
            "a second": 1.0 / (sum(took) / len(took)),
        },
    )
