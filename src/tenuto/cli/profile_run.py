"""Measures a job at several sizes on a running platform, by what its first worker tells of its steps.

A job that rescales in place is started once and visits all sizes; any other is started anew for each. Nothing of them
is left behind, unless something went wrong: then the job stays, with its logs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tenuto.cli.profile_file import Point
from tenuto.cli.verdict import refused
from tenuto.errors import InputInvalid, TenutoError, Told
from tenuto.model.job import IN_PLACE, JobSpec
from tenuto.model.phase import ENDED

if TYPE_CHECKING:
    from tenuto.client.plain import Json, PlainClient

LOOK_EVERY = 0.2
PATIENCE = 120.0
"""Seconds in which a job must have begun to tell steps at a size."""
_NOT_OURS = ("deadline", "curve", "after", "priority", "max_duration")
"""Keys of a job that mean nothing while it is measured."""


class NotMeasured(Told):
    """A job could not be measured."""

    code = "not_measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is to be measured."""

    job: Mapping[str, Any]
    """As it would be submitted."""
    sizes: Sequence[int]
    batches: Sequence[int | None]
    """None for that of the job."""
    seconds: float
    """Of training at each size that are enough."""
    scratch: str
    """A directory for checkpoints, so that no other run's are read or replaced."""


@dataclass
class Profiler:
    """Measures on one platform."""

    client: PlainClient
    tell: Callable[[str], None]
    """Says what is being done."""
    kind: str = "cpu"
    """Of the devices."""

    def measure(self, wish: Wish) -> Iterator[Point]:
        """Measure everything, point by point."""
        in_place = wish.job.get("strategy") in IN_PLACE
        for batch in wish.batches:
            found: dict[int, float] = {}
            for sizes in [list(wish.sizes)] if in_place else [[size] for size in wish.sizes]:
                left = sizes
                while left:
                    done = 0
                    with self._job(wish, batch, left) as job:
                        for point in self._visit(job, wish, left):
                            found[point.workers] = point.rate
                            done += 1
                            yield point
                        if done == len(left):
                            self.client.add_to_curve(job["id"], found, self.kind)
                    left = left[done:]

    @contextmanager
    def _job(self, wish: Wish, batch: int | None, sizes: Sequence[int]) -> Iterator[Json]:
        """A job that runs only to be measured."""
        values = {key: value for key, value in wish.job.items() if key not in _NOT_OURS}
        values["name"] = f"{str(values.get('name', 'job'))[:60]}-profile"
        values["workers"] = {"min": min(sizes), "max": max(sizes)}
        if batch is not None:
            values["global_batch"] = batch
        if "checkpoint" in values:
            values["checkpoint"] = {"dir": f"{wish.scratch}/{batch or 0}-{sizes[0]}"}
        job = self.client.submit(values)
        try:
            yield job
        except NotMeasured:
            self._end(job)
            raise
        except BaseException:
            self._end(job)
            self._forget(job)
            raise
        self._end(job)
        self._forget(job)

    def _visit(self, job: Json, wish: Wish, sizes: Sequence[int]) -> Iterator[Point]:
        """Have the job go from size to size; ends early if the job does."""
        batch = int(job["spec"].get("global_batch") or 1)
        for index, size in enumerate(sizes):
            begun = time.monotonic()
            if len(sizes) > 1:
                self.client.scale(job["id"], {"workers": size})
            self.tell(f"batch {batch}, {size} {'worker' if size == 1 else 'workers'}")
            pace = self._pace(job, size, wish.seconds, may_end=index > 0)
            if pace is None:
                return
            steps, seconds = pace
            spent = time.monotonic() - begun
            yield Point(batch=batch, workers=size, rate=steps / seconds, seconds=seconds, spent=spent)

    def _pace(self, job: Json, size: int, enough: float, *, may_end: bool) -> tuple[float, float] | None:
        """Steps and seconds at a size; None if the job has ended before it could be measured there."""
        give_up = time.monotonic() + PATIENCE
        while True:
            now = self.client.job(job["id"])
            steps, seconds = pace_in(self.client.metrics(job["id"], limit=5000)["series"], size)
            if seconds >= enough:
                return steps, seconds
            if now["state"] in ENDED or refused(now):
                if seconds > 0.0:
                    return steps, seconds
                if may_end and now["state"] == "succeeded":
                    return None
                raise _ended_too_soon(now, size)
            if seconds == 0.0 and time.monotonic() > give_up:
                raise _tells_nothing(now, size)
            time.sleep(LOOK_EVERY)

    def _end(self, job: Json) -> None:
        with suppress(TenutoError):  # it may have ended by itself
            self.client.act(job["id"], "cancel")
        while self.client.job(job["id"], wait="end")["state"] not in ENDED:
            self.tell("waiting for its workers to end")

    def _forget(self, job: Json) -> None:
        with suppress(TenutoError):
            self.client.delete(job["id"])


def pace_in(series: Sequence[Json], size: int) -> tuple[float, float]:
    """Steps and their seconds at a size, by the first worker; the time up to its first report does not count."""
    steps = seconds = 0.0
    for one in series:
        before: Json | None = None
        for point in one["points"]:
            if point["world"] != size or point["rank"] != 0:
                before = None
                continue
            follows = before is not None and before["generation"] == point["generation"]
            if follows and before is not None and point["seconds"] and point["step"] > before["step"]:
                done = point["step"] - before["step"]
                steps += done
                seconds += done * point["seconds"]
            before = point
    return steps, seconds


def default_sizes(spec: JobSpec, slots: int) -> list[int]:
    """The smallest size that a job may have, doubled up to the largest that can be had."""
    sizes, size = [], spec.min_workers
    while size <= min(spec.max_workers, slots):
        sizes.append(size)
        size *= 2
    return sizes


def check_room(sizes: Sequence[int], slots: int) -> None:
    """Refuse sizes that the cluster cannot hold."""
    if not sizes or max(sizes) > slots:
        asked = f"{max(sizes)} workers" if sizes else "the job's own workers"
        raise InputInvalid(
            f"there is no room for {asked}: the cluster has {slots} slots",
            remedy="Measure fewer with --workers, or add nodes",
            field="workers",
        )


def _ended_too_soon(job: Json, size: int) -> NotMeasured:
    return NotMeasured(
        f"job {job['id']} is {job['state']} before it has told two steps at {size} workers: {job['message']}",
        remedy=f"See tenuto logs {job['id']}; give it more steps if it was done",
    )


def _tells_nothing(job: Json, size: int) -> NotMeasured:
    return NotMeasured(
        f"job {job['id']} is {job['state']} and has told no steps at {size} workers for {PATIENCE:g} s",
        remedy='Use the SDK, or write lines such as {"step": 12} to the file named by TENUTO_REPORT',
    )
