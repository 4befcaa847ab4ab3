"""Whose a process is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tenuto.monitor.whose import Owner, Whose
from tenuto.wire import env


class Processes:
    """What a kernel would tell of processes, in files of a test's own."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.whose = Whose(str(directory))

    def begin(
        self, pid: int, variables: Mapping[str, str] | None = None, *, started: int = 100, parent: int = 1
    ) -> None:
        own = self._directory / str(pid)
        own.mkdir(exist_ok=True)
        (own / "stat").write_text(f"{pid} (a) strange ) name) S {parent} " + "0 " * 17 + f"{started} 0 0\n")
        (own / "cmdline").write_bytes("/opt/내 python\0train.py\0".encode())
        (own / "comm").write_text("python\n")
        environ = "\0".join(
            f"{name}={value}" for name, value in {"PATH": "/bin", **(variables or {})}.items()
        )
        (own / "environ").write_bytes(environ.encode())

    def owner(self, pid: int, now: float = 0.0) -> Owner:
        return self.whose.of(pid, now)


@pytest.fixture
def processes(tmp_path: Path) -> Processes:
    return Processes(tmp_path)


def ours(job: str = "일-1") -> dict[str, str]:
    return {env.JOB_ID: job, env.WORKER: f"{job}.1.worker.0"}


def test_a_worker_is_known_by_its_variables(processes: Processes, tmp_path: Path) -> None:
    processes.begin(7, ours())

    assert processes.owner(7) == Owner(
        name="내 python", user=tmp_path.owner(), job="일-1", worker="일-1.1.worker.0"
    )


def test_a_worker_that_is_not_told_its_name_has_one(processes: Processes) -> None:
    told = {env.JOB_ID: "일-1", env.GENERATION: "3", env.ROLE: "ps", env.RANK: "2"}
    processes.begin(7, told)
    processes.begin(8, {env.JOB_ID: "일-1"})

    assert processes.owner(7).worker == "일-1.3.ps.2"
    assert (processes.owner(8).job, processes.owner(8).worker) == ("일-1", None)


def test_ranks_that_a_worker_gives_to_its_children_are_none_of_ours(processes: Processes) -> None:
    told = {env.JOB_ID: "a", env.GENERATION: "1", env.ROLE: "worker", env.RANK: "1"}
    processes.begin(6, {env.JOB_ID: "another", env.WORKER: "another.1.worker.0"})
    processes.begin(7, told, parent=6)
    processes.begin(8, {**told, env.RANK: "13"}, parent=7)

    assert processes.owner(8).worker == "a.1.worker.1"


def test_a_process_without_variables_belongs_to_whoever_started_it(processes: Processes) -> None:
    processes.begin(7, ours())
    processes.begin(8, parent=7)
    processes.begin(9, parent=8)
    processes.begin(10)

    assert [processes.owner(pid).job for pid in (8, 9, 10)] == ["일-1", "일-1", None]


def test_a_pid_that_starts_anew_is_another_process(processes: Processes) -> None:
    processes.begin(7, ours("a"))
    assert processes.owner(7).job == "a"

    processes.begin(7, ours("b"), started=101)

    assert processes.owner(7).job == "b"


def test_what_is_known_is_not_read_again_and_a_stranger_is_after_a_while(
    processes: Processes, tmp_path: Path
) -> None:
    processes.begin(7, ours())
    processes.begin(8)
    assert [processes.owner(pid).job for pid in (7, 8)] == ["일-1", None]
    (tmp_path / "7" / "environ").unlink()
    processes.begin(8, ours("later"))

    assert [processes.owner(pid, now=5.0).job for pid in (7, 8)] == ["일-1", None]
    assert [processes.owner(pid, now=15.0).job for pid in (7, 8)] == ["일-1", "later"]


def test_what_is_of_no_interest_any_more_is_forgotten(processes: Processes, tmp_path: Path) -> None:
    processes.begin(7, ours())
    processes.owner(7)
    (tmp_path / "7" / "environ").unlink()

    processes.whose.forget_all_but({8})

    assert processes.owner(7).job is None


def test_nobody_knows_whose_a_process_is_that_is_gone_or_not_for_us_to_see(
    processes: Processes, tmp_path: Path
) -> None:
    processes.begin(7)
    (tmp_path / "7" / "environ").unlink()
    (tmp_path / "7" / "cmdline").write_bytes(b"")

    assert processes.owner(7) == Owner(name="python", user=tmp_path.owner())
    assert processes.owner(404) == Owner()


def test_ancestors_that_go_round_in_a_circle_come_to_an_end(processes: Processes) -> None:
    processes.begin(7, parent=8)
    processes.begin(8, parent=7)

    assert processes.owner(7).job is None
