"""What a node may say of itself: limits on names, addresses, slots, texts and numbers, and on how often it speaks.

What no supervisor of ours sends is refused. What an honest one may exceed without harm, such as a long message of a
worker that ended, is cut instead, so that nothing keeps a node from reporting.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from ipaddress import ip_address
from threading import Lock

from tenuto.errors import Busy, InputInvalid
from tenuto.wire.fields import labels, node_name
from tenuto.wire.node import MOST_SLOTS, Hello, Report
from tenuto.wire.quantities import Unusable
from tenuto.wire.worker import WorkerSeen

MOST_WORKERS = 4 * MOST_SLOTS
"""Workers of one report: those that share slots, stand beside others, or ended a while ago are more than the slots."""
MOST_PORTS = 64
MOST_NUMBERS = 50
"""Numbers that a worker reports with a step."""
MESSAGE_CHARACTERS = 10_000
TEXT_CHARACTERS = 200
LARGEST_PORT = 65_535
LAST_MOMENT = 4e9
"""Unix seconds of a clock that may be wrong, but is one; far later ones have no calendar."""
MAX_INTEGER = (1 << 63) - 1
RATE, BURST = 50.0, 500.0
"""Requests per second and node on average, and at once; a supervisor needs a few per second."""
_HOST = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9_.])?", re.ASCII)
_SESSION = re.compile(r"[\w.:-]{1,64}")


def check_name(name: str) -> str:
    """The name of a node. Raises InputInvalid."""
    try:
        return node_name(name)
    except Unusable as error:
        raise InputInvalid(
            error.problem,
            remedy="Use up to 100 letters, digits and . _ - with a letter or digit at the beginning",
            field="node",
        ) from None


def check_hello(hello: Hello) -> None:
    """Raise InputInvalid for what no node can be."""
    check_name(hello.node)
    if not _SESSION.fullmatch(hello.session):
        raise _unusable("session", "a session is 1 to 64 letters or digits")
    if len(hello.slots) > MOST_SLOTS:
        raise _unusable("slots", f"a node has at most {MOST_SLOTS} slots, not {len(hello.slots)}")
    if any(len(text) > TEXT_CHARACTERS for slot in hello.slots for text in (slot.device, slot.kind)):
        raise _unusable("slots", f"a device has at most {TEXT_CHARACTERS} characters")
    if not _is_host(hello.address):
        raise _unusable("address", f"{hello.address[:100]!r} is neither an IP address nor a host name")
    if hello.peer and not _is_peer(hello.peer):
        raise _unusable("peer", f"{hello.peer[:100]!r} is not HOST:PORT")
    if len(hello.version) > TEXT_CHARACTERS:
        raise _unusable("version", f"a version has at most {TEXT_CHARACTERS} characters")
    _check_labels(hello)


def _check_labels(hello: Hello) -> None:
    """Labels of nodes are stored and shown like those of jobs, and have the same limits."""
    try:
        labels(dict(hello.labels))
    except Unusable as error:
        raise InputInvalid(f"labels: {error.problem}", remedy=error.remedy, field="labels") from None


def bounded(report: Report) -> Report:
    """The report within its limits. Raises InputInvalid if it has more workers than a node can have."""
    if len(report.workers) > MOST_WORKERS:
        raise _unusable("workers", f"a node has at most {MOST_WORKERS} workers, not {len(report.workers)}")
    return replace(
        report,
        workers=tuple(_bounded(worker, report.node) for worker in report.workers),
        ports=tuple(port for port in report.ports[:MOST_PORTS] if 0 < port <= LARGEST_PORT),
        memory=tuple(
            part if part is None or 0.0 <= part <= 1.0 else None for part in report.memory[:MOST_SLOTS]
        ),
    )


def _bounded(worker: WorkerSeen, node: str) -> WorkerSeen:
    """The worker as one of this node, whatever else it says; a number that cannot be one counts as not known."""
    return replace(
        worker,
        node=node,
        message=worker.message[:MESSAGE_CHARACTERS],
        data=worker.data
        if len(worker.data) <= MOST_NUMBERS
        else dict(list(worker.data.items())[:MOST_NUMBERS]),
        stage=worker.stage[:TEXT_CHARACTERS],
        slot=_whole(worker.slot),
        pid=_whole(worker.pid),
        exit_code=_whole(worker.exit_code),
        generation=_whole(worker.generation),
        started_at=_moment(worker.started_at),
        ended_at=_moment(worker.ended_at),
    )


def _whole(number: int | None) -> int | None:
    """A number that fits everywhere; JSON has integers of any length."""
    return number if number is not None and 0 <= number <= MAX_INTEGER else None


def _moment(seconds: float | None) -> float | None:
    return seconds if seconds is not None and 0.0 <= seconds < LAST_MOMENT else None


def _is_host(text: str) -> bool:
    try:
        ip_address(text.strip("[]"))
    except ValueError:
        return bool(_HOST.fullmatch(text))
    return True


def _is_peer(text: str) -> bool:
    host, _, port = text.rpartition(":")
    return _is_host(host) and port.isascii() and port.isdigit() and 0 < int(port[:6]) <= LARGEST_PORT


def _unusable(field: str, problem: str) -> InputInvalid:
    return InputInvalid(problem, remedy="See the node protocol", field=field)


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class RequestRate:
    """Counts the requests of each node; thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}
        self._lock = Lock()

    def count(self, node: str) -> None:
        """Count one request. Raises Busy if the node has sent too many."""
        now = self._clock()
        with self._lock:
            bucket = self._buckets.setdefault(node, _Bucket(BURST, now))
            bucket.left = min(BURST, bucket.left + (now - bucket.at) * RATE)
            bucket.at = now
            if bucket.left < 1.0:
                raise Busy(f"node {node} sends too many requests", remedy="Try again soon")
            bucket.left -= 1.0
