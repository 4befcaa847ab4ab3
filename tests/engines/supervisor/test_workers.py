"""What happens to one worker on a node: real processes, from the order to the exit code."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.engines.supervisor.node import Desk, Node, a_program, a_script, an_order, environment_of

from tenuto.wire.worker import ExitReason, WorkerState

STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print("daemon", os.getpid(), flush=True)
        time.sleep(1000)
    os._exit(0)
os.wait()
print("ready", flush=True)
time.sleep(1000)
"""


def test_a_worker_is_started_and_its_exit_code_and_output_are_told(desk: Desk, tmp_path: Path) -> None:
    workdir = tmp_path / "katalog 학습"
    workdir.mkdir()
    order = a_script(
        'echo "$GREETING z $PWD"; echo 잘못 >&2; printf nieskończone; exit 3',
        env={"GREETING": "你好"},
        cwd=str(workdir),
    )

    desk.want(order)
    seen = desk.until_exited(order)

    assert (seen.exit_code, seen.reason, seen.slot) == (3, ExitReason.ENDED, 0)
    assert seen.started_at is not None
    assert seen.ended_at is not None
    assert seen.started_at <= seen.ended_at
    log = desk.until_logged(order, "exit with code")
    assert log == f"你好 z {workdir}\n잘못\nnieskończone\nProgram exit with code 3\n"


def test_a_worker_that_dies_of_a_signal_has_the_code_that_a_shell_tells(desk: Desk) -> None:
    order = a_script("kill -9 $$")

    desk.want(order)

    assert desk.until_exited(order).exit_code == 128 + signal.SIGKILL


def test_a_worker_that_closes_its_output_is_waited_for_all_the_same(desk: Desk, tmp_path: Path) -> None:
    gate = _never(tmp_path)
    order = a_script(f"echo 안녕; exec 1>&- 2>&-; read x < {gate}; exit 7")
    desk.want(order)
    desk.until_logged(order, "안녕")

    gate.write_text("go on\n")

    assert desk.until_exited(order).exit_code == 7


def test_a_worker_gets_its_environment_and_no_secret(desk: Desk) -> None:
    order = an_order(
        env={"RANK": "0", "EMPTY": "", "PATH": "/usr/bin:/bin"}, path_first="/opt/środowisko/bin"
    )

    desk.want(order)
    pid = desk.until_running(order).pid

    assert pid is not None
    variables = environment_of(pid)
    assert variables["RANK"] == "0"
    assert variables["EMPTY"] == ""
    assert variables["PATH"] == "/opt/środowisko/bin:/usr/bin:/bin"
    assert variables["HOME"] == os.environ["HOME"]
    assert "TENUTO_TOKEN" not in variables


def test_a_worker_may_open_only_so_many_files(desk: Desk) -> None:
    order = a_script("ulimit -n", files=123)

    desk.want(order)

    assert "123\n" in desk.until_logged(order, "exit with code")


def test_a_worker_is_held_to_its_share_of_the_cores(desk: Desk) -> None:
    cores = len(os.sched_getaffinity(0))
    order = a_program("import os; print('cores', len(os.sched_getaffinity(0)))", cpus=0.5)

    desk.want(order)

    assert f"cores {min(1, cores)}\n" in desk.until_logged(order, "exit with code")


@pytest.mark.parametrize(
    ("fields", "message", "code"),
    [
        (
            {"argv": ("brak-programu-없음",)},
            "the command 'brak-programu-없음' cannot be started: No such file",
            127,
        ),
        ({"argv": ("/etc/passwd",)}, "the command '/etc/passwd' cannot be started: Permission denied", 126),
        (
            {"argv": ("true",), "cwd": "/nie/ma"},
            "the working directory '/nie/ma' cannot be entered: No such",
            126,
        ),
        (
            {"argv": ("true",), "environment": "/nie/ma/venv", "path_first": "/nie/ma/venv/bin"},
            "the environment '/nie/ma/venv' is not there",
            127,
        ),
        (
            {"argv": ("true",), "environment": "/usr/bin/python없음", "path_first": "/usr/bin"},
            "the environment '/usr/bin/python없음' is not there",
            127,
        ),
    ],
)
def test_a_command_that_cannot_be_started_is_told_as_such(
    desk: Desk, fields: dict[str, Any], message: str, code: int
) -> None:
    order = an_order(**fields)

    desk.want(order)
    seen = desk.until_exited(order)

    assert (seen.reason, seen.exit_code, seen.pid) == (ExitReason.NOT_STARTED, code, None)
    assert seen.message.startswith(message)
    assert desk.until_logged(order, "exit with code").startswith(message)


def test_a_worker_that_is_not_wanted_is_asked_to_end_and_forgotten(desk: Desk) -> None:
    order = a_program(
        "import signal, sys\n"
        "signal.signal(signal.SIGTERM, lambda *_: (print('zapisano', flush=True), sys.exit(143)))\n"
        "print('ready', flush=True)\n"
        "signal.pause()"
    )
    desk.want(order)
    desk.until_logged(order, "ready")

    desk.want()
    desk.until_forgotten(order)

    assert desk.log(order) == "ready\nzapisano\nProgram exit with code 143\n"


def test_what_a_shell_started_may_finish_saving_though_the_shell_is_gone(desk: Desk, tmp_path: Path) -> None:
    """A compound command line leaves a shell above the program, and it dies of SIGTERM at once."""
    saved = tmp_path / "저장"
    order = a_script(
        f"cd / && (trap 'sleep 0.3; echo saved > {saved}; exit 0' TERM; echo ready; read x < {_never(tmp_path)}); :"
    )
    desk.want(order)
    desk.until_logged(order, "ready")

    desk.want()
    desk.until_forgotten(order)

    assert saved.read_text() == "saved\n"


def test_a_worker_that_will_not_end_is_killed_with_all_that_it_started(desk: Desk, node: Node) -> None:
    order = a_program(STUBBORN, grace=0.2)
    desk.want(order)
    desk.until_logged(order, "ready")
    everything = node.pids()

    desk.want()
    desk.until_forgotten(order)

    assert len(everything) == 4  # supervisor, shim, worker, daemon
    assert node.pids() == {node.pid}
    assert desk.log(order).endswith("Program exit with code 137\n")


def test_what_a_worker_leaves_behind_is_cleared_away(desk: Desk, node: Node) -> None:
    order = a_script("setsid sleep 1000 & sleep 1000 & trap '' TERM; exec 3>&1; (sleep 1000 &) ; exit 0")

    desk.want(order)
    seen = desk.until_exited(order)

    assert (seen.exit_code, seen.reason) == (0, ExitReason.ENDED)
    assert node.pids() - {node.pid} <= {node.shim_pid(order)}


def test_an_order_that_is_repeated_after_the_end_starts_nothing(desk: Desk, tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    order = a_script(f"echo started >> {starts}")
    desk.want(order)
    desk.until_exited(order)
    later = an_order("later", slot=1)

    desk.want(order, later)
    desk.until_running(later)

    assert desk.until_exited(order).exit_code == 0
    assert starts.read_text() == "started\n"


def test_a_slot_is_handed_over_when_its_holder_has_gone(desk: Desk, tmp_path: Path) -> None:
    gate = _never(tmp_path)
    slow = a_script(
        f"trap 'read x < {gate}; exit 143' TERM; echo ready; while :; do sleep 0.01; done", "slow"
    )
    heir = an_order("heir")
    desk.want(slow)
    desk.until_logged(slow, "ready")

    desk.want(heir)

    desk.until_state(slow, WorkerState.STOPPING)
    desk.until_state(heir, WorkerState.WAITING)
    gate.write_text("go on\n")
    desk.until_running(heir)
    desk.until_forgotten(slow)


def test_a_worker_over_its_memory_is_killed_and_the_reason_is_told(desk: Desk) -> None:
    order = a_program("import time; x = bytearray(96 << 20); time.sleep(1000)", memory=64 << 20)

    desk.want(order)
    seen = desk.until_exited(order)

    assert (seen.reason, seen.exit_code) == (ExitReason.OUT_OF_MEMORY, 137)
    assert "its limit is 64 MiB" in seen.message


def test_the_last_whole_line_of_a_report_counts(desk: Desk) -> None:
    lines = """{"step": 1}\\n{"step": 12, "loss": 0.5, "note": "x", "bad": NaN}\\nno json\\n{"step": 13"""
    order = a_script(f"""printf '{lines}' > "$TENUTO_REPORT"; sleep 1000""")

    desk.want(order)
    desk.until(lambda: (seen := desk.seen(order)) and seen.step is not None)

    seen = desk.until_running(order)
    assert (seen.step, seen.data) == (12.0, {"loss": 0.5})


def test_the_report_that_a_worker_ends_with_is_told_with_its_end(desk: Desk) -> None:
    order = a_script("""echo '{"step": 7}' > "$TENUTO_REPORT" """)

    desk.want(order)

    assert desk.until_exited(order).step == 7


def test_output_beyond_the_spool_is_counted_and_the_newest_kept(desk: Desk, node: Node) -> None:
    """20 MB faster than anybody takes them; 1 MiB is kept until it is uploaded."""
    order = a_program("import sys\nfor i in range(200_000): sys.stdout.write(f'{i:099}\\n')")

    desk.want(order)
    desk.until_exited(order)
    desk.until(lambda: desk.logs.ends.get(order.id, 0) > 20_000_000)

    assert desk.log(order).endswith(f"{199_999:099}\nProgram exit with code 0\n")
    assert desk.logs.ends[order.id] == 20_000_000 + len("Program exit with code 0\n")
    assert sum(part.stat().st_size for part in (node.files(order) / "log").iterdir()) <= 1.2 * (1 << 20)


def _never(directory: Path) -> Path:
    """A pipe into which nobody writes before the story says so."""
    pipe = directory / "gate"
    os.mkfifo(pipe)
    return pipe
