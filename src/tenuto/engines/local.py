"""The engine whose supervisors dial in, from this machine or from others.

What supervisors said last is kept in memory and shown as it is; what the controller wants is kept in memory and
handed out to each node when it asks. Nothing here is stored: after a restart supervisors introduce themselves
again and tell everything anew, and until then their nodes are not in the picture.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from threading import Lock
from time import time

from tenuto.engines.base import NodeSeen, Observation, TermRefused
from tenuto.engines.orders import Share, shares
from tenuto.engines.rings import Rings
from tenuto.errors import Conflict, NotAllowed, Unreachable
from tenuto.wire.node import Hello, Orders, Report
from tenuto.wire.status import Stage
from tenuto.wire.worker import CrewOrder, WorkerId, WorkerOrder, WorkerSeen, WorkerState

_MOST_PROBLEM_CHARACTERS = 500
_MOST_ORDERED = 100_000
"""Workers of which is remembered on which node they were ordered; what is older is in the store."""
_TRAINS = tuple(stage.name.lower() for stage in (Stage.TRAINING, Stage.MEETING, Stage.FINISHED))


@dataclass(slots=True)
class _Node:
    """What is known of one node since the engine was opened."""

    hello: Hello
    heard_at: float
    listened_at: float
    former: set[str] = field(default_factory=set)
    """Sessions that another one has followed."""
    workers: dict[WorkerId, WorkerSeen] | None = None
    """As last reported; None before the first report, when nobody knows what runs there."""
    ended: dict[WorkerId, WorkerSeen] = field(default_factory=dict)
    """Workers that were reported to have ended since somebody looked last, even if they are forgotten there already."""
    ports: tuple[int, ...] = ()
    memory: tuple[float | None, ...] = ()
    problem: str = ""
    news: bool = True
    """Whether its next report tells something new, whatever it contains."""
    leaving: bool = False
    dismissed: bool = False
    """Whether its credential was revoked since it said hello."""
    orders: Rings = field(default_factory=Rings)
    """Rung when its orders have changed."""

    @property
    def seen(self) -> NodeSeen:
        return NodeSeen(
            name=self.hello.node,
            slots=self.hello.slots,
            address=self.hello.address,
            heard_at=self.heard_at,
            listened_at=self.listened_at,
            ports=self.ports,
            labels=self.hello.labels,
            peer=self.hello.peer,
            memory=self.memory,
            problem=self.problem,
        )


class LocalEngine:
    """The port on one side, the protocol of `wire.node` on the other. Thread-safe."""

    def __init__(
        self,
        clock: Callable[[], float] = time,
        *,
        silence: float = 15.0,
        listened: Callable[[], float] | None = None,
        key: bytes | None = None,
    ) -> None:
        """`listened` reads the listening clock; without it, the engine counts as listening all the time."""
        self._clock = clock
        opened = clock()
        self._listened = listened or (lambda: clock() - opened)
        self._key = key or os.urandom(32)
        """From which the secrets follow with which the supervisors of a crew authenticate each other."""
        self._ordered: OrderedDict[tuple[str, WorkerId], None] = OrderedDict()
        self._silence = silence
        """Seconds of listening after which a node counts as gone; here it matters only for nodes that were removed."""
        self._nodes: dict[str, _Node] = {}
        self._forgotten: set[str] = set()
        """Nodes that were removed before they were heard of."""
        self._term = 0
        self._since = 0
        """The version with which the term began."""
        self._wanted: dict[str, Share] = {}
        self._changed: dict[str, int] = {}
        """The version with which a node's orders last changed."""
        self._versions = count(1)
        self._closed = False
        self._lock = Lock()
        self._news = Rings()

    # the port: called by the controller

    def observe(self) -> Observation:
        """What supervisors said last; and how workers ended that nobody wants any more, once."""
        with self._lock:
            self._let_go()
            heard = {name: node for name, node in self._nodes.items() if node.workers is not None}
            workers: dict[WorkerId, WorkerSeen] = {}
            for node in heard.values():
                workers |= {**node.ended, **(node.workers or {})}
                node.ended = {}
            nodes = {name: node.seen for name, node in heard.items() if not node.leaving}
            return Observation(nodes, workers, self._listened())

    def want(self, term: int, orders: Sequence[WorkerOrder], crews: Sequence[CrewOrder] = ()) -> None:
        """Keep the wish, and tell the nodes whose part of it has changed."""
        wanted = shares(orders, [replace(crew, secret=self._secret(crew.job)) for crew in crews])
        with self._lock:
            if term < self._term:
                raise TermRefused(f"term {term} is over; term {self._term} has begun")
            if term > self._term:
                self._term, self._since = term, next(self._versions)
                changed = self._nodes.keys() | wanted.keys()
            else:
                names = wanted.keys() | self._wanted.keys()
                changed = {name for name in names if wanted.get(name) != self._wanted.get(name)}
            self._wanted = wanted
            self._remember(wanted, changed)
            rings = self._change(changed)
        for ring in rings:
            ring.ring()

    def forget_node(self, name: str) -> None:
        """Let the node's supervisor stop everything and end, now or when it is heard again."""
        with self._lock:
            if name not in self._nodes:
                self._forgotten.add(name)
                return
            self._nodes[name].leaving = True
            rings = self._change({name})
        for ring in rings:
            ring.ring()
        self._news.ring()

    def listen(self, ring: Callable[[], None]) -> Callable[[], None]:
        """Call `ring()` when something has changed."""
        return self._news.add(ring)

    def close(self) -> None:
        """Send those away who wait for orders, and answer nobody any more. Workers go on."""
        with self._lock:
            self._closed = True
            waiting = [node.orders for node in self._nodes.values()]
        self._news.clear()
        for orders in waiting:
            orders.ring()

    @property
    def term(self) -> int:
        """Of the controller that spoke last; 0 before the first one, when no node obeys, not even an order to leave."""
        return self._term

    # the protocol: called for supervisors

    def hello(self, hello: Hello) -> None:
        """A supervisor introduces itself; one of the same name that came earlier is listened to no more."""
        now = self._clock()
        with self._lock:
            self._check_open()
            known = self._nodes.get(hello.node)
            if known is None:
                # A new machine may have the name of a removed one; one that has worked here is the removed one.
                leaving = hello.node in self._forgotten and hello.obeyed > 0
                self._nodes[hello.node] = _Node(hello, now, self._listened(), leaving=leaving)
                return
            if hello.session in known.former:
                raise _superseded(hello.node)
            if hello.session != known.hello.session:
                known.former.add(known.hello.session)
                known.leaving = known.leaving and not self._has_left(known)
                known.news = True
            known.hello, known.dismissed = hello, False
            self._alive(known, now)
        known.orders.ring()  # so that the earlier one, if it waits, learns of it

    def report(self, report: Report) -> int:
        """Take over what a supervisor sees; returns the version of its orders."""
        now = self._clock()
        workers = {worker.id: worker for worker in report.workers}
        with self._lock:
            node = self._speaking(report.node, report.session)
            self._alive(node, now)
            news = node.news or _outline(workers) != _outline(node.workers or {})
            problem = report.problem[:_MOST_PROBLEM_CHARACTERS]
            news = news or report.memory != node.memory or problem != node.problem
            node.workers, node.ports, node.news = workers, report.ports, False
            node.memory, node.problem = report.memory, problem
            node.ended |= {
                worker.id: worker for worker in report.workers if worker.state is WorkerState.EXITED
            }
            version = self._version(report.node)
        if news:
            self._news.ring()
        return version

    def orders(self, name: str, session: str) -> Orders:
        """What the node shall run. Of term 0, and to be obeyed by nobody, before the first wish."""
        with self._lock:
            node = self._speaking(name, session)
            share = Share() if node.leaving else self._wanted.get(name, Share())
            return Orders(
                term=self._term,
                version=self._version(name),
                workers=tuple(share.workers.values()),
                crews=tuple(share.crews.values()),
                leave=node.leaving,
            )

    def heard(self, name: str, session: str) -> None:
        """The supervisor gave a sign of life."""
        with self._lock:
            self._alive(self._speaking(name, session), self._clock())

    def on_orders(self, name: str, session: str, ring: Callable[[], None]) -> Callable[[], None]:
        """Call `ring()` when the node's orders may have changed, from any thread; returns what ends it."""
        with self._lock:
            return self._speaking(name, session).orders.add(ring)

    def was_ordered(self, name: str, worker: WorkerId) -> bool:
        """Whether this engine has ordered the worker on the node, as far as it remembers."""
        with self._lock:
            return (name, worker) in self._ordered

    def dismiss(self, name: str) -> None:
        """Listen to the node's supervisor no more, now that its credential is revoked; it counts as silent."""
        with self._lock:
            node = self._nodes.get(name)
            if node is None:
                return
            node.dismissed = True
        node.orders.ring()

    # inside, with the lock held

    def _remember(self, wanted: dict[str, Share], changed: set[str]) -> None:
        for name in changed:
            for worker in wanted.get(name, Share()).workers:
                self._ordered[name, worker] = None
                self._ordered.move_to_end((name, worker))
        while len(self._ordered) > max(_MOST_ORDERED, 2 * sum(len(s.workers) for s in wanted.values())):
            self._ordered.popitem(last=False)

    def _secret(self, job: str) -> str:
        return hmac.new(self._key, job.encode(), hashlib.sha256).hexdigest()

    def _change(self, names: set[str]) -> list[Rings]:
        version = next(self._versions)
        self._changed |= dict.fromkeys(names, version)
        return [self._nodes[name].orders for name in names if name in self._nodes]

    def _version(self, name: str) -> int:
        return max(self._since, self._changed.get(name, 0)) if self._term else 0

    def _speaking(self, name: str, session: str) -> _Node:
        """The node, if this session may speak for it."""
        self._check_open()
        node = self._nodes.get(name)
        if node is not None and session in node.former:
            raise _superseded(name)
        if node is not None and node.dismissed:
            raise NotAllowed(
                f"the credential of node {name} was revoked", remedy="Let the machine join again"
            )
        if node is None or session != node.hello.session:
            raise Conflict(
                f"this server has not heard of {name} yet", code="say_hello", remedy="Say hello first"
            )
        return node

    def _alive(self, node: _Node, now: float) -> None:
        """Note a sign of life; the first one after a long silence makes the next report news."""
        node.news = node.news or self._is_silent(node)
        node.heard_at, node.listened_at = now, self._listened()

    def _check_open(self) -> None:
        if self._closed:
            raise Unreachable("the server is about to end", code="closing", remedy="Try again soon")

    def _let_go(self) -> None:
        """Drop the picture of removed nodes that have been silent for too long to be waited for."""
        for node in self._nodes.values():
            if node.leaving and self._is_silent(node):
                node.workers = None

    def _has_left(self, node: _Node) -> bool:
        """Whether a node that was removed is done with, so that who comes under its name now joins anew."""
        return not node.workers or self._is_silent(node)

    def _is_silent(self, node: _Node) -> bool:
        """Whether the engine has listened for too long without a sign of life."""
        return self._listened() - node.listened_at >= self._silence


def _outline(workers: dict[WorkerId, WorkerSeen]) -> dict[WorkerId, object]:
    """What is worth ringing for: not every step that a worker reports, nor that it waits for others within one."""
    return {
        id: (worker.state, worker.reason, worker.generation, worker.stage in _TRAINS)
        for id, worker in workers.items()  # noqa: A001
    }


def _superseded(name: str) -> Conflict:
    return Conflict(
        f"another supervisor speaks for {name} now",
        code="superseded",
        remedy="Give each machine a name of its own, or end the other supervisor",
    )
