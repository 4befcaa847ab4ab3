"""Users of other systems find every state that they know under one name here, and every state of ours is reached."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.live.platform import Platform

from tenuto.model.job import Pin, Retry
from tenuto.model.phase import Phase


def queued() -> tuple[Platform, str]:
    here = Platform()
    here.submit(min_workers=4)
    return here, here.submit(min_workers=4)


def starting() -> tuple[Platform, str]:
    here = Platform()
    here.engine.hold_starts()
    return here, here.submit()


def running() -> tuple[Platform, str]:
    here = Platform()
    return here, here.submit()


def rescaling() -> tuple[Platform, str]:
    here, job = running()
    here.engine.slow_stopping(float("inf"))
    here.wish(job, pin=Pin(workers=1))
    return here, job


def succeeded() -> tuple[Platform, str]:
    here, job = running()
    here.exit(job)
    return here, job


def failed() -> tuple[Platform, str]:
    here, job = running()
    here.exit(job, 1)
    return here, job


def lost() -> tuple[Platform, str]:
    here = Platform()
    job = here.submit(retry=Retry(losses=0))
    here.engine.lose_node("node-0")
    here.pass_time(20.0)
    return here, job


def cancelled() -> tuple[Platform, str]:
    here, job = running()
    here.wish(job, cancel=True)
    return here, job


def paused() -> tuple[Platform, str]:
    here, job = running()
    here.wish(job, pause=True)
    return here, job


def declined() -> tuple[Platform, str]:
    here = Platform()
    return here, here.submit(steps=1e6, deadline=10.0)


def unschedulable() -> tuple[Platform, str]:
    here = Platform()
    return here, here.submit(min_workers=9, max_workers=9)


def held() -> tuple[Platform, str]:
    here, job = running()
    return here, here.submit(after=job)


def submitted() -> tuple[Platform, str]:
    here = Platform()
    return here, here.submit(settle=False)


PAGE = Path(__file__).parents[2] / "docs" / "states.md"
KNOWN = {
    "wait": "QUEUED",
    "pexec": "STARTING",
    "exec": "RUNNING",
    "accp": "SUCCEEDED",
    "err": "FAILED",
    "offline_error": "LOST",
    "term": "CANCELLED",
    "PENDING": "QUEUED",
    "END": "SUCCEEDED",
    "DECLINED": "DECLINED",
    "ContainerCreating": "STARTING",
    "Completed": "SUCCEEDED",
}
"""States of the systems before ours, and ours."""
Story = Callable[[], tuple[Platform, str]]
STORIES: dict[Phase, Story] = {
    Phase.SUBMITTED: submitted,
    Phase.HELD: held,
    Phase.QUEUED: queued,
    Phase.STARTING: starting,
    Phase.RUNNING: running,
    Phase.RESCALING: rescaling,
    Phase.PAUSED: paused,
    Phase.DECLINED: declined,
    Phase.UNSCHEDULABLE: unschedulable,
    Phase.SUCCEEDED: succeeded,
    Phase.FAILED: failed,
    Phase.CANCELLED: cancelled,
    Phase.LOST: lost,
}


@pytest.mark.parametrize("phase", Phase)
def test_every_state_is_reached(phase: Phase) -> None:
    here, job = STORIES[phase]()

    assert here.phase(job) is phase


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase is not Phase.SUBMITTED])
def test_every_state_comes_with_its_reason(phase: Phase) -> None:
    here, job = STORIES[phase]()

    found = here.job(job)
    assert found.why
    assert found.message
    assert here.events(job=job, kind="phase")[-1].reason


def test_the_page_tells_where_the_states_of_other_systems_are_found() -> None:
    [table] = re.findall(r"\| elsewhere \| here \|\n(.*?)\n\n", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    told = {
        name: ours
        for row in table.splitlines()[1:]
        for name in re.findall(r"`(\w+)`", row.split("|")[1])
        for ours in re.findall(r"`(\w+)`", row.split("|")[2])
    }

    assert told.items() >= KNOWN.items()
    assert set(told.values()) <= set(Phase.__members__)
