"""Supervisors, shims and workers are killed at every point, and nothing is lost, doubled or left over."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from tests.engines.supervisor.node import HANG, Desk, Node, a_program, a_script, an_order

from tenuto.engines.supervisor.records import Records
from tenuto.wire.worker import ExitReason, WorkerState

WITH_A_DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(1000)
    os._exit(0)
os.wait()
print("ready", flush=True)
time.sleep(1000)
"""


def test_a_supervisor_that_was_killed_takes_its_workers_over(desk: Desk, node: Node, tmp_path: Path) -> None:
    gate = tmp_path / "brama"
    os.mkfifo(gate)
    stays, ends = an_order(slot=0), a_script(f"read code < {gate}; echo 끝; exit $code", slot=1)
    desk.want(stays, ends)
    before = {desk.until_running(order).pid for order in (stays, ends)}

    node.kill()
    gate.write_text("5\n")
    desk.until((node.files(ends) / "exit.json").exists)
    node.start()
    seen = desk.until_exited(ends)

    assert (seen.exit_code, seen.reason) == (5, ExitReason.ENDED)
    assert {desk.until_running(stays).pid, seen.pid} == before
    assert desk.until_logged(ends, "exit with code") == "끝\nProgram exit with code 5\n"


def test_the_end_of_a_worker_that_was_taken_over_is_seen_at_once(desk: Desk, node: Node) -> None:
    order = an_order()
    desk.want(order)
    pid = desk.until_running(order).pid
    assert pid is not None
    node.kill()
    node.start()
    desk.until(node.has_signed_in)

    os.kill(pid, signal.SIGINT)

    assert desk.until_exited(order).exit_code == 128 + signal.SIGINT


def test_a_supervisor_that_is_told_to_end_leaves_its_workers_alone(desk: Desk, node: Node) -> None:
    order = an_order()
    desk.want(order)
    before = desk.until_running(order)

    assert node.terminate() == 0
    node.start()

    desk.until(node.has_signed_in)
    assert desk.until_running(order).pid == before.pid


def test_a_worker_whose_shim_is_killed_goes_with_it_and_is_told_as_vanished(
    desk: Desk,
    node: Node,
) -> None:
    order = a_program(WITH_A_DAEMON)
    desk.want(order)
    desk.until_logged(order, "ready")

    os.kill(node.shim_pid(order), signal.SIGKILL)
    seen = desk.until_exited(order)

    assert (seen.reason, seen.exit_code) == (ExitReason.VANISHED, None)
    assert node.pids() == {node.pid}
    assert "Program vanished: its shim is gone" in desk.until_logged(order, "vanished")


def test_what_was_killed_with_its_supervisor_is_found_vanished_and_not_started_again(
    desk: Desk, node: Node, tmp_path: Path
) -> None:
    starts = tmp_path / "starts"
    order = a_script(f"echo started >> {starts}; echo ready; sleep 1000")
    desk.want(order)
    desk.until_logged(order, "ready")

    for pid in node.pids():
        with suppress(ProcessLookupError):  # a worker goes with its shim
            os.kill(pid, signal.SIGKILL)
    node.kill()
    node.start()

    assert desk.until_exited(order).reason is ExitReason.VANISHED
    assert starts.read_text() == "started\n"


def test_an_order_whose_supervisor_died_before_starting_anything_is_carried_out(
    desk: Desk, node: Node, tmp_path: Path
) -> None:
    order = a_script(f"echo started >> {tmp_path / 'starts'}; sleep 1000")
    node.kill()
    records = Records(node.directory)
    records.add(order)
    records.close()
    desk.want(order)

    node.start()
    desk.until_running(order)

    desk.until(lambda: (tmp_path / "starts").exists() and (tmp_path / "starts").read_text() == "started\n")


def test_a_worker_that_was_told_to_stop_before_a_crash_is_stopped_after_it(
    desk: Desk,
    node: Node,
) -> None:
    order = a_script("trap '' TERM; echo ready; while :; do sleep 1; done", grace=1000.0)
    desk.want(order)
    desk.until_logged(order, "ready")
    desk.want()
    desk.until_state(order, WorkerState.STOPPING)
    node.kill()
    node.start()
    desk.until(node.has_signed_in)

    assert desk.until_state(order, WorkerState.STOPPING).pid is not None
    os.kill(node.shim_pid(order), signal.SIGKILL)
    desk.until_forgotten(order)


def test_a_worker_is_not_taken_for_another_that_has_its_pid_now(desk: Desk, node: Node) -> None:
    """The record names a process that is alive, but another one than was started: ours."""
    order = an_order()
    desk.want(order)
    desk.until_running(order)
    for pid in node.pids():
        os.kill(pid, signal.SIGKILL)
    node.kill()
    shim = node.files(order) / "shim.json"
    shim.write_text(shim.read_text().replace(f'"pid": {node.shim_pid(order)}', f'"pid": {os.getpid()}', 1))

    node.start()

    assert desk.until_exited(order).reason is ExitReason.VANISHED


def test_a_directory_has_one_supervisor(desk: Desk, node: Node) -> None:
    desk.until(node.has_signed_in)

    second = node.spawn(stderr=subprocess.PIPE)
    _, told = second.communicate(timeout=HANG)

    assert second.returncode == 5
    assert told.decode().startswith(f"another supervisor is at work in {node.directory}. ")


def test_a_half_written_record_is_cleared_away(desk: Desk, node: Node) -> None:
    node.kill()
    half = node.files(an_order("half"))
    half.mkdir(parents=True)
    (half / "order.json.new").write_text("{")

    node.start()
    order = an_order("whole")
    desk.want(order)
    desk.until_running(order)

    assert not half.exists()
