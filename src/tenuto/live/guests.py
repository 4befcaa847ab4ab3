"""Guests: jobs that wait for slots and meanwhile are on slots of others, where both have agreed to it. Pure.

A slot has at most one owner, whom the rounds know, and guests, of whom they know nothing. Whoever comes as a guest
does so because the slot's owner shares, fewer jobs than allowed are there, and enough memory of the device is left.
A guest leaves when another owner comes who does not share, or when the policy gives it slots of its own; it stays
when the owner leaves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

from tenuto.forecast.rates import rates_of, terms_of
from tenuto.live.change import Change, allocation
from tenuto.live.seats import House, Places, in_turn, is_left_alone, seated, spread, told
from tenuto.live.workers import SLOTS_TAKEN
from tenuto.model.job import Job
from tenuto.model.phase import Phase

P = Phase
GUEST = "guest"
"""Why a job starts on slots that it does not hold."""
MADE_ROOM = "made_room"
"""Why a guest waits again."""
FULL = "shared_fully"
MEMORY_IN_USE = "memory_in_use"
MEMORY_UNKNOWN = "memory_unknown"
NOT_SETTLED = "not_settled"
TOO_FEW_SHARED = "too_few_shared"
REASONS = (TOO_FEW_SHARED, MEMORY_IN_USE, FULL, MEMORY_UNKNOWN, NOT_SETTLED)
"""Why a job that would be a guest is not one; of several the first is told."""

Slot = tuple[str, int]
"""A node and the number of a slot there."""


class _Table:
    """Who is on which slot, as it fills. What was found out is kept until somebody more is seated."""

    def __init__(self, owners: Mapping[Slot, Change], house: House) -> None:
        self.owners, self.house = owners, house
        self._guests: Counter[Slot] = Counter()
        self._offers: dict[str, _Offer] = {}

    def seat(self, job: Job) -> None:
        """Count a guest."""
        self._guests.update(_slots_of(job.seats))
        self._offers.clear()

    def count(self, slot: Slot) -> int:
        """Jobs on a slot."""
        return self._guests[slot] + (slot in self.owners)

    def offer(self, node: str) -> _Offer:
        """What can be had on a node, or anywhere if none is named."""
        if node not in self._offers:
            problems = {slot: self._problem(slot) for slot in self._shared if node in ("", slot[0])}
            self._offers[node] = _Offer(self._by_node(problems), problems)
        return self._offers[node]

    @cached_property
    def _shared(self) -> Sequence[Slot]:
        """The slots that can be used and whose owner shares."""
        usable = self.house.nodes
        return [slot for slot, owner in self.owners.items() if slot[0] in usable and _shares(owner.job)]

    def _problem(self, slot: Slot) -> str:
        """Why nobody more can come to a shared slot; empty if somebody can."""
        owner = self.owners[slot]
        if owner.job.phase is not P.RUNNING or not is_left_alone(owner.job):
            return NOT_SETTLED
        if self.count(slot) >= self.house.sharing.jobs:
            return FULL
        return _memory_problem(slot, self.house) or _too_early(slot, owner.at, self.house)

    def _by_node(self, problems: Mapping[Slot, str]) -> Places:
        """The open slots of each node, those with the fewest jobs and the least memory in use first."""
        free = [slot for slot, problem in problems.items() if not problem]
        free.sort(key=lambda slot: (self.count(slot), _used(slot, self.house) or 0.0, slot))
        found: dict[str, list[int]] = {}
        for node, number in free:
            found.setdefault(node, []).append(number)
        return {node: tuple(found[node]) for node in self.house.nodes if node in found}


@dataclass(frozen=True, slots=True)
class _Offer:
    """The slots that one may come to, and what is the matter with the other shared ones."""

    open: Places
    problems: Mapping[Slot, str]

    @property
    def why(self) -> str:
        """Why it is not enough; empty if nobody shares anything here."""
        found = {problem or TOO_FEW_SHARED for problem in self.problems.values()}
        return next((reason for reason in REASONS if reason in found), "")


def guests(changes: Mapping[str, Change], sharers: Sequence[Change], house: House) -> Iterator[Change]:
    """The jobs that come as guests or leave; `sharers` are those of all `changes` that have agreed to share."""
    there = [one for one in sharers if one.job.is_guest and is_left_alone(one.job)]
    waiting = [one for one in sharers if _would_come(one.job)]
    if not there and not waiting:
        return
    owners = {slot: one for one in changes.values() for slot in _slots_of(one.job.slots)}
    table = _Table(owners, house)
    for change in sorted(there, key=in_turn):
        if reason := _must_leave(change.job, table):
            left = change.release().move(P.QUEUED, MADE_ROOM, f"{reason}; waits")
            yield told(left, change.job, reason)
        else:
            table.seat(change.job)
    if house.sharing.jobs > 1:
        yield from _arrivals(sorted(waiting, key=in_turn), table)


def _would_come(job: Job) -> bool:
    """Whether a job waits for slots and could be on others' meanwhile."""
    waits = job.phase is P.QUEUED and not job.places and is_left_alone(job)
    return waits and job.deadline is None and (job.pin is None or not job.pin.nodes)


def _slots_of(places: Places) -> Iterator[Slot]:
    return ((node, number) for node, numbers in places.items() for number in numbers)


def _shares(job: Job) -> bool:
    return job.spec.share and job.deadline is None


def _must_leave(job: Job, table: _Table) -> str:
    """Why a guest cannot stay; empty if it can."""
    if job.deadline is not None:
        return "has a deadline now, and guests have none"
    for slot in _slots_of(job.seats):
        owner = table.owners.get(slot)
        if owner is not None and (not _shares(owner.job) or _is_too_much(slot, owner, table)):
            return f"makes room for job {owner.job.id}"
    return ""


def _is_too_much(slot: Slot, owner: Change, table: _Table) -> bool:
    """Whether a guest who is there is one too many now that another owner has come."""
    if slot in _slots_of(owner.before.slots):
        return False
    return table.count(slot) >= table.house.sharing.jobs or bool(_memory_problem(slot, table.house))


def _arrivals(waiting: Iterable[Change], table: _Table) -> Iterator[Change]:
    house = table.house
    total = sum(len(node.slots) for node in house.nodes.values())
    for change in waiting:
        offer = table.offer(change.job.spec.node)
        sizes = rates_of(terms_of(change.job, total)) if offer.open else ()
        seats = spread(sizes[0][0], offer.open) if sizes else None
        if seats is None:
            yield _still_waits(change, offer, house)
            continue
        hosts = sorted({table.owners[slot].job.id for slot in _slots_of(seats)})
        message = f"starts as a guest of job {', '.join(hosts)} on {allocation(seats)}"
        arrived = seated(change, seats, GUEST, message, house)
        table.seat(arrived.job)
        yield arrived


def _still_waits(change: Change, offer: _Offer, house: House) -> Change:
    """Tell once why it is nobody's guest; nothing if nobody shares anything with it."""
    job, why = change.job, offer.why
    if why == job.why or job.why in SLOTS_TAKEN:
        return change
    if why:
        return change.move(P.QUEUED, why, f"waits for slots; {_sentence(why, offer, house)}")
    if job.why in REASONS and job.contract is not None:
        return change.move(P.QUEUED, job.contract.why, job.contract.message)
    return change


def _sentence(why: str, offer: _Offer, house: House) -> str:
    match why:
        case "memory_in_use":
            slot = next(slot for slot, problem in offer.problems.items() if problem == why)
            return (
                f"{_used(slot, house) or 0.0:.0%} of the memory is in use on slot {slot[1]} of {slot[0]}, "
                f"and a guest may come below {house.sharing.memory:.0%}"
            )
        case "memory_unknown":
            return "nobody can tell how much memory is in use on the slots that are shared"
        case "shared_fully":
            return f"on each slot that is shared there are {house.sharing.jobs} jobs already"
        case "not_settled":
            return "those on the shared slots have not run long enough to tell how much memory they use"
    return "fewer slots can be shared than it has workers"


def _memory_problem(slot: Slot, house: House) -> str:
    """Why a slot has no memory to spare; a CPU share is not asked."""
    node = house.sight.nodes.get(slot[0])
    if node is None or slot[1] >= len(node.slots) or not node.slots[slot[1]].device:
        return ""
    used = _used(slot, house)
    if used is None:
        return MEMORY_UNKNOWN
    return MEMORY_IN_USE if used >= house.sharing.memory else ""


def _too_early(slot: Slot, now: float, house: House) -> str:
    """Whether somebody on a GPU has not run long enough for the memory in use to tell anything."""
    node, number = slot
    if not house.nodes[node].slots[number].device:
        return ""
    begun = house.newest.get(slot, inf)
    return "" if begun + house.sharing.settle <= now else NOT_SETTLED


def _used(slot: Slot, house: House) -> float | None:
    """The part of a slot's memory that is in use."""
    seen = house.sight.seen.nodes.get(slot[0])
    return seen.memory[slot[1]] if seen is not None and slot[1] < len(seen.memory) else None
