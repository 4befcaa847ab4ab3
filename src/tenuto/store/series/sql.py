"""The history of numbers in SQLite or PostgreSQL: a row for each minute of a subject, written by a thread of its own.

Points wait in memory until their minute is over (`pending`), and are then written together with others, once a second.
Whatever the database does, nobody who adds waits for it: if it takes nothing, the newest points are kept as far as
there is room, and written when it is back.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from sqlalchemy.exc import DBAPIError

from tenuto.errors import TenutoError
from tenuto.model.series import NODE, Points, Subject
from tenuto.monitor.facts import Keeping
from tenuto.store.base import StoreUnavailable
from tenuto.store.database import Database
from tenuto.store.driver import Driver
from tenuto.store.series import tables
from tenuto.store.series.base import Found, SeriesQuery
from tenuto.store.series.codec import decode
from tenuto.store.series.listing import list_subjects
from tenuto.store.series.pending import Minute, Name, Pending, Waiting
from tenuto.store.series.prepare import prepare
from tenuto.store.series.pruning import Retention, remove_name, remove_old
from tenuto.store.series.reading import find
from tenuto.store.series.writing import Writer
from tenuto.store.trouble import explain
from tenuto.wire.sample import Gap

log = logging.getLogger(__name__)

BATCH = 256
"""Minutes that are written in one transaction."""
BEHIND = 40 * BATCH
"""With more than these to be written, the thread does not rest between two transactions."""
_TELL_AGAIN = 60.0
"""Seconds between two complaints about the same trouble."""
_LOOK_AGAIN = 10.0
"""Seconds for which a database that did not answer is left alone by those who are in a hurry."""
_WRITER_LOCK = 0x7E7071


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a history is kept."""

    retention: Retention = field(default_factory=Retention)
    memory: int = 256 << 20
    """Bytes that points may take in memory until they are written."""
    every: float = 1.0
    """Seconds between two looks for something to write; 0 if only `flush` writes."""
    clock: Callable[[], float] = time.monotonic


class SqlSeries:
    """Safe to call from any thread."""

    def __init__(self, database: Database, manner: Manner) -> None:
        self.database = database
        self._manner = manner
        self._pending = Pending(manner.memory)
        self._alone = database.writer.dialect.name == "sqlite"
        self._writer = Writer(self._alone)
        self._writing = threading.RLock()
        """Held for one transaction at a time."""
        self._prepared = False
        self._unwanted: list[Name] = []
        """Names of which nothing shall be left."""
        self.trouble = ""
        """Why nothing is written, in a sentence; empty if all is well."""
        self._told = self._look_again = -math.inf
        self._dropped = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tenuto-series", daemon=True)
        if manner.every:
            self._thread.start()

    # taking in

    def add(self, batch: Sequence[Points]) -> None:
        """Take points in."""
        self._pending.add(batch, self._manner.clock())

    def add_gaps(self, node: str, gaps: Sequence[Gap]) -> None:
        """Remember of what times there are no samples of a node."""
        if gaps:
            self._pending.add_gaps(node, gaps)

    def kept(self, kind: str, name: str) -> float:
        """Everything of this name up to this moment is durable."""
        durable, earliest = self._pending.kept((kind, name))
        if durable is None:
            durable = self._newest_stored(kind, name)
        return min(durable, math.nextafter(earliest, -math.inf))

    def _newest_stored(self, kind: str, name: str) -> float:
        """The newest moment in the database, looked up once; whoever asks must not wait for one that is away."""
        newest, now = -math.inf, self._manner.clock()
        if not self._prepared or now < self._look_again:
            return newest
        try:
            with self._reading() as driver:
                whose = {"the_kind": kind, "the_name": name}
                for subject, hour in driver.run(tables.OF_NAME, whose).fetchall():
                    row = driver.run(tables.RAW_NEWEST, {"the_hour": hour, "the_subject": subject}).fetchone()
                    newest = max(newest, float(decode([bytes(row[0])])[0].at[-1]) if row else -math.inf)
        except StoreUnavailable:
            self._look_again = now + _LOOK_AGAIN
            return -math.inf
        self._pending.looked_up((kind, name), newest)
        return newest

    # telling

    def read(self, query: SeriesQuery) -> Found:
        """What is known, the newest included."""
        # Memory first: what is written in between is then seen twice, which does no harm, and not missed.
        newest = self._pending.of_subject(query.subject)
        with self._reading() as driver:
            subject = query.subject
            wanted = {"the_kind": subject.kind, "the_name": subject.name, "the_part": subject.part}
            row = driver.run(tables.SUBJECT, wanted).fetchone()
            return find(driver, int(row[0]) if row else None, newest, query)

    def subjects(
        self, kind: str, name: str = "", part: str = "", limit: int = 10_000, after: Subject | None = None
    ) -> list[Subject]:
        """What is measured, in order."""
        pending = self._pending.subjects()
        with self._reading() as driver:
            return list_subjects(driver, pending, Subject(kind, name, part), after, limit)

    def gaps(self, node: str, since: float, until: float) -> list[Gap]:
        """The gaps of a node that touch a time."""
        waiting = [gap for whose, gap in self._pending.gaps() if whose == node]
        with self._reading() as driver:
            wanted = {"the_node": node, "the_since": since, "the_until": until}
            stored = [
                Gap(since=s, until=u, why=why) for s, u, why in driver.run(tables.GAPS, wanted).fetchall()
            ]
        known = {(gap.since, gap.until) for gap in stored}
        stored += (
            g for g in waiting if g.until > since and g.since < until and (g.since, g.until) not in known
        )
        return sorted(stored, key=lambda gap: gap.since)

    @property
    def health(self) -> Keeping:
        """How it goes."""
        return Keeping(
            points=self._pending.points,
            dropped=self._pending.dropped,
            waiting=self._pending.waiting_points,
            trouble=self.trouble,
        )

    # throwing away

    def forget(self, kind: str, name: str) -> None:
        """Leave nothing of a name; a database that is away does so when it is back."""
        with self._writing:
            self._pending.forget((kind, name))
            self._unwanted.append((kind, name))
            try:
                self._forget_unwanted()
            except StoreUnavailable as error:
                log.warning("numbers of the %s %s are thrown away later: %s", kind, name, error)

    def _forget_unwanted(self) -> None:
        while self._unwanted:
            kind, name = self._unwanted[0]
            with self._transaction() as driver:
                gone = remove_name(driver, kind, name)
                if kind == NODE:
                    driver.run(tables.REMOVE_GAPS_OF, {"the_node": name})
            self._writer.forget(gone)
            del self._unwanted[0]

    def prune(self, now: float) -> int:
        """Throw away what is older than it shall be kept, in many small transactions."""
        chunks = 0
        for step in remove_old(self._manner.retention, now, self._alone):
            finished = False
            while not finished:
                with self._writing:
                    if self._end.is_set():
                        return chunks
                    with self._transaction() as driver:
                        removed = step(driver)
                    self._writer.forget(removed.subjects)
                chunks += removed.chunks
                finished = removed.finished
        return chunks

    # writing

    def look(self) -> None:
        """Make the tables, if there are none. Raises InputInvalid if they are of a newer format."""
        with self._reading():
            pass

    def flush(self) -> None:
        """Make everything durable."""
        while self._write_some(everything=True):
            pass

    def close(self) -> None:
        """Make everything durable and let go of it."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()
        try:
            self.flush()
        except StoreUnavailable as error:
            log.warning("the newest numbers are lost: %s", error.problem)
        self.database.dispose()

    def _run(self) -> None:
        while not self._end.wait(self._manner.every):
            try:
                self._write_what_is_due()
                self._pending.forget_silent(self._manner.clock())
            except StoreUnavailable as error:
                self._complain(error)
            except Exception:
                log.exception("the history of numbers could not be written; it is tried again")

    def _write_what_is_due(self) -> None:
        begun = time.monotonic()
        while written := self._write_some():
            if written < BEHIND:
                # Whoever answers requests in the meantime shall have at least every second turn.
                took, begun = time.monotonic() - begun, time.monotonic()
                if self._end.wait(min(took, 1.0)):
                    return

    def _write_some(self, everything: bool = False) -> int:
        """Write one batch; returns how many minutes were left to be written before it."""
        with self._writing:
            self._forget_unwanted()
            now, gaps = self._manner.clock(), self._pending.gaps()
            minutes, left = self._pending.seal(now, BATCH, everything=everything, pack=bool(self.trouble))
            if not minutes and not gaps:
                return 0
            self._write(minutes, gaps)
            self._pending.gaps_written(gaps)
            self._recovered()
            return left

    def _write(self, minutes: Sequence[tuple[Minute, Waiting]], gaps: Sequence[tuple[str, Gap]]) -> None:
        """Write minutes in one transaction. What cannot be written at all holds up no other."""
        try:
            opened = [(minute, waiting.open()) for minute, waiting in minutes]
            with self._transaction() as driver:
                learnt = self._writer.write(driver, opened, gaps)
            self._writer.committed(learnt)
        except (DBAPIError, ValueError, OverflowError) as error:
            if minutes and gaps:
                self._write((), gaps)
                self._write(minutes, ())
            elif len(minutes) > 1 or len(gaps) > 1:
                middle = (len(minutes) + len(gaps)) // 2
                self._write(minutes[:middle], gaps[:middle])
                self._write(minutes[middle:], gaps[middle:])
            elif minutes:
                log.warning("numbers of %s cannot be kept: %s", minutes[0][0][0], error)
                self._pending.refused(*minutes[0])
            else:
                log.warning("a gap of %s cannot be kept: %s", gaps[0][0], error)
            return
        self._pending.written(minutes)

    def _complain(self, error: TenutoError) -> None:
        self.trouble = str(error)
        dropped = self._pending.dropped
        if self._manner.clock() - self._told >= _TELL_AGAIN:
            self._told = self._manner.clock()
            lost = f"; {dropped - self._dropped} points had to be dropped" if dropped > self._dropped else ""
            self._dropped = dropped
            log.warning("the history of numbers is not written%s: %s", lost, error)

    def _recovered(self) -> None:
        if self.trouble:
            lost = self._pending.dropped - self._dropped
            log.info(
                "the history of numbers is written again%s", f"; {lost} points were dropped" if lost else ""
            )
            self.trouble, self._told, self._dropped = "", -math.inf, self._pending.dropped

    # the database

    @contextmanager
    def _transaction(self) -> Iterator[Driver]:
        """One that writes. Raises StoreUnavailable if the database does not take it."""
        try:
            self._prepare()
            with self.database.writer.begin() as connection:
                driver = Driver(connection)
                if not self._alone:
                    driver.tell(f"SELECT pg_advisory_xact_lock({_WRITER_LOCK})")
                yield driver
        except DBAPIError as error:
            raise self._explained(error) from error

    @contextmanager
    def _reading(self) -> Iterator[Driver]:
        """One that reads."""
        try:
            with self._writing if not self._prepared else _nothing():
                self._prepare()
            with self.database.readers.begin() as connection:
                yield Driver(connection)
        except DBAPIError as error:
            raise self._explained(error) from error

    def _prepare(self) -> None:
        if not self._prepared:
            prepare(self.database)
            self._prepared = True

    def _explained(self, error: DBAPIError) -> Exception:
        return explain(error, self.database.where)


@contextmanager
def _nothing() -> Iterator[None]:
    yield
