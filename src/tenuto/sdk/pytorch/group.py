"""The process group of one generation: formed in milliseconds, given up at once.

Every worker keeps a store; a generation meets at that of its first member, under a name of its own. What a group leaves
behind is destroyed by another thread, since gloo takes tens of milliseconds to close its connections.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import PrefixStore, Store, TCPStore
from torch.distributed import distributed_c10d

from tenuto.sdk.pytorch.sockets import Sockets, Window

CONNECT = timedelta(seconds=2)
"""For members to connect to each other once all have answered the roll-call: who dies in that very moment is waited for
so long. It is doubled with each failure in a row, for machines that really need longer."""
MOST_DOUBLINGS = 6
PATIENCE = timedelta(minutes=30)
"""For a collective operation; who hangs is found and ended long before by its supervisor."""
_LOOK, _LOOK_LATER = 0.0005, 0.005
"""Seconds between two looks at a store, at first and after a while."""
_INTERFACE = "GLOO_SOCKET_IFNAME"
_LOOPBACK = "127.0.0.1"
_EVERYWHERE = "0.0.0.0"  # noqa: S104 - see _listen


class GroupBroken(Exception):
    """Somebody is not there any more, or a newer membership made this one void."""


@contextlib.contextmanager
def communicating() -> Iterator[None]:
    """Whatever fails inside is the fault of a peer or of the way to it. No traceback keeps its frames alive."""
    try:
        yield
    except RuntimeError as error:  # of torch.distributed and of gloo
        reason = str(error)
    else:
        return
    raise GroupBroken(reason)


class Home:
    """The store that this worker keeps, for generations of which it is the first member."""

    def __init__(self, host: str) -> None:
        listener = _listen(host)
        here, self.port = listener.getsockname()[:2]
        self._server = TCPStore(
            _LOOPBACK if here == _EVERYWHERE else here,
            self.port,
            is_master=True,
            wait_for_workers=False,
            master_listen_fd=listener.detach(),
        )


def _listen(host: str) -> socket.socket:
    """At the node's own address alone; where that is not one of this machine's (behind a translated one), at all."""
    try:
        (family, *_, address), *_ = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
        return socket.create_server(address, family=family)
    except OSError:
        return socket.create_server((_EVERYWHERE, 0))


class Group:
    """One generation's connections, on one member."""

    def __init__(self, name: str, workers: Sequence[str], rank: int, failures: int = 0) -> None:
        self.name = name
        self._timeout = CONNECT * 2 ** min(failures, MOST_DOUBLINGS)
        self.workers = tuple(workers)
        self.rank = rank
        self.world = len(self.workers)
        self.is_formed = False
        """Before, any newer membership makes it void; afterwards only the loss of a member does."""
        self.processes: dist.ProcessGroup | None = None
        self._store: Store | None = None
        self._sockets = Sockets()
        self._releases: list[Callable[[], None]] = []

    @property
    def store(self) -> Store:
        """Where the members leave each other notes."""
        assert self._store is not None, "only after it was reached"
        return self._store

    @property
    def is_broken(self) -> bool:
        """Whether it was given up."""
        return self._sockets.is_cut

    def give_up(self) -> None:
        """Have every operation of it fail, here and with the other members; any thread may."""
        self._sockets.cut()
        for release in tuple(self._releases):
            release()

    def on_given_up(self, release: Callable[[], None]) -> None:
        """Call this, from whatever thread, when it is given up; gloo may not notice by itself."""
        self._releases.append(release)
        if self.is_broken:
            release()

    def meet(self, host: str, port: int, note: str) -> tuple[str, ...]:
        """Reach the store, leave a note and wait for everybody's, by rank."""
        with Window() as window:
            client = TCPStore(host, port, is_master=False, wait_for_workers=False, timeout=self._timeout)
        self._sockets.hold(window, there=[port])
        self._store = PrefixStore(self.name, client)
        self.store.set(f"here/{self.rank}", note)
        keys = [f"here/{rank}" for rank in range(self.world)]
        self.wait_until(lambda: self.store.check(keys))
        return tuple(found.decode() for found in self.store.multi_get(keys))

    def meet_at(self, store: Store, note: str) -> tuple[str, ...]:
        """The same for a store that somebody else keeps, for as long as the process lives."""
        self._store = PrefixStore(self.name, store)
        self.store.set(f"here/{self.rank}", note)
        return tuple(self.store.get(f"here/{rank}").decode() for rank in range(self.world))

    def connect(self, hosts: Sequence[str]) -> None:
        """Make the process group, after all have met. It is the default one, for the user's code too."""
        if self.world == 1:
            return
        if dist.is_initialized():  # by the script itself, where the group stays the same
            self.processes = dist.group.WORLD
            return
        # torch numbers default groups in each process, and a failed attempt counts there: members would not meet.
        distributed_c10d._world.group_count = 0
        with Window() as window, _Interface(hosts):
            dist.init_process_group(
                _backend(),
                store=PrefixStore("group", self.store),
                rank=self.rank,
                world_size=self.world,
                timeout=self._timeout,
            )
        self.processes = dist.group.WORLD
        assert self.processes is not None
        self.processes.set_timeout(PATIENCE)
        self._hold_connections(window)

    def _hold_connections(self, window: Window) -> None:
        """Those between the ports at which the members listen for each other."""
        mine = window.listening()
        self.store.set(f"listens/{self.rank}", json.dumps(sorted(mine)))
        told = self.store.multi_get([f"listens/{rank}" for rank in range(self.world)])
        self._sockets.hold(window, here=mine, there=[port for ports in told for port in json.loads(ports)])

    def wait_until(self, is_so: Callable[[], bool], seconds: float | None = None) -> bool:
        """Look again and again; False after so many seconds. Raises GroupBroken as soon as it is given up."""
        ends = None if seconds is None else time.monotonic() + seconds
        pause = _LOOK
        while True:
            if self.is_broken:
                raise GroupBroken(self.name)
            if is_so():
                return True
            if ends is not None and time.monotonic() > ends:
                return False
            time.sleep(pause)
            pause = min(pause * 1.05, _LOOK_LATER)

    def leave(self) -> None:
        """Close everything. Nothing may hold the process group any more, least of all DistributedDataParallel."""
        self._sockets.cut()
        left: list[Any] = [self.processes, self._store]
        if dist.is_initialized() and self.processes is dist.group.WORLD:
            dist.destroy_process_group()
        self.processes = self._store = None
        self._releases.clear()
        _BURIER.take(left)


class _Burier:
    """A thread that lets go of what takes long to close. It ends when there is nothing left."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: queue.SimpleQueue[list[Any]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def take(self, left: list[Any]) -> None:
        """These are the last references to it."""
        with self._lock:
            self._waiting.put(left)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="tenuto-burier", daemon=True)
                self._thread.start()

    def wait(self) -> None:
        """Until all is closed."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def _work(self) -> None:
        while True:
            self._waiting.get().clear()
            with self._lock:
                if self._waiting.empty():
                    self._thread = None
                    return


_BURIER = _Burier()


def wait_until_closed() -> None:
    """Before the process ends: threads of gloo do not outlive the interpreter well."""
    _BURIER.wait()


class _Interface:
    """gloo looks up the machine's name to find its own address. Among members on one machine that is not needed."""

    def __init__(self, hosts: Sequence[str]) -> None:
        self._is_needed = _INTERFACE not in os.environ and all(map(_is_loopback, hosts)) and bool(hosts)

    def __enter__(self) -> None:
        if self._is_needed:
            os.environ[_INTERFACE] = "lo"

    def __exit__(self, *_: object) -> None:
        if self._is_needed:
            del os.environ[_INTERFACE]


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _backend() -> str:
    return "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
