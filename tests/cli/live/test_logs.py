"""`tenuto logs`: what workers printed, whole, once, and to the end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.cli.live.site import TOKEN, Site, a_store, as_json, ok, served, tenuto

from tenuto.cli import log_follow
from tenuto.model.phase import Phase
from tenuto.wire.worker import WorkerId


class Follower:
    """`tenuto logs -f` in the background; it has read once when it is made."""

    def __init__(self, begun: threading.Event, *arguments: str) -> None:
        self._told: list[str] = []
        self._thread = threading.Thread(target=self._run, args=arguments)
        self._thread.start()
        assert begun.wait(20)

    def _run(self, *arguments: str) -> None:
        self._told.append(ok("logs", "-f", *arguments))

    def ends(self) -> str:
        self._thread.join(20)
        assert not self._thread.is_alive(), "it goes on following"
        return self._told[0]


Follow = Callable[..., Follower]


@pytest.fixture(autouse=True)
def follow(monkeypatch: pytest.MonkeyPatch) -> Follow:
    begun, real = threading.Event(), log_follow.LogReader.read

    def watched(self: log_follow.LogReader, generation: int, *, tail: int | None = None) -> int:
        copied = real(self, generation, tail=tail)
        begun.set()
        return copied

    monkeypatch.setattr(log_follow, "LOOK_EVERY", 0.01)
    monkeypatch.setattr(log_follow.LogReader, "read", watched)
    return partial(Follower, begun)


@pytest.fixture
def job(site: Site) -> Site:
    site.add_job("k1", "train", phase=Phase.RUNNING, slots={"node-0": (0,)}, generation=1)
    site.add_attempt("k1")
    return site


def test_a_finished_log_is_shown_whole(job: Site) -> None:
    job.prints("k1", "żółw\n학습 10%\r학습 20%\r학습 100%\n")
    job.exits("k1")

    assert ok("logs", "train") == "żółw\n학습 100%\nProgram exit with code 0\n"
    assert ok("logs", "train", "--raw") == "żółw\n학습 10%\r학습 20%\r학습 100%\nProgram exit with code 0\n"


def test_several_workers_are_told_apart(job: Site) -> None:
    job.add_attempt("k1", 1)
    job.add_attempt("k1", 0, role="ps")
    for rank, role, text in ((0, "worker", "a\n"), (1, "worker", "b\n"), (0, "ps", "c\n")):
        job.prints("k1", text, rank, role=role)

    assert ok("logs", "train").splitlines() == ["worker/0 | a", "worker/1 | b", "ps/0     | c"]
    assert ok("logs", "train", "--rank", "1") == "b\n"
    assert ok("logs", "train", "--role", "ps") == "c\n"


def test_every_generation_can_be_read_after_a_restart(job: Site) -> None:
    job.prints("k1", "first\n")
    job.exits("k1", code=1)
    job.change("k1", generation=2)
    job.prints("k1", "second\n", generation=2)

    assert ok("logs", "train") == "first\nProgram exit with code 1\nsecond\n"
    assert ok("logs", "train", "--attempt", "1") == "first\nProgram exit with code 1\n"
    assert ok("logs", "train", "--generation", "2") == "second\n"
    assert ok("logs", "train", "--tail", "1") == "second\n"
    assert as_json("logs", "train")["parts"][0]["text"] == "second\n"


def test_a_log_longer_than_a_piece_is_read_whole(job: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_follow, "PIECE", 1000)
    text = "".join(f"line {number} żółw\n" for number in range(1000))
    job.prints("k1", text)

    assert ok("logs", "train") == text


def test_a_log_whose_beginning_was_removed_says_so_once(job: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_follow, "PIECE", 1000)
    job.prints("k1", "gone\n")
    job.prints("k1", "kept\n" * 1000)
    worker = WorkerId("k1", 1, "worker", 0)
    end = job.logs.extent(worker)[1]
    job.logs.drop(worker, end, ended=True)
    job.logs.append(worker, end, b"last words\n")

    shown = tenuto("logs", "train")

    assert shown.stdout == "last words\n"
    assert shown.stderr.count(f"{end:,} bytes of worker/0 were removed") == 1


def test_only_the_last_lines(job: Site) -> None:
    job.prints("k1", "".join(f"{number}\n" for number in range(500)))

    assert ok("logs", "train", "--tail", "2") == "498\n499\n"


def test_following_ends_with_the_job_and_misses_nothing(job: Site, follow: Follow) -> None:
    job.prints("k1", "".join(f"old {number}\n" for number in range(300)))
    follower = follow("train")
    job.prints("k1", "new\n")
    job.exits("k1")
    job.change("k1", generation=2)
    job.add_attempt("k1", generation=2)
    job.prints("k1", "again\n", generation=2)
    job.exits("k1", generation=2)
    job.change("k1", phase=Phase.SUCCEEDED, ended_at=time.time())

    lines = follower.ends().splitlines()

    assert lines[-4:] == ["new", "Program exit with code 0", "again", "Program exit with code 0"]
    olds = [line for line in lines if line.startswith("old")]
    assert len(olds) <= 100
    assert olds[-1] == "old 299"


def test_one_generation_is_followed_to_its_end(job: Site) -> None:
    job.prints("k1", "first\n")
    job.exits("k1")
    job.change("k1", generation=2)

    assert ok("logs", "-f", "train", "--generation", "1") == "first\nProgram exit with code 0\n"


def test_the_rest_of_a_log_that_comes_late_is_waited_for(job: Site, follow: Follow) -> None:
    """The job's end is known before the node has sent the last bytes."""
    job.prints("k1", "first\n")
    job.add_attempt("k1", ended_at=time.time(), exit_code=0)
    job.change("k1", phase=Phase.SUCCEEDED, ended_at=time.time())
    follower = follow("train")
    job.prints("k1", "last\nProgram exit with code 0\n")

    assert follower.ends() == "first\nlast\nProgram exit with code 0\n"


def test_a_node_that_never_sends_the_rest_is_not_waited_for_for_ever(
    job: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_follow, "LINGER", 0.05)
    job.prints("k1", "last words")
    job.add_attempt("k1", ended_at=time.time())
    job.change("k1", phase=Phase.LOST, ended_at=time.time())

    assert ok("logs", "-f", "train") == "last words\n"


def test_following_survives_a_restart_of_the_server(
    follow: Follow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, logs = a_store(), tmp_path / "logs"
    monkeypatch.setenv("TENUTO_TOKEN", TOKEN)
    with served(store, logs) as server:
        site = server.on(store, logs)
        port = int(server.url.rpartition(":")[2])
        site.add_job("k1", "train", phase=Phase.RUNNING, generation=1)
        site.add_attempt("k1")
        site.prints("k1", "before\n")
        follower = follow("train", "--server", server.url)
    site.prints("k1", "meanwhile\n")
    with served(store, logs, port):
        site.exits("k1")
        site.change("k1", phase=Phase.SUCCEEDED, ended_at=time.time())

        assert follower.ends() == "before\nmeanwhile\nProgram exit with code 0\n"


def test_a_job_that_never_began_has_nothing_to_show(site: Site) -> None:
    site.add_job("k1", "학습")

    result = tenuto("logs", "학습")

    assert (result.stdout, result.stderr) == ("", "학습 is queued; nothing was printed yet.\n")


def test_json_and_follow_exclude_each_other(job: Site) -> None:
    assert tenuto("logs", "-f", "train", "--json").exit_code == 2
