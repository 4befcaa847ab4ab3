"""A supervisor and its server: away, back, forgetful, strange, or gone for too long."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.engines.supervisor.node import HANG, NODE, Desk, Node, a_node, a_script, an_order, some_settings

from tenuto.wire.worker import ExitReason


def test_training_goes_on_without_the_server_and_everything_is_told_when_it_is_back(
    desk: Desk, node: Node, tmp_path: Path
) -> None:
    gate = tmp_path / "문"
    os.mkfifo(gate)
    ends, stays = a_script(f"read x < {gate}; echo $x; exit 4"), an_order(slot=1)
    desk.want(ends, stays)
    pid = desk.until_running(stays).pid
    desk.until_running(ends)

    desk.down()
    gate.write_text("sam w domu\n")
    desk.until((node.files(ends) / "exit.json").exists)
    desk.up()
    desk.want(ends, stays)

    assert desk.until_exited(ends).exit_code == 4
    assert desk.until_running(stays).pid == pid
    assert desk.until_logged(ends, "exit with code") == "sam w domu\nProgram exit with code 4\n"


def test_a_server_that_comes_back_elsewhere_is_found(desk: Desk, node: Node) -> None:
    order = an_order()
    desk.want(order)
    pid = desk.until_running(order).pid
    before = desk.url
    desk.down()

    desk.port = 0
    desk.up()
    node.write_url()
    desk.want(order)

    assert desk.until_running(order).pid == pid
    assert desk.url != before


@pytest.mark.parametrize("restarted", [False, True], ids=["alive", "restarted"])
def test_orders_of_an_older_term_are_refused(desk: Desk, node: Node, *, restarted: bool) -> None:
    order = an_order()
    desk.term += 10
    desk.want(order)
    pid = desk.until_running(order).pid
    desk.down()
    if restarted:
        node.kill()
        node.start()
    desk.up()
    newest, desk.term = desk.term, desk.term - 5

    desk.want()
    desk.until(lambda: f"orders of term {desk.term}" in node.complaints())

    assert desk.until_running(order).pid == pid
    desk.term = newest


def test_workers_are_stopped_when_the_server_is_away_for_too_long(tmp_path: Path) -> None:
    with a_node(tmp_path, some_settings(dead_man=0.5)) as (desk, node):
        order = an_order()
        desk.want(order)
        desk.until_running(order)

        desk.down()
        desk.until((node.files(order) / "exit.json").exists)
        desk.up()
        desk.want(order)

        seen = desk.until_exited(order)
        assert (seen.reason, seen.exit_code) == (ExitReason.DEAD_MAN, 143)
        assert seen.message == "the server was away for more than 0.5 s"


def await_next_report(desk: Desk) -> None:
    before = desk.engine.observe().nodes[NODE].heard_at
    desk.until(lambda: desk.engine.observe().nodes[NODE].heard_at > before)


def test_a_supervisor_that_was_halted_itself_does_not_stop_its_workers_for_it(tmp_path: Path) -> None:
    with a_node(tmp_path, some_settings(dead_man=1.0)) as (desk, node):
        order = an_order()
        desk.want(order)
        pid = desk.until_running(order).pid
        assert node.process is not None

        node.process.send_signal(signal.SIGSTOP)
        halted_at = time.monotonic()
        desk.until(lambda: time.monotonic() > halted_at + 2.0)
        node.process.send_signal(signal.SIGCONT)
        for _ in range(3):
            await_next_report(desk)

        assert desk.until_running(order).pid == pid
        assert not (node.files(order) / "exit.json").exists()


def test_a_later_supervisor_of_the_same_name_takes_the_place_of_the_earlier(
    own_node: Node, tmp_path: Path
) -> None:
    node, desk = own_node, own_node.desk
    order = an_order()
    desk.want(order)
    desk.until_running(order)
    earlier = node.process
    assert earlier is not None

    node.directory = tmp_path / "elsewhere"
    node.start()

    assert earlier.wait(HANG) == 5
    assert f"another supervisor speaks for node {NODE} now" in node.complaints()
    desk.until(node.has_signed_in)
    assert desk.until_running(order).pid in node.pids()


def test_a_node_whose_token_is_wrong_is_told_so(node: Node, tmp_path: Path) -> None:
    token = tmp_path / "zły"
    token.write_text("wrong")

    code, told = _refusal(node, "--dir", str(tmp_path / "other"), "--token-file", str(token))

    assert code == 6
    assert "token" in told


def test_a_token_file_that_is_not_there_is_told_so(node: Node, tmp_path: Path) -> None:

    code, told = _refusal(node, "--dir", str(tmp_path / "other"), "--token-file", str(tmp_path / "nie ma"))

    assert (code, told) == (
        2,
        f"there is no token in {tmp_path / 'nie ma'}. Copy node-token from the server's home there\n",
    )


@pytest.mark.parametrize(
    ("status", "body", "code", "sentence"),
    [
        (
            426,
            {"code": "protocol", "message": "It speaks version 2", "remedy": "Upgrade"},
            5,
            "It speaks version 2. Upgrade",
        ),
        (404, {"detail": "Not Found"}, 4, "is no tenuto server"),
    ],
)
def test_a_server_of_another_kind_is_refused(
    tmp_path: Path, status: int, body: dict[str, str], code: int, sentence: str
) -> None:
    with _answering(status, body) as url:
        desk = Desk(some_settings())
        desk.port = int(url.rpartition(":")[2])
        node = Node(desk, tmp_path)

        told = _refusal(node)

    assert told[0] == code
    assert sentence in told[1]


def _refusal(node: Node, *arguments: str) -> tuple[int, str]:
    process = node.spawn(*arguments, stderr=subprocess.PIPE)
    _, told = process.communicate(timeout=HANG)
    return process.returncode, told.decode()


@contextmanager
def _answering(status: int, body: dict[str, str]) -> Iterator[str]:
    """A server that answers everything alike."""

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
