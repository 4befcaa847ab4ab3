"""Minutes go to the database: into chunks that are there already or are made, and into the means of their hours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tenuto.model.series import Subject
from tenuto.store.driver import Driver
from tenuto.store.series import means, tables
from tenuto.store.series.chunk import DAY, HOUR, Chunk, laid_over
from tenuto.store.series.codec import decode, encode
from tenuto.store.series.pending import Minute
from tenuto.store.series.pruning import kept_since
from tenuto.wire.sample import Gap


class Writer:
    """Writes in a transaction of somebody else. What it remembers of subjects is in force when that is committed."""

    def __init__(self, alone: bool) -> None:
        """`alone`: nobody else writes into this database."""
        self._alone = alone
        self._ids: dict[Subject, tuple[int, int]] = {}
        """The number of each subject, and the newest hour of which there is anything."""
        self._last: dict[int, int] = {}
        """The newest minute of each subject that was written here."""
        self._before: int | None = None
        """Only hours before this one were written by others."""

    def write(
        self, driver: Driver, minutes: Sequence[tuple[Minute, Chunk]], gaps: Sequence[tuple[str, Gap]]
    ) -> _Learnt:
        """Write minutes and gaps; returns what is to be handed to `committed`."""
        words = tables.WORDINGS[driver.dialect]
        if self._before is None:
            last = driver.run(tables.RAW_LAST).fetchone()[0]
            self._before = 0 if last is None else int(last) + int(HOUR)
        if gaps:
            rows = [{"node": node, "since": g.since, "until": g.until, "why": g.why} for node, g in gaps]
            driver.run(words.add[tables.gaps], rows)
        learnt = _Learnt()
        whose = {subject: self._id(driver, subject, at, learnt) for (subject, at), _ in minutes}
        laid = [(whose[subject], int(at), chunk) for (subject, at), chunk in minutes]
        cut = kept_since(driver, "raw_since")
        late = [found for found in laid if found[1] < cut]
        laid = self._laid_over_known(driver, [found for found in laid if found[1] >= cut])
        if laid:
            driver.run(words.put[tables.raw], _raw_rows(laid))
        if laid or late:
            driver.run(words.put[tables.means], _means_rows(driver, laid, late))
        for subject, minute, _ in laid:
            learnt.last[subject] = max(minute, learnt.last.get(subject, minute))
        return learnt

    def committed(self, learnt: _Learnt) -> None:
        """The transaction is in force."""
        self._ids.update(learnt.ids)
        for subject, minute in learnt.last.items():
            self._last[subject] = max(minute, self._last.get(subject, minute))

    def forget(self, ids: Iterable[int]) -> None:
        """These subjects are gone."""
        gone = set(ids)
        self._ids = {subject: known for subject, known in self._ids.items() if known[0] not in gone}
        for subject in gone:
            self._last.pop(subject, None)

    def _id(self, driver: Driver, subject: Subject, minute: float, learnt: _Learnt) -> int:
        hour = int(minute // HOUR * HOUR)
        known = learnt.ids.get(subject) or self._ids.get(subject) or self._found(driver, subject, hour)
        if known[1] < hour:
            driver.run(tables.SEEN, {"the_id": known[0], "the_newest": hour})
            known = (known[0], hour)
        learnt.ids[subject] = known
        return known[0]

    def _found(self, driver: Driver, subject: Subject, hour: int) -> tuple[int, int]:
        """Its row, made if need be."""
        wanted = {"the_kind": subject.kind, "the_name": subject.name, "the_part": subject.part}
        row = driver.run(tables.SUBJECT, wanted).fetchone()
        if row is None:
            new = {"kind": subject.kind, "name": subject.name, "part": subject.part, "newest": hour}
            driver.run(tables.WORDINGS[driver.dialect].add[tables.subjects], new)
            row = driver.run(tables.SUBJECT, wanted).fetchone()
        return int(row[0]), int(row[1])

    def _laid_over_known(
        self, driver: Driver, laid: Sequence[tuple[int, int, Chunk]]
    ) -> list[tuple[int, int, Chunk]]:
        """The whole minutes: most are new, and nothing is looked up for them."""
        known: dict[int, bytes] = {}
        for index, (subject, minute, _) in enumerate(laid):
            if not self._is_new(subject, minute):
                wanted = {"the_hour": _hour(minute), "the_subject": subject, "the_minute": minute}
                if row := driver.run(tables.RAW_ONE, wanted).fetchone():
                    known[index] = bytes(row[0])
        older = dict(zip(known, decode(list(known.values())), strict=True))
        return [
            (subject, minute, laid_over(older[index], chunk) if index in older else chunk)
            for index, (subject, minute, chunk) in enumerate(laid)
        ]

    def _is_new(self, subject: int, minute: int) -> bool:
        assert self._before is not None
        return self._alone and minute >= self._before and minute > self._last.get(subject, -1)


class _Learnt:
    """What is true once a transaction is committed."""

    def __init__(self) -> None:
        self.ids: dict[Subject, tuple[int, int]] = {}
        self.last: dict[int, int] = {}


def _hour(minute: int) -> int:
    return int(minute // HOUR * HOUR)


def _raw_rows(laid: Sequence[tuple[int, int, Chunk]]) -> list[dict[str, object]]:
    payloads = encode([chunk for _, _, chunk in laid])
    return [
        {"hour": _hour(minute), "subject": subject, "minute": minute, "chunk": payload}
        for (subject, minute, _), payload in zip(laid, payloads, strict=True)
    ]


def _means_rows(
    driver: Driver, whole: Sequence[tuple[int, int, Chunk]], late: Sequence[tuple[int, int, Chunk]]
) -> list[dict[str, object]]:
    """The hours that minutes are in; of late ones nobody knows the other points of their minute any more."""
    hours = _known_hours(driver, {(subject, _hour(minute)) for subject, minute, _ in (*whole, *late)})
    for put, minutes in ((means.replaced, whole), (means.added, late)):
        for subject, minute, chunk in minutes:
            newer, older = means.of_minute(minute, chunk), hours[subject, _hour(minute)]
            hours[subject, _hour(minute)] = newer if older is None else put(older, newer)
    payloads = encode([means.written(sums) for sums in hours.values() if sums is not None])
    return [
        {"day": int(hour // DAY * DAY), "subject": subject, "hour": hour, "chunk": payload}
        for (subject, hour), payload in zip(hours, payloads, strict=True)
    ]


def _known_hours(
    driver: Driver, wanted: Iterable[tuple[int, int]]
) -> dict[tuple[int, int], means.Sums | None]:
    found: dict[tuple[int, int], means.Sums | None] = dict.fromkeys(sorted(wanted))
    known: dict[tuple[int, int], bytes] = {}
    for subject, hour in found:
        which = {"the_day": int(hour // DAY * DAY), "the_subject": subject, "the_hour": hour}
        if row := driver.run(tables.MEANS_ONE, which).fetchone():
            known[subject, hour] = bytes(row[0])
    chunks: Mapping[tuple[int, int], Chunk] = dict(zip(known, decode(list(known.values())), strict=True))
    return found | {key: means.read(chunk) for key, chunk in chunks.items()}
