"""Questions to nodes: asked while they wait for orders, answered by real supervisors, never in the way of orders."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.engines.builders import an_order
from tests.engines.real_nodes import until
from tests.engines.serving import TOKEN, Dialler, Server, an_app

from tenuto.doctor.finding import Finding, Status
from tenuto.engines.local import LocalEngine
from tenuto.engines.questions import Questions
from tenuto.wire.node import PROBE, TIME, Acknowledged, Answer, Hello, Question, Welcome

NODE = "узел-0"
HELLO = Hello(node=NODE, session="s-1", slots=(), address="10.0.0.1", version="1")
FOUND = Finding(topic="machine", name="clock", status=Status.WARNING, told="spät", value=3.5, unit="seconds")
HANG = 60.0


@pytest.fixture
def questions() -> Questions:
    return Questions()


@pytest.fixture
def engine() -> LocalEngine:
    return LocalEngine()


@pytest.fixture
def server(engine: LocalEngine, questions: Questions) -> Iterator[Server]:
    one = Server()
    one.app = an_app(engine, questions=questions)
    yield one
    engine.close()
    one.close()


@pytest.fixture
def node(server: Server) -> Iterator[Dialler]:
    with Dialler(server.url, node=NODE) as dialler:
        dialler.say("/hello", HELLO, Welcome)
        yield dialler


def test_a_question_ends_the_wait_for_orders_and_its_answer_is_kept(
    node: Dialler, questions: Questions, engine: LocalEngine
) -> None:
    engine.want(1, [])
    known = node.orders(node=NODE, asked=0, wait=0).version
    later = threading.Timer(0.05, lambda: questions.ask([NODE], ["/данные"]))
    later.start()

    orders = node.orders(node=NODE, term=1, known=known, asked=0, wait=HANG)
    later.join()

    assert orders.question == Question(id=1, paths=("/данные",), probe=PROBE)
    assert (orders.term, orders.workers) == (1, ())
    answer = Answer(node=NODE, session="s-1", question=1, findings=(FOUND,))
    node.say("/answers", answer, Acknowledged)
    assert questions.answers(1) == {NODE: (FOUND,)}
    assert node.orders(node=NODE, term=1, known=known, asked=0, wait=0).question is None


def test_a_question_that_was_asked_is_not_asked_again(node: Dialler, questions: Questions) -> None:
    questions.ask([NODE], [])

    assert node.orders(node=NODE, asked=1, wait=0).question is None


def test_a_question_does_not_stand_for_orders(
    node: Dialler, questions: Questions, engine: LocalEngine
) -> None:
    questions.ask([NODE], [])
    engine.want(1, [an_order(node=NODE)])

    orders = node.orders(node=NODE, asked=0, wait=HANG)

    assert orders.question is not None
    assert [order.node for order in orders.workers] == [NODE]


def test_a_supervisor_that_knows_no_questions_is_asked_none(node: Dialler, questions: Questions) -> None:
    questions.ask([NODE], [])

    assert node.orders(node=NODE, wait=0).question is None
    assert not questions.hears(NODE)
    node.orders(node=NODE, asked=1, wait=0)
    assert questions.hears(NODE)


def test_nodes_that_were_not_asked_are_not_listened_to(node: Dialler, questions: Questions) -> None:
    number = questions.ask(["another"], [])

    assert node.orders(node=NODE, asked=0, wait=0).question is None
    node.say("/answers", Answer(node=NODE, session="s-1", question=number, findings=(FOUND,)), Acknowledged)
    assert questions.answers(number) == {}


def test_old_questions_are_forgotten_and_many_nodes_measure_with_less(questions: Questions) -> None:
    first = questions.ask(["a"], [])
    for _ in range(20):
        questions.ask([str(number) for number in range(1000)], [])
    questions.answer(Answer(node="a", session="", question=first, findings=(FOUND,)))

    assert questions.answers(first) == {}
    newest = questions.for_node("7", 0)
    assert newest is not None
    assert 0 < newest.probe < PROBE


def test_a_probe_carries_bytes_both_ways_and_no_more_than_it_may(node: Dialler) -> None:
    got = node.http.post("/probe", params={"give": 1000}, content=bytes(2000))
    assert len(got.content) == 1000
    assert float(got.headers[TIME]) > 1e9

    assert node.http.post("/probe", params={"give": PROBE + 1}).status_code == 422
    assert node.http.post("/probe", content=bytes(PROBE + 1)).status_code == 413


def test_a_real_supervisor_says_how_it_finds_itself(
    server: Server, questions: Questions, engine: LocalEngine, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text(TOKEN)
    answered = threading.Event()
    questions.on_answer(answered.set)
    supervisor = subprocess.Popen(
        [
            *(sys.executable, "-P", "-m", "tenuto.engines.supervisor", "--dir", str(tmp_path / "desk")),
            *(
                "--node",
                "desk",
                "--server",
                server.url,
                "--token-file",
                str(tmp_path / "token"),
                "--warm",
                "",
            ),
        ],
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    try:
        until(lambda: questions.hears("desk"), "it waits for orders")
        number = questions.ask(["desk"], [str(tmp_path), "/нет/такого"])
        assert answered.wait(HANG)
    finally:
        supervisor.send_signal(signal.SIGTERM)
        assert supervisor.wait(HANG) == 0

    found = {(one.topic, one.name): one for one in questions.answers(number)["desk"]}
    assert found["directories", str(tmp_path)].status is Status.OK
    assert found["directories", "/нет/такого"].status is Status.PROBLEM
    assert found["server", "clock"].status is Status.OK
    assert all((found["server", way].value or 0) > 0 for way in ("to the server", "from the server"))
    assert found["parts", "python"].told.endswith(f"({sys.executable})")
