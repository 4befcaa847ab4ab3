"""Questions that nodes are asked while they wait for orders, and what they answer. Nothing of it is stored.

A question is for all nodes that are there when it is asked. Only the newest one is handed out: whoever asks
again wants to know how it is now.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from threading import Lock

from tenuto.doctor.finding import Finding
from tenuto.engines.rings import Rings
from tenuto.wire.node import PROBE, Answer, Question

_REMEMBERED = 8
"""Questions whose answers are kept."""
_PROBES = 256 << 20
"""Bytes that all nodes together send and get to measure the way; all of them do so at the same time."""


@dataclass(slots=True)
class _Asked:
    question: Question
    nodes: frozenset[str]
    answers: dict[str, tuple[Finding, ...]] = field(default_factory=dict)


class Questions:
    """Thread-safe. `ring` is called from whatever thread brings the news."""

    def __init__(self) -> None:
        self._asked: dict[int, _Asked] = {}
        self._hears: set[str] = set()
        """Nodes whose supervisors know what a question is."""
        self._numbers = count(1)
        self._lock = Lock()
        self._questions = Rings()
        self._answers = Rings()

    # for whoever asks

    def ask(self, nodes: Collection[str], paths: Sequence[str]) -> int:
        """Ask these nodes; returns the number of the question."""
        with self._lock:
            probe = min(PROBE, _PROBES // max(len(nodes), 1))
            question = Question(id=next(self._numbers), paths=tuple(paths), probe=probe)
            self._asked[question.id] = _Asked(question, frozenset(nodes))
            while len(self._asked) > _REMEMBERED:
                del self._asked[min(self._asked)]
        self._questions.ring()
        return question.id

    def answers(self, question: int) -> Mapping[str, tuple[Finding, ...]]:
        """What was answered so far, by node."""
        with self._lock:
            asked = self._asked.get(question)
            return dict(asked.answers) if asked else {}

    def hears(self, node: str) -> bool:
        """Whether the node's supervisor can be asked at all."""
        with self._lock:
            return node in self._hears

    def on_answer(self, ring: Callable[[], None]) -> Callable[[], None]:
        """Call `ring()` at every answer; returns what ends it."""
        return self._answers.add(ring)

    # for supervisors

    def on_question(self, ring: Callable[[], None]) -> Callable[[], None]:
        """Call `ring()` at every question; returns what ends it."""
        return self._questions.add(ring)

    def for_node(self, node: str, asked: int | None) -> Question | None:
        """The question that the node has not been asked yet; `asked` is the last it knows, None if it knows none."""
        with self._lock:
            if asked is None:
                self._hears.discard(node)
                return None
            self._hears.add(node)
            newest = self._asked.get(max(self._asked, default=0))
            if newest is None or node not in newest.nodes or node in newest.answers:
                return None
            return newest.question if newest.question.id != asked else None

    def answer(self, answer: Answer) -> None:
        """Keep what a node says; to a question that is forgotten it says it in vain."""
        with self._lock:
            if (asked := self._asked.get(answer.question)) is None or answer.node not in asked.nodes:
                return
            asked.answers[answer.node] = answer.findings
        self._answers.ring()
