"""Jobs that ask for no GPU: each worker has a place beside a node's slots; first come, first served. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tenuto.forecast.without_gpu import TOO_FEW_PLACES, answer_without_gpu
from tenuto.live.change import Change, allocation
from tenuto.live.seats import House, Places, in_turn, is_left_alone, seated, spread
from tenuto.model.job import Job, Reply
from tenuto.model.phase import Phase
from tenuto.wire.worker import WORKER

P = Phase
PLACES_TAKEN = "cpu_places_taken"
"""Why it waits."""


def placed_without_gpu(changes: Sequence[Change], house: House) -> Iterator[Change]:
    """The jobs that are given places or another reason to wait; `changes` are all jobs without GPUs.

    Who does not fit keeps the places that he could use from those behind him, so that nobody waits for ever.
    """
    open_ = _open(changes, house)
    waiting = [one for one in changes if one.job.phase in (P.SUBMITTED, P.QUEUED) and is_left_alone(one.job)]
    for change in sorted(waiting, key=in_turn):
        need, within = change.job.spec.min_workers, _within(change.job, open_)
        there = house.cpu_jobs * len(within)
        if need > there:
            told = _answered(change, there)
            yield told.move(P.UNSCHEDULABLE, TOO_FEW_PLACES, told.job.message)
            continue
        seats = spread(need, within)
        if seats is None:
            open_ = {**open_, **dict.fromkeys(within, ())}
            yield _waits(_answered(change, there), within, house.cpu_jobs)
            continue
        open_ = {node: _without(numbers, seats.get(node, ())) for node, numbers in open_.items()}
        yield seated(
            _answered(change, there), seats, "start", f"starts on {allocation(seats)} without a GPU", house
        )


def _open(changes: Sequence[Change], house: House) -> Places:
    """The places of every node that can be used that nobody has, and whose last worker is gone for certain."""
    numbers: dict[str, set[int]] = {}
    busy: Counter[str] = Counter()
    for change in changes:
        seats = change.job.seats
        workers = house.sight.whereabouts(change.job.id)
        there = Counter(node for worker, node in workers if worker.role == WORKER)
        for node in {*seats, *there}:
            busy[node] += max(len(seats.get(node, ())), there[node])
            numbers.setdefault(node, set()).update(seats.get(node, ()))
    return {node: _first_free(house.cpu_jobs - busy[node], numbers.get(node, set())) for node in house.nodes}


def _first_free(count: int, taken: set[int]) -> tuple[int, ...]:
    """So many numbers that nobody has; a setting that was lowered leaves those alone who are there."""
    return tuple(number for number in range(max(count, 0) + len(taken)) if number not in taken)[
        : max(count, 0)
    ]


def _without(numbers: tuple[int, ...], gone: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(number for number in numbers if number not in gone)


def _within(job: Job, open_: Places) -> Places:
    """The nodes on which a job may be."""
    return {node: numbers for node, numbers in open_.items() if job.spec.node in ("", node)}


def _answered(change: Change, places: int) -> Change:
    """Give the answer that a newcomer waits for, or another one if it was told that it fits."""
    contract = answer_without_gpu(change.job.spec, places, change.at)
    if change.job.phase is not P.SUBMITTED and contract.reply is Reply.QUEUED:
        return change
    before = change.job.contract
    return change.put(contract=contract, message=contract.message).tell(
        "verdict",
        before="" if before is None else before.reply.value,
        after=contract.reply.value,
        reason=contract.message,
        data={"why": contract.why, "promised": None, "share": None},
    )


def _waits(change: Change, within: Places, each: int) -> Change:
    """Say once what it waits for."""
    if change.job.phase is P.QUEUED and change.job.why == PLACES_TAKEN:
        return change
    need = change.job.spec.min_workers
    there = each * len(within)
    where = f" on node {change.job.spec.node}" if change.job.spec.node else ""
    wanted = "a place" if need == 1 else f"{need} places"
    taken = "the only one is taken" if there == 1 else f"of {there} too few are free, or others come first"
    message = f"waits for {wanted} without a GPU{where}: {taken}"
    return change.move(P.QUEUED, PLACES_TAKEN, message)
