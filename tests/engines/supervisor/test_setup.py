"""A job's setup is done once on each node."""

from __future__ import annotations

from pathlib import Path

from tests.engines.supervisor.node import Desk, a_script, an_order

from tenuto.wire.worker import ExitReason, WorkerState


def test_two_workers_of_a_job_have_their_setup_done_once(desk: Desk, tmp_path: Path) -> None:
    done = tmp_path / "gotowe"
    setup = f"echo przygotowanie; echo once >> {done}"
    first, second = (
        a_script(f"cat {done}", "prepared", setup=setup, slot=rank, rank=rank) for rank in range(2)
    )

    desk.want(first, second)

    assert "once\nProgram exit with code 0\n" in desk.until_logged(first, "exit with code")
    assert "once\nProgram exit with code 0\n" in desk.until_logged(second, "exit with code")
    assert done.read_text() == "once\n"
    assert [desk.log(one).count("przygotowanie") for one in (first, second)] in ([1, 0], [0, 1])


def test_a_setup_may_make_the_environment(desk: Desk, tmp_path: Path) -> None:
    made = tmp_path / "środowisko"
    setup = f"mkdir -p '{made}/bin'; ln -s /bin/echo '{made}/bin/nasze-echo'"
    order = an_order(
        "", "nasze-echo", "jest", setup=setup, environment=str(made), path_first=str(made / "bin")
    )

    desk.want(order)

    assert desk.until_exited(order).exit_code == 0


def test_the_next_generation_finds_the_setup_done(desk: Desk, tmp_path: Path) -> None:
    done = tmp_path / "done"
    first, next_one = (a_script("true", "again", setup=f"echo x >> {done}", generation=g) for g in (1, 2))
    desk.want(first)
    desk.until_exited(first)

    desk.want(next_one)
    desk.until_exited(next_one)

    assert done.read_text() == "x\n"


def test_a_setup_that_fails_fails_every_worker_and_is_tried_again_by_the_next_generation(
    desk: Desk, tmp_path: Path
) -> None:
    tried = tmp_path / "tried"
    setup = f"echo x >> {tried}; test $(wc -l < {tried}) = 2 || exit 9"
    first, second = (a_script("echo run", "flaky", setup=setup, slot=rank, rank=rank) for rank in range(2))
    desk.want(first, second)

    ends = [desk.until_exited(one) for one in (first, second)]

    assert {(end.reason, end.exit_code) for end in ends} == {(ExitReason.SETUP_FAILED, 9)}
    assert {end.message for end in ends} == {"the setup ended with exit code 9"}
    assert tried.read_text() == "x\n"
    again = a_script("echo run", "flaky", setup=setup, generation=2)
    desk.want(again)
    assert desk.until_exited(again).exit_code == 0


def test_a_worker_that_is_not_wanted_any_more_stops_its_setup(desk: Desk) -> None:
    order = an_order(setup="echo preparing; sleep 1000")
    desk.want(order)
    desk.until_logged(order, "preparing")
    assert desk.until_state(order, WorkerState.WAITING).pid is None

    desk.want()
    desk.until_forgotten(order)

    assert desk.log(order).endswith("it was told to end before it started\nProgram exit with code 143\n")
