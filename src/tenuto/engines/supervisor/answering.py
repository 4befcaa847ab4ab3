"""How a node finds itself, when the server asks: in a thread of its own, so that training never waits for it."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator
from pathlib import Path
from threading import Lock, Thread

from tenuto.doctor.finding import Finding, Status, size
from tenuto.engines.supervisor.server import Away, Refused, SayHello, Server, Superseded
from tenuto.wire.node import Answer, Hello, Question

log = logging.getLogger(__name__)

TOPIC = "server"
_FIRST = 128 << 10
"""Bytes of the first probe; if they take long, more would take too long."""
_LONG = 0.5
_SKEW, _TOO_MUCH_SKEW = 2.0, 30.0
"""Seconds by which clocks may differ before times in logs mislead, and before they cannot be used."""


class Answering:
    """Answers one question at a time; of those that come meanwhile, the last."""

    def __init__(self, server: Server, hello: Hello, directory: Path) -> None:
        self._server = server
        self._hello = hello
        self._directory = directory
        self._next: Question | None = None
        self._busy = False
        self._lock = Lock()

    def ask(self, question: Question) -> None:
        """Begin to look; the answer is sent when everything is found."""
        with self._lock:
            self._next = question
            if self._busy:
                return
            self._busy = True
        Thread(target=self._work, name="doctor", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._lock:
                question, self._next = self._next, None
                if question is None:
                    self._busy = False
                    return
            try:
                self._answer(question)
            except (Away, SayHello, Superseded, Refused) as trouble:
                log.warning("a question was not answered: %s", trouble)
            except Exception:
                log.exception("a question was not answered; this is a fault of tenuto, and harms nobody")

    def _answer(self, question: Question) -> None:
        from tenuto.doctor.examine import examine  # most supervisors are never asked

        places = [Path(tempfile.gettempdir()), self._directory, *map(Path, question.paths)]
        findings = (*_way(self._server, question.probe), *examine(places))
        me = self._hello
        self._server.answer(Answer(node=me.node, session=me.session, question=question.id, findings=findings))


def _way(server: Server, most: int) -> Iterator[Finding]:
    """How far the server is, how fast the way, and how its clock goes."""
    try:
        first = min((server.probe() for _ in range(3)), key=lambda probe: probe.seconds)
        yield _clock(first.ahead, first.seconds / 2)
        trip = first.seconds
        yield Finding(
            topic=TOPIC, name="round trip", told=f"{1000 * trip:.1f} ms", value=trip, unit="seconds"
        )
        for name, way in (("to the server", "send"), ("from the server", "give")):
            count = min(_FIRST, most)
            if (seconds := server.probe(**{way: count}).seconds) < _LONG:
                count = most
                seconds = server.probe(**{way: count}).seconds
            rate = count / max(seconds - trip, 1e-6)
            told = f"{size(rate)}/s, measured with {size(count)}"
            yield Finding(topic=TOPIC, name=name, told=told, value=rate, unit="bytes/s")
    except Away as trouble:
        yield Finding(topic=TOPIC, name="the way", status=Status.WARNING, told=str(trouble))


def _clock(ahead: float, uncertain: float) -> Finding:
    off = max(abs(ahead) - uncertain, 0.0)
    status = Status.OK
    if off > _SKEW:
        status = Status.PROBLEM if off > _TOO_MUCH_SKEW else Status.WARNING
    told = f"{abs(ahead):.3f} s {'behind' if ahead > 0 else 'ahead of'} the server's"
    return Finding(
        topic=TOPIC,
        name="clock",
        status=status,
        told=told,
        remedy=""
        if status is Status.OK
        else "Let both machines set their clocks by NTP: timedatectl set-ntp true",
        value=-ahead,
        unit="seconds",
    )
