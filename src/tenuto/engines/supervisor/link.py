"""Keeps in touch with the server: hello, reports and orders, each as soon as there is something to say.

Two threads, so that a report never waits behind the long question for orders. Whatever goes wrong they try again,
with pauses from 0.2 to 5 seconds (1 second if the server is on this machine). Training needs nothing of this.
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from tenuto.engines.gpu_memory import Parts
from tenuto.engines.supervisor.server import ApprovalPending, Away, Refused, SayHello, Server, Superseded
from tenuto.errors import Conflict, Told
from tenuto.wire.node import Hello, Orders, Question, Report, Welcome
from tenuto.wire.worker import WorkerSeen

log = logging.getLogger(__name__)
_FIRST_PAUSE = 0.2
_NO_ORDERS = Orders(term=0, version=0, workers=())


@dataclass(frozen=True, slots=True)
class NotWelcome:
    """The server does not want us; `for_good` if a later supervisor of our name has taken our place."""

    why: Told
    for_good: bool


@dataclass(frozen=True, slots=True)
class Received:
    """The server has the report of this number."""

    report: int


Message = Welcome | Orders | NotWelcome | Received | Question


class Backoff:
    """Pauses that grow, with some chance in them so that many nodes do not come back at the same moment."""

    def __init__(self, server: Server, ended: threading.Event) -> None:
        self._server = server
        self._ended = ended
        self._pause = _FIRST_PAUSE

    def wait(self) -> None:
        """Wait longer than the last time, or until all is over."""
        self._ended.wait(self._pause * random.uniform(0.5, 1.0))  # noqa: S311 - no secret
        self._pause = min(self._server.longest_pause, self._pause * 2)

    def reset(self) -> None:
        """It works again."""
        self._pause = _FIRST_PAUSE


class Link:
    """The connection of one supervisor. What comes in is handed to `deliver`, from other threads."""

    def __init__(self, server: Server, hello: Hello, deliver: Callable[[Message], None]) -> None:
        self.ended = threading.Event()
        self._server = server
        self._hello = hello
        self._deliver = deliver
        self._greeting = threading.Lock()
        self._greeted = 0
        """How often the server has welcomed us."""
        self._known = _NO_ORDERS
        self._asked = 0
        """The number of the last question."""
        self._changed = threading.Condition()
        self._report: Report | None = None
        self._published = 0
        self._sent = 0
        self._trouble = ""
        """What was complained of last; said once for each time that the server is away."""

    def start(self) -> None:
        """Begin to talk."""
        for work in (self._ask_for_orders, self._send_report):
            threading.Thread(target=self._keep_on, args=(work,), daemon=True, name=work.__name__).start()

    def end(self) -> None:
        """Stop talking; a question that is open is left to itself."""
        self.ended.set()
        with self._changed:
            self._changed.notify_all()

    def publish(
        self, workers: tuple[WorkerSeen, ...], ports: tuple[int, ...], memory: Parts = (), problem: str = ""
    ) -> int:
        """Have this told as soon as possible, instead of what was not told yet; returns its number."""
        me = self._hello
        with self._changed:
            self._report = Report(
                node=me.node, session=me.session, workers=workers, ports=ports, memory=memory, problem=problem
            )
            self._published += 1
            self._changed.notify_all()
            return self._published

    def _keep_on(self, work: Callable[[], None]) -> None:
        """Do the work again and again, through every trouble, until all is over."""
        backoff = Backoff(self._server, self.ended)
        greeting = lost = 0
        while not self.ended.is_set():
            try:
                greeting = self._greet(lost)
                work()
            except Superseded:
                self._deliver(_superseded(self._hello.node))
                return
            except (SayHello, Refused, Away) as trouble:
                lost = greeting
                self._tell(trouble)
                backoff.wait()
            except Exception:
                log.exception("this is a fault of tenuto; the supervisor goes on")
                backoff.wait()
            else:
                backoff.reset()
                self._trouble = ""

    def _tell(self, trouble: Exception) -> None:
        if isinstance(trouble, Refused):
            self._deliver(NotWelcome(trouble.why, for_good=False))
        elif isinstance(trouble, Away) and not self._trouble:
            self._trouble = str(trouble)
            pending = isinstance(trouble, ApprovalPending)
            log.warning("%s: %s", "this node is not used yet" if pending else "the server is away", trouble)

    def _greet(self, lost: int) -> int:
        """Say hello, unless that was done after greeting number `lost`; returns the number of the last one."""
        with self._greeting:
            if self._greeted <= lost:
                self._hello = replace(self._hello, obeyed=max(self._hello.obeyed, self._known.term))
                welcome = self._server.hello(self._hello)
                self._greeted += 1
                self._known, self._asked = _NO_ORDERS, 0
                with self._changed:
                    self._sent = 0  # the server may have forgotten what it was told
                    self._changed.notify_all()
                self._deliver(welcome)
            return self._greeted

    def _ask_for_orders(self) -> None:
        before = self._known
        orders = self._server.orders(self._hello, before, self._asked)
        if (orders.term, orders.version) != (before.term, before.version):
            self._known = orders
            self._deliver(orders)
        if orders.question is not None and orders.question.id != self._asked:
            self._asked = orders.question.id
            self._deliver(orders.question)

    def _send_report(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._published > self._sent or self.ended.is_set())
            report, number = self._report, self._published
        if report is not None and not self.ended.is_set():
            self._server.report(report)
            with self._changed:
                self._sent = number
            self._deliver(Received(number))


def _superseded(node: str) -> NotWelcome:
    why = Conflict(
        f"another supervisor speaks for node {node} now",
        code="superseded",
        remedy="Give each machine a name of its own",
    )
    return NotWelcome(why, for_good=True)
