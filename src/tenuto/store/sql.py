"""The store in a database: SQLite or PostgreSQL.

One thread writes. It takes every act that waits, runs them one after the other in one transaction, each behind a
savepoint, commits once and then tells all of them. So the cost of making things durable is shared by those who
wait at the same time. If the database refuses the group, each act is tried alone; what is refused alone fails.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from sqlalchemy import Connection, select, update
from sqlalchemy.exc import DBAPIError

from tenuto.store import tables
from tenuto.store.base import StoreUnavailable, Tx
from tenuto.store.bell import Bell, Glance
from tenuto.store.database import Database
from tenuto.store.driver import Driver
from tenuto.store.quarantine import Quarantine, report
from tenuto.store.sql_tx import Counters, SqlTx
from tenuto.store.trouble import explain, lost, may_pass

T = TypeVar("T")
log = logging.getLogger(__name__)

GROUP = 64
"""The most acts in one commit: so many savepoints PostgreSQL keeps without effort."""
POLL_SECONDS = 0.1
"""How often we look for commits of other processes."""
TRIES = 3

_counters = tables.counters.c
_COUNTERS = select(_counters.revision, _counters.jobs, _counters.nodes, _counters.events)
_REVISION = select(_counters.revision)


@dataclass(slots=True)
class _Waiting:
    """An act, and somebody who waits for it."""

    act: Callable[[Tx], Any]
    done: Future[Any] = field(default_factory=Future)


class _Unknown(Exception):
    """Nobody can say whether the last transaction was committed."""


class SqlStore:
    """A store in a database that has all its tables."""

    def __init__(self, database: Database) -> None:
        self.database = database
        """Its connections; only for those who look after the database itself."""
        self._queue: SimpleQueue[_Waiting | None] = SimpleQueue()
        self._gate = threading.Lock()
        self._closed = False
        self._quarantine = Quarantine()
        self._bell = Bell(told=self.revision())
        self.timed: Callable[[float], None] = lambda _: None
        """Told the seconds that each commit took."""
        self._writer = threading.Thread(target=self._write_all, name="tenuto-store", daemon=True)
        self._writer.start()
        self._poller: threading.Thread | None = None
        self._stop_polling = threading.Event()

    # reading

    def read(self, look: Callable[[Tx], T]) -> T:
        """Show one consistent state to `look`."""
        for attempt in range(1, TRIES + 1):
            if self._closed:
                raise StoreUnavailable("The store is closed")
            try:
                with self.database.readers.connect() as connection, connection.begin():
                    counters = _read_counters(connection)
                    return look(SqlTx(connection, counters, self._quarantine, may_write=False))
            except DBAPIError as error:
                if attempt == TRIES or not may_pass(error):
                    raise explain(error, self.database.where) from error
            finally:
                self._report_unreadable()
        raise AssertionError("the last attempt returns or raises")

    def revision(self) -> int:
        """The revision of the last change."""
        return self.read(lambda tx: tx.revision)

    # writing

    def write(self, act: Callable[[Tx], T]) -> T:
        """Run `act` alone; return its result when it is durable."""
        return self.begin(act).result()

    def begin(self, act: Callable[[Tx], T]) -> Future[T]:
        """Hand `act` over without waiting."""
        if threading.current_thread() is self._writer:
            raise RuntimeError("an act may not begin another one")
        waiting = _Waiting(act)
        waiting.done.set_running_or_notify_cancel()  # who waits no longer cannot take it back
        with self._gate:
            if self._closed:
                raise StoreUnavailable("The store is closed")
            self._queue.put(waiting)
        return waiting.done

    def _write_all(self) -> None:
        open_for_more = True
        while open_for_more:
            group = [self._queue.get()]
            while len(group) < GROUP:
                try:
                    group.append(self._queue.get_nowait())
                except Empty:
                    break
            open_for_more = None not in group
            self._serve([waiting for waiting in group if waiting is not None])

    def _serve(self, group: list[_Waiting]) -> None:
        """Do the acts and tell everybody, whatever happens."""
        try:
            self._commit_with_patience(group)
        except _Unknown as error:
            _fail(group, lambda: _unknown(self.database.where), error.__cause__)
        except DBAPIError as error:
            if len(group) == 1 or lost(error):
                self._refuse(group, error)
                return
            for waiting in group:
                self._serve([waiting])
        except Exception as error:
            log.exception("a commit failed for a reason that nobody thought of")
            unforeseen = error
            _fail(group, lambda: unforeseen, None)

    def _refuse(self, group: list[_Waiting], error: DBAPIError) -> None:
        _fail(group, lambda: explain(error, self.database.where), error)
        # Whatever is opened anew sees a disk that was mended; SQLite shares what it knew among open connections.
        try:
            self.database.dispose()
        except Exception:
            log.exception("a connection could not be closed")  # the thread that writes must go on

    def _commit_with_patience(self, group: list[_Waiting]) -> None:
        for attempt in range(1, TRIES + 1):
            try:
                self._commit(group)
            except DBAPIError as error:
                if attempt == TRIES or not may_pass(error):
                    raise
                time.sleep(0.1 * attempt)  # a server that restarts, or another writer, needs a moment
            else:
                return

    def _commit(self, group: list[_Waiting]) -> None:
        """Run the acts in one transaction; tell their results once it is durable."""
        begun = time.perf_counter()
        with self.database.writer.connect() as connection:
            try:
                transaction = connection.begin()
                counters, mark = self._lock(connection)
                before = counters.revision
                outcomes = [self._run(connection, counters, waiting.act) for waiting in group]
                if counters.revision > before:
                    _write_counters(connection, counters)
            except DBAPIError:
                connection.invalidate()  # it may be at fault itself
                raise
            try:
                transaction.commit()
            except DBAPIError as error:
                connection.invalidate()
                if not self._was_committed(mark, error):
                    raise
        self.timed(time.perf_counter() - begun)
        for waiting, (result, problem) in zip(group, outcomes, strict=True):
            if problem is None:
                waiting.done.set_result(result)
            else:
                waiting.done.set_exception(problem)
        self._bell.ring(counters.revision)
        self._report_unreadable()

    def _run(
        self, connection: Connection, counters: Counters, act: Callable[[Tx], Any]
    ) -> tuple[Any, BaseException | None]:
        """Do one act of a group: its result, or why it was undone. Advances the counters."""
        tx = SqlTx(connection, counters, self._quarantine, may_write=True)
        try:
            result = act(tx)
            problem = None
        except BaseException as error:  # noqa: BLE001  the one who waits gets it
            result, problem = None, error
        if tx.trouble is not None:
            raise tx.trouble
        if problem is not None:
            tx.undo()
            return None, problem
        counters.take(tx.counters)
        return result, None

    def _report_unreadable(self) -> None:
        """Have an event for each record that turned out to be unreadable; nothing waits for it.

        If it cannot be stored, the server's log has it, and the next process to find the record reports it.
        """
        if not self._quarantine.has_news:
            return
        found = self._quarantine.take_news()
        waiting = _Waiting(lambda tx: report(tx, found))
        with self._gate:
            if not self._closed:
                self._queue.put(waiting)

    def _lock(self, connection: Connection) -> tuple[Counters, int]:
        """Keep other writers out until the end of the transaction."""
        marked = _COUNTERS.add_columns(self.database.transaction_mark).with_for_update()
        *numbers, mark = connection.execute(marked).one()
        return Counters(*numbers), mark

    def _was_committed(self, mark: int, error: DBAPIError) -> bool:
        """Whether a transaction whose commit failed is in force nevertheless, because only the answer was lost."""
        if not mark or not lost(error):
            return False
        for _ in range(10):
            try:
                with self.database.readers.connect() as connection:
                    status = connection.exec_driver_sql(f"SELECT txid_status({mark:d})").scalar()
            except DBAPIError as cause:
                raise _Unknown from cause
            if status != "in progress":
                return bool(status == "committed")
            time.sleep(0.1)
        raise _Unknown from error

    # being told

    def listen(self, ring: Callable[[int], None]) -> Callable[[], None]:
        """Call `ring(revision)` after each commit, of this process or another; returns what ends it."""
        end = self._bell.hang(ring)
        with self._gate:
            if self._poller is None and not self._closed:
                self._poller = threading.Thread(target=self._poll, name="tenuto-store-poll", daemon=True)
                self._poller.start()
        return end

    def _poll(self) -> None:
        glance = Glance(self.database.stamp)
        while not self._stop_polling.wait(POLL_SECONDS):
            if not glance.is_worth_asking():
                continue
            try:
                with self.database.readers.connect() as connection:
                    revision = connection.execute(_REVISION).scalar_one()
            except DBAPIError:
                continue  # whoever reads or writes is told; here we wait for better times
            except Exception:
                log.exception("the store could not be looked at; it is tried again")
                continue
            self._bell.ring(revision)

    def close(self) -> None:
        """Finish the acts that wait, then let go of all connections."""
        with self._gate:
            if self._closed:
                return
            self._closed = True
            self._queue.put(None)
        self._stop_polling.set()
        self._writer.join()
        if self._poller is not None:
            self._poller.join()
        self.database.dispose()


def _read_counters(connection: Connection) -> Counters:
    return Counters(*Driver(connection).run(_COUNTERS).fetchone())


def _write_counters(connection: Connection, counters: Counters) -> None:
    connection.execute(update(tables.counters), asdict(counters))


def _fail(group: Sequence[_Waiting], describe: Callable[[], Exception], cause: BaseException | None) -> None:
    """Tell everybody; each gets an exception of his own, since raising one writes into it."""
    for waiting in group:
        if not waiting.done.done():
            problem = describe()
            if problem is not cause:
                problem.__cause__ = cause
            waiting.done.set_exception(problem)


def _unknown(where: str) -> StoreUnavailable:
    return StoreUnavailable(
        f"{where} was lost in the middle of a commit; whether the change is stored cannot be said now",
        remedy="Look before you repeat it, or repeat it with the same idempotency key",
    )
