"""The protocol between supervisors and the server, over real HTTP."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

import httpx
import pytest
from tests.engines.builders import an_id, an_order
from tests.engines.serving import TOKEN, Dialler, KeptLogs, Server, an_app

from tenuto.engines.local import LocalEngine
from tenuto.model.node import Slot
from tenuto.server.assignments import Assignments
from tenuto.server.auth import JOIN, Gate, digest_of
from tenuto.server.node_credentials import NodeCredentials
from tenuto.settings import Nodes, Settings
from tenuto.store.base import Store, StoreUnavailable, Token, Tx
from tenuto.store.memory import MemoryStore
from tenuto.wire.node import LOG_CHUNK, PREFIX, Acknowledged, Hello, Orders, Report, Stored, Welcome
from tenuto.wire.worker import ExitReason, WorkerSeen, WorkerState

T = TypeVar("T")
HELLO = Hello(
    node="노드-0", session="s-1", slots=(Slot(device="0", kind="A100"),), address="10.0.0.1", version="1"
)
NOTHING = Report(node="노드-0", session="s-1", workers=())
SETTINGS = Settings(nodes=Nodes(heartbeat=0.5, dead_man=60.0))


@pytest.fixture
def engine() -> LocalEngine:
    return LocalEngine()


@pytest.fixture
def logs() -> KeptLogs:
    return KeptLogs()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    one = Server()
    yield one
    one.close()


@pytest.fixture
def url(server: Server, engine: LocalEngine, logs: KeptLogs) -> Iterator[str]:
    server.app = an_app(engine, logs, SETTINGS)
    yield server.url
    engine.close()


@pytest.fixture
def node(url: str) -> Iterator[Dialler]:
    with Dialler(url) as dialler:
        yield dialler


def refusal(response: httpx.Response, status: int) -> str:
    """The code of a refusal, whose shape is checked."""
    told = response.json()
    assert response.status_code == status
    assert set(told) == {"code", "message", "remedy", "field"}
    assert told["message"]
    assert told["remedy"]
    return str(told["code"])


def test_a_supervisor_says_hello_and_is_told_the_settings(node: Dialler) -> None:
    welcome = node.say("/hello", HELLO, Welcome)

    assert welcome == Welcome(heartbeat=0.5, dead_man=60.0, spool_bytes=Settings().logs.spool_bytes)


def test_what_a_supervisor_reports_is_observed(node: Dialler, engine: LocalEngine) -> None:
    worker = WorkerSeen(
        id=an_id("zadanie-ż"),
        node="노드-0",
        state=WorkerState.EXITED,
        exit_code=3,
        reason=ExitReason.ENDED,
        step=12.0,
        data={"loss": 0.25},
    )
    node.say("/hello", HELLO, Welcome)
    node.say("/report", replace(NOTHING, workers=(worker,), ports=(4711,)), Acknowledged)

    seen = engine.observe()
    assert seen.workers == {worker.id: worker}
    assert seen.nodes["노드-0"].slots == HELLO.slots
    assert seen.nodes["노드-0"].ports == (4711,)


def test_a_node_speaks_only_for_its_own_workers(node: Dialler, engine: LocalEngine) -> None:
    stranger = WorkerSeen(id=an_id(), node="elsewhere", state=WorkerState.RUNNING)
    node.say("/hello", HELLO, Welcome)
    node.say("/report", replace(NOTHING, workers=(stranger,)), Acknowledged)

    assert engine.observe().workers[an_id()].node == "노드-0"


def test_a_server_that_does_not_know_a_node_asks_it_to_say_hello(node: Dialler) -> None:
    assert refusal(node.post("/report", NOTHING), 409) == "say_hello"
    assert refusal(node.http.get("/orders", params={"node": "노드-0", "session": "s-1"}), 409) == "say_hello"


def test_of_two_supervisors_with_one_name_the_later_is_listened_to(node: Dialler) -> None:
    node.say("/hello", HELLO, Welcome)
    node.say("/hello", replace(HELLO, session="s-2"), Welcome)

    assert refusal(node.post("/report", NOTHING), 409) == "superseded"
    assert refusal(node.post("/hello", HELLO), 409) == "superseded"
    assert refusal(node.http.get("/orders", params={"node": "노드-0", "session": "s-1"}), 409) == "superseded"
    node.say("/report", replace(NOTHING, session="s-2"), Acknowledged)


def test_orders_are_answered_at_once_if_the_supervisor_knows_others(
    node: Dialler, engine: LocalEngine
) -> None:
    engine.want(3, [an_order(env={"NAME": "żółw"})])
    node.say("/hello", HELLO, Welcome)

    orders = node.orders(node="노드-0", session="s-1", term=0, known=0, wait=30)

    assert (orders.term, orders.workers) == (3, (an_order(env={"NAME": "żółw"}),))


def test_orders_are_answered_when_they_change(node: Dialler, engine: LocalEngine) -> None:
    node.say("/hello", HELLO, Welcome)
    engine.want(1, [])
    first = node.orders(node="노드-0", session="s-1")
    answers: list[Orders] = []
    asking = threading.Thread(
        target=lambda: answers.append(
            node.orders(node="노드-0", session="s-1", term=1, known=first.version, wait=30)
        )
    )
    asking.start()

    engine.want(1, [an_order(node="elsewhere")])
    engine.want(1, [an_order()])
    asking.join(20.0)

    assert [order.workers for order in answers] == [(an_order(),)]
    assert answers[0].version > first.version


def test_orders_that_stay_the_same_are_answered_when_the_wait_is_over(
    node: Dialler, engine: LocalEngine
) -> None:
    node.say("/hello", HELLO, Welcome)
    engine.want(1, [an_order()])
    first = node.orders(node="노드-0", session="s-1")

    assert node.orders(node="노드-0", session="s-1", term=1, known=first.version, wait=0.05) == first


def test_before_a_controller_has_spoken_there_is_nothing_to_obey(node: Dialler) -> None:
    node.say("/hello", HELLO, Welcome)

    assert node.orders(node="노드-0", session="s-1", wait=0.05) == Orders(term=0, version=0, workers=())


def test_a_supervisor_that_obeyed_the_last_server_waits_for_the_first_wish_of_this_one(
    node: Dialler, engine: LocalEngine
) -> None:
    node.say("/hello", HELLO, Welcome)
    answers: list[Orders] = []
    asking = threading.Thread(
        target=lambda: answers.append(node.orders(node="노드-0", session="s-1", term=5, known=9, wait=30))
    )
    asking.start()

    engine.want(6, [an_order()])
    asking.join(20.0)

    assert [orders.term for orders in answers] == [6]


def test_who_waits_for_orders_is_sent_away_when_the_server_ends(node: Dialler, engine: LocalEngine) -> None:
    node.say("/hello", HELLO, Welcome)
    answers: list[httpx.Response] = []
    query = {"node": "노드-0", "session": "s-1", "wait": "60"}
    asking = threading.Thread(target=lambda: answers.append(node.http.get("/orders", params=query)))
    asking.start()

    engine.close()
    asking.join(20.0)

    assert [refusal(answer, 503) for answer in answers] == ["closing"]


def test_an_earlier_supervisor_that_waits_for_orders_learns_that_it_is_superseded(node: Dialler) -> None:
    node.say("/hello", HELLO, Welcome)
    answers: list[httpx.Response] = []
    query = {"node": "노드-0", "session": "s-1", "wait": "60"}
    asking = threading.Thread(target=lambda: answers.append(node.http.get("/orders", params=query)))
    asking.start()

    node.say("/hello", replace(HELLO, session="s-2"), Welcome)
    asking.join(20.0)

    assert [refusal(answer, 409) for answer in answers] == ["superseded"]


def test_output_goes_to_the_log_of_its_worker(node: Dialler, logs: KeptLogs) -> None:
    worker = an_id("zadanie", role="파라미터")
    node.say("/hello", HELLO, Welcome)

    assert node.read(node.upload(str(worker), b"hello ", offset=0), Stored).next == 6
    assert node.read(node.upload(str(worker), b"world\n", offset=6), Stored).next == 12
    assert node.read(node.upload(str(worker), b"lost", offset=99), Stored).next == 12
    assert logs.logs == {worker: b"hello world\n"}


def test_more_output_than_fits_one_upload_is_refused(node: Dialler, logs: KeptLogs) -> None:
    node.say("/hello", HELLO, Welcome)
    assert node.upload(str(an_id()), b"x" * LOG_CHUNK, offset=0).status_code == 200
    assert refusal(node.upload(str(an_id("other")), b"x" * (LOG_CHUNK + 1), offset=0), 413) == "too_large"
    assert an_id("other") not in logs.logs


@pytest.mark.parametrize("name", ["nonsense", "..%2F..%2Fetc.1.worker.0", "j.1..%2F.0", "j.x.worker.0"])
def test_a_log_of_nobody_is_refused(node: Dialler, logs: KeptLogs, name: str) -> None:
    assert refusal(node.upload(name, b"x", offset=0), 422) == "input_invalid"
    assert not logs.logs


def test_another_version_of_the_protocol_is_refused_in_a_sentence(url: str) -> None:
    with Dialler(url, protocol="2") as newer:
        response = newer.post("/hello", HELLO)

    assert refusal(response, 426) == "protocol"
    assert "version 1" in response.json()["message"]


def test_without_the_nodes_token_nobody_is_heard(url: str, engine: LocalEngine) -> None:
    with Dialler(url, token="guessed") as stranger:
        assert refusal(stranger.post("/hello", HELLO), 401) == "not_allowed"
        assert refusal(stranger.upload(str(an_id()), b"x", offset=0), 401) == "not_allowed"
    assert not engine.observe().nodes


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"node": 1}', b'{"node": "n", "session": "s", "workers": "many"}']
)
def test_a_report_that_is_none_is_refused(node: Dialler, body: bytes) -> None:
    assert refusal(node.post("/report", body), 422) == "input_invalid"


def test_a_report_without_end_is_refused(node: Dialler) -> None:
    assert refusal(node.post("/report", b"x" * (Settings().serving.max_body + 1)), 413) == "too_large"


@pytest.mark.parametrize("query", [{}, {"node": "n", "wait": "-1"}, {"node": "n", "known": "many"}])
def test_a_question_for_orders_that_is_none_is_refused(node: Dialler, query: dict[str, str]) -> None:
    assert refusal(node.http.get("/orders", params=query), 422) == "input_invalid"


def test_fields_of_a_later_minor_version_are_left_aside(node: Dialler) -> None:
    body = b'{"node":"n","session":"s","slots":[],"address":"a","version":"2","mood":"good"}'

    with Dialler(str(node.http.base_url).removesuffix(f"{PREFIX}/"), node="n") as newer:
        assert newer.post("/hello", body).status_code == 200


def test_a_node_stays_in_touch_while_the_store_that_knows_its_credential_is_away(server: Server) -> None:
    engine, store = LocalEngine(), AwayStore()
    credentials = some_credentials(store, engine)
    secret = credentials.join(HELLO.node)
    server.app = an_app(engine, settings=SETTINGS, authority=credentials)
    with Dialler(server.url, token=secret) as node:
        node.say("/hello", HELLO, Welcome)
        store.away = True
        credentials.gate._seen = {key: replace(seen, at=0.0) for key, seen in credentials.gate._seen.items()}
        node.say("/report", NOTHING, Acknowledged)
        with Dialler(server.url, token="another") as stranger:
            assert refusal(stranger.post("/hello", HELLO), 503) == "store_unavailable"

    assert HELLO.node in engine.observe().nodes


class AwayStore(MemoryStore):
    """A store that can be away."""

    away = False

    def read(self, look: Callable[[Tx], T]) -> T:
        if self.away:
            raise StoreUnavailable("baza danych jest daleko", remedy="Poczekaj")
        return super().read(look)


def some_credentials(store: Store, engine: LocalEngine) -> NodeCredentials:
    """Real credentials over a store, with a token for joining."""
    store.write(lambda tx: tx.add_token(Token(digest=digest_of(TOKEN), user="nodes", kind=JOIN)))
    assignments = Assignments(store, engine.was_ordered)
    return NodeCredentials(store, Gate(store), assignments, SETTINGS.nodes, time.time)


@pytest.mark.parametrize(
    "labels", [{"a": "x\0"}, {"": "x"}, {"a": "x" * 201}, {str(number): "" for number in range(65)}]
)
def test_labels_of_a_node_have_the_limits_of_labels(
    node: Dialler, engine: LocalEngine, labels: dict[str, str]
) -> None:
    response = node.post("hello", replace(HELLO, labels=labels))

    assert (response.status_code, response.json()["field"]) == (422, "labels")
    assert engine.observe().nodes == {}
