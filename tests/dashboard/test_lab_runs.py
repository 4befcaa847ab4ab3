"""Runs of the laboratory: checked, in line, one at a time, remembered; and no process outlives whoever watches it."""

from __future__ import annotations

import asyncio
import json
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.lab.experiments import DYING, HOLDING, a_policy, a_trace

from tenuto.dashboard.lab import runs as runs_module
from tenuto.dashboard.lab.record import Run, State
from tenuto.dashboard.lab.runs import LabRuns, Refused
from tenuto.errors import Busy, Conflict, NotFound
from tenuto.lab.orders import DIGEST, ReplayOrder

PATIENCE = 120
"""Seconds after which something is taken never to happen."""
SERVICE = """
import asyncio, sys
from pathlib import Path
from tests.dashboard.test_lab_runs import an_order, filled
from tenuto.dashboard.lab.runs import LabRuns

async def serve():
    runs = LabRuns(Path(sys.argv[1]))
    await runs.begin(an_order("inputs/holding.py"), "kim", filled, title="held")
    await asyncio.Event().wait()

asyncio.run(serve())
"""


def an_order(*policies: str, trace: str = "inputs/few.csv") -> ReplayOrder:
    return ReplayOrder(trace=trace, policies=policies, cluster="n1g2")


async def filled(inputs: Path) -> None:
    """Put a trace and some policies into the inputs of a run."""
    a_trace(inputs / "few.csv")
    a_policy(inputs / "holding.py", HOLDING)
    a_policy(inputs / "dying.py", DYING)


async def until(runs: LabRuns, run: Run, *states: State) -> Run:
    """Wait for a run to get somewhere."""
    changed = asyncio.Event()
    end = runs.listen(changed.set)
    async with asyncio.timeout(PATIENCE):
        while runs.get(run.id).state not in states:
            await changed.wait()
            changed.clear()
    end()
    return runs.get(run.id)


def told(directory: Path, story: Callable[[LabRuns], Awaitable[None]]) -> None:
    """Let a story happen with a service that ends in good order."""

    async def happen() -> None:
        runs = LabRuns(directory)
        try:
            await story(runs)
        finally:
            await runs.close()

    work: Coroutine[Any, Any, None] = happen()
    asyncio.run(work)


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A pipe that a run under the policy `holding` keeps open until its process ends."""
    hold = tmp_path / "hold"
    os.mkfifo(hold)
    monkeypatch.setenv("HOLD", str(hold))
    pipe = os.open(hold, os.O_RDONLY | os.O_NONBLOCK)
    yield pipe
    os.close(pipe)


def stands(pipe: int) -> None:
    """Wait until a run stands still."""
    assert select.select([pipe], [], [], PATIENCE)[0]
    assert os.read(pipe, 100) == b"standing"


def is_gone(pipe: int) -> bool:
    """Wait until nobody holds the pipe any more."""
    return bool(select.select([pipe], [], [], PATIENCE)[0]) and os.read(pipe, 100) == b""


def test_a_run_ends_with_its_numbers_and_is_known_to_the_next_server(tmp_path: Path) -> None:
    async def story(runs: LabRuns) -> None:
        begun = await runs.begin(an_order("fifo", "edf"), "김", filled, title="few", rules="as usual")
        done = await until(runs, begun, State.DONE)

        assert (done.part, done.finished, done.cells, done.trouble) == (1.0, 2, 2, "")
        digest = json.loads((runs.directory(begun.id) / DIGEST).read_text())
        assert [telling["name"] for telling in digest["tellings"]] == ["fifo", "edf"]
        with pytest.raises(Conflict):
            await runs.cancel(begun.id)
        with pytest.raises(Conflict):
            await runs.go_on(begun.id)

    told(tmp_path / "lab", story)
    [again] = LabRuns(tmp_path / "lab").all()
    assert (again.state, again.user, again.title, again.rules) == (State.DONE, "김", "few", "as usual")


def test_what_is_refused_leaves_nothing_behind(tmp_path: Path) -> None:
    async def wrong(inputs: Path) -> None:
        trace = a_trace(inputs / "few.csv")
        trace.write_text(trace.read_text().replace("20000", "many", 1))

    async def story(runs: LabRuns) -> None:
        with pytest.raises(Refused, match=r"^few.csv, line 2, column 'steps'"):
            await runs.begin(an_order("fifo"), "kim", wrong, title="wrong")
        with pytest.raises(Refused, match="there is no policy 'ffo'"):
            await runs.begin(an_order("ffo"), "kim", filled, title="wrong")
        assert runs.all() == []

    told(tmp_path / "lab", story)
    assert list((tmp_path / "lab").iterdir()) == []


def test_one_runs_at_a_time_and_a_cancelled_one_makes_room(tmp_path: Path, held: int) -> None:
    async def story(runs: LabRuns) -> None:
        first = await runs.begin(an_order("inputs/holding.py"), "kim", filled, title="first")
        await asyncio.to_thread(stands, held)
        second = await runs.begin(an_order("fifo"), "kim", filled, title="second")
        assert (runs.get(first.id).state, runs.get(second.id).state) == (State.RUNNING, State.WAITING)
        with pytest.raises(Conflict):
            await runs.remove(first.id)

        await runs.cancel(first.id)

        assert await asyncio.to_thread(is_gone, held)
        await until(runs, second, State.DONE)
        assert runs.get(first.id).state is State.CANCELLED
        await runs.remove(first.id)
        with pytest.raises(NotFound):
            runs.directory(first.id)

    told(tmp_path / "lab", story)


def test_a_run_that_the_end_of_the_server_interrupts_can_go_on(
    tmp_path: Path, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def first(runs: LabRuns) -> None:
        await runs.begin(an_order("inputs/holding.py"), "kim", filled, title="held")
        await asyncio.to_thread(stands, held)

    async def second(runs: LabRuns) -> None:
        [run] = runs.all()
        assert run.state is State.INTERRUPTED
        await runs.go_on(run.id)
        await until(runs, run, State.DONE)

    told(tmp_path / "lab", first)
    assert is_gone(held)
    monkeypatch.delenv("HOLD")
    told(tmp_path / "lab", second)


def test_nothing_outlives_a_server_that_is_killed(tmp_path: Path, held: int) -> None:
    with subprocess.Popen([sys.executable, "-c", SERVICE, str(tmp_path / "lab")]) as service:
        stands(held)
        service.kill()
    assert is_gone(held)


def test_a_process_that_dies_is_a_failure_with_a_reason(tmp_path: Path) -> None:
    async def story(runs: LabRuns) -> None:
        run = await runs.begin(an_order("inputs/dying.py"), "kim", filled, title="dies")
        failed = await until(runs, run, State.FAILED)
        assert "was killed" in failed.trouble

    told(tmp_path / "lab", story)


def test_only_so_many_are_kept_and_may_wait(
    tmp_path: Path, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs_module, "MOST_KEPT", 2)
    monkeypatch.setattr(runs_module, "MOST_WAITING", 1)

    async def story(runs: LabRuns) -> None:
        names = []
        for number in range(2):
            run = await runs.begin(an_order("fifo"), "kim", filled, title=str(number))
            names.append((await until(runs, run, State.DONE)).id)
        await runs.begin(an_order("inputs/holding.py"), "kim", filled, title="third")
        assert names[0] not in {run.id for run in runs.all()}
        await runs.begin(an_order("fifo"), "kim", filled, title="fourth")
        with pytest.raises(Busy):
            await runs.begin(an_order("fifo"), "kim", filled, title="fifth")

    told(tmp_path / "lab", story)


def test_what_was_never_begun_and_what_is_not_ours_is_told_apart(tmp_path: Path) -> None:
    unfinished, other = tmp_path / "20261118-010203-abcdef", tmp_path / "notes"
    unfinished.mkdir()
    other.mkdir()

    assert LabRuns(tmp_path).all() == []
    assert (unfinished.exists(), other.exists()) == (False, True)
    shutil.rmtree(other)
    assert LabRuns(tmp_path / "nowhere").all() == []
