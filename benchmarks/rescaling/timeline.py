"""From the workers' step logs to the pause of training."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

_FEW = 4


@dataclass(frozen=True, slots=True)
class Step:
    """One worker ended one step."""

    at: float
    world: int
    tag: str
    """Another one after every change of the group."""
    rank: int
    pid: int


def read_steps(directory: Path) -> list[Step]:
    """All steps of all workers, by time."""
    steps = []
    for path in directory.glob("*.jsonl"):
        *lines, _ = path.read_text(encoding="utf-8").split("\n")
        steps += [Step(**json.loads(line)) for line in lines]
    return sorted(steps, key=lambda step: step.at)


def latest(steps: list[Step], world: int, since: float = 0.0) -> list[Step]:
    """The newest steps if they were made by so many workers in one group, else nothing."""
    if not steps or steps[-1].world != world:
        return []
    return [step for step in steps if step.tag == steps[-1].tag and step.world == world and step.at > since]


def normal_step(steps: list[Step]) -> float:
    """The median time between two steps of one worker in one group."""
    gaps = []
    for pid, tag in {(step.pid, step.tag) for step in steps}:
        ends = [step.at for step in steps if (step.pid, step.tag) == (pid, tag)]
        gaps += [after - before for before, after in pairwise(ends)]
    return statistics.median(gaps)


def pauses(steps: list[Step], since: float) -> list[float]:
    """Seconds without progress at each change of the group after a moment, minus a normal step.

    Each is the time from the last step of one group to the first of the next; a system that needs several groups to
    get where it should has several of them.
    """
    tags = list(dict.fromkeys(step.tag for step in steps))
    first = {tag: min(step.at for step in steps if step.tag == tag) for tag in tags}
    last = {tag: max(step.at for step in steps if step.tag == tag) for tag in tags}
    found = []
    for old, new in pairwise(tags):
        if first[new] > since:
            usual = normal_step(_enough(steps, new) or _enough(steps, old) or steps)
            found.append(max(0.0, first[new] - last[old] - usual))
    return found


def _enough(steps: list[Step], tag: str) -> list[Step]:
    """The steps of a group, if they tell what a normal one takes; the first ones of a group do not."""
    own = [step for step in steps if step.tag == tag]
    return own if len(own) >= _FEW * len({step.pid for step in own}) else []
