"""The typed clients: values in, values out, our errors; nothing lost when the server goes and comes."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from tests.server.serving import NOW, TOKEN, Served, a_server

import tenuto
from tenuto.client.ask import Ask
from tenuto.client.calls import Asks
from tenuto.client.typed import JobFields, Wishes, read, sendable
from tenuto.errors import Conflict, Declined, InputInvalid, NotFound, ServerFailed, Unreachable
from tenuto.model.event import Event
from tenuto.model.job import Contract, Offers, Reply
from tenuto.model.phase import Phase
from tenuto.store.base import Attempt
from tenuto.wire.api import JobIn
from tenuto.wire.asks import JobEdit
from tenuto.wire.printed import LogPiece
from tenuto.wire.replies import EventOut, HostsOut
from tenuto.wire.worker import WORKER, WorkerId

HANG = 30.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with a_server(tmp_path) as served:
        yield served


@pytest.fixture
def client(server: Served) -> Iterator[tenuto.Client]:
    with tenuto.Client(server.url, TOKEN, patience=5.0) as made:
        yield made


def decline(server: Served, id_: str) -> None:
    offers = Offers(earliest=NOW + 3600, steps=500.0)
    contract = Contract(
        reply=Reply.DECLINED, why="deadline_infeasible", message="too late", answered_at=NOW, offers=offers
    )
    server.put(
        id_, phase=Phase.DECLINED, contract=contract, message="It cannot be done by then", ended_at=NOW
    )


def prints(server: Served, job: str, text: str, rank: int = 0) -> None:
    worker = WorkerId(job, 1, WORKER, rank)
    server.logs.append(worker, server.logs.extent(worker)[1], text.encode())


def test_a_job_can_be_handed_in_by_its_keys(client: tenuto.Client, server: Served) -> None:
    job = client.submit(
        name="학습", run=["python", "train.py"], workers="1..4", total={"steps": 10}, curve={1: 2.5, 2: 4}
    )

    assert (job.name, job.state, job.max_workers) == ("학습", "submitted", 4)
    assert job.curve == {"1": 2.5, "2": 4.0}
    assert server.job(job.id).spec.run == ("python", "train.py")


def test_a_job_can_be_handed_in_as_a_value_or_a_mapping_with_changes(client: tenuto.Client) -> None:
    value = JobIn.model_validate({"name": "trénink", "run": "python train.py", "workers": "2..3", "retry": 4})

    as_value, as_mapping = client.submit(value), client.submit({"name": "a", "run": "true"}, name="b")

    assert (as_value.spec["run"], as_value.min_workers) == ("python train.py", 2)
    assert as_value.spec["retry"]["failures"] == 4
    assert as_mapping.name == "b"


def test_a_deadline_may_be_a_moment_or_a_span(client: tenuto.Client, server: Served) -> None:
    work: Any = {"name": "a", "run": "true", "total": 10, "curve": {1: 1.0}}
    moment = datetime.fromtimestamp(NOW + 7200, UTC)

    by_moment = client.submit(work, deadline=moment)
    by_span = client.submit(work, deadline=timedelta(hours=2))

    assert server.job(by_moment.id).deadline == server.job(by_span.id).deadline == NOW + 7200
    with pytest.raises(InputInvalid, match="no time zone"):
        client.submit(work, deadline=datetime(2030, 1, 1))


def test_a_no_is_a_value_unless_a_yes_is_needed(client: tenuto.Client, server: Served) -> None:
    job = client.submit(name="a", run="true")
    decline(server, job.id)

    answered = client.verdict(job)
    with pytest.raises(Declined, match=r"It cannot be done by then.*could be promised for 2027") as caught:
        client.verdict(job, must=True)

    assert answered.contract is not None
    assert (answered.state, answered.contract.offers.steps) == ("declined", 500.0)
    assert caught.value.job == job.id


def test_an_end_is_waited_for_but_not_for_ever(client: tenuto.Client, server: Served) -> None:
    job = client.submit(name="a", run="true")
    with pytest.raises(TimeoutError, match=f"job {job.id} is submitted"):
        client.end(job, timeout=0.05)
    waiting = Thread(target=lambda: ended.append(client.end(job.id).state))
    ended: list[str] = []
    waiting.start()

    server.put(job.id, phase=Phase.SUCCEEDED, ended_at=NOW)
    waiting.join(HANG)

    assert ended == ["succeeded"]


def test_lists_go_over_all_pages(client: tenuto.Client, server: Served) -> None:
    ids = [client.submit(name="a", run="true").id for _ in range(7)]

    assert [job.id for job in client.jobs(limit=2)] == ids[::-1]
    table = client.job_table(order="submitted", skip=2, limit=2)
    assert ([job.id for job in table.items], table.of) == (ids[2:4], 7)
    assert [event.job for event in client.events(kind="submitted")] == ids
    assert [event.job for event in client.last_events(2, kind="submitted")] == ids[-2:]
    assert list(client.nodes()) == []


def test_wishes_are_typed(client: tenuto.Client, server: Served) -> None:
    server.join("узел")
    job = client.submit(name="a", run="true", workers="1..4")
    server.runs(job.id, узел=(0,))

    assert client.scale(job, 2).pin is not None
    assert client.scale(job, nodes={"узел": 1}).pin is not None
    assert client.scale(job, "auto").pin is None
    assert client.change(job, priority="urgent", labels={"팀": "a"}).labels == {"팀": "a"}
    assert client.pause(job).wish == "pause"
    assert client.cancel(job).wish == "cancel"
    assert client.drain("узел").state == "draining"
    assert client.undrain("узел").used == 1
    assert client.set_policy("edf").name == client.policy().name == "edf"
    assert client.cluster().slots.total == 4


def test_errors_come_as_they_were_raised(client: tenuto.Client, server: Served) -> None:
    with pytest.raises(NotFound):
        client.job("nobody")
    with pytest.raises(InputInvalid) as caught:
        client.submit(name="a", run="true", workers="9..1")
    job = client.submit(name="a", run="true")
    server.put(job.id, phase=Phase.SUCCEEDED, ended_at=NOW)
    with pytest.raises(Conflict) as ended:
        client.pause(job)

    assert caught.value.field == "workers"
    assert ended.value.code == "ended"


def test_jobs_are_resubmitted_and_deleted(client: tenuto.Client, server: Served) -> None:
    job = client.submit(name="a", run="true")
    server.put(job.id, phase=Phase.FAILED, ended_at=NOW)

    again = client.resubmit(job, name="zwei", key="k")

    assert (again.name, again.resubmitted_from) == ("zwei", job.id)
    assert client.resubmit(job, name="zwei", key="k").id == again.id
    assert client.delete(job) == [job.id]


def test_logs_are_read_to_the_end_of_what_there_is(client: tenuto.Client, server: Served) -> None:
    job = client.submit(name="a", run="true")
    server.runs(job.id, a=(0, 1))
    prints(server, job.id, "шаг 1\nschritt 2\n")
    prints(server, job.id, "그 밖에\n", rank=1)

    assert {piece.rank: piece.text for piece in client.logs(job)} == {0: "шаг 1\nschritt 2\n", 1: "그 밖에\n"}
    assert [piece.text for piece in client.logs(job, rank=0, tail=1)] == ["schritt 2\n"]
    [part] = client.log_parts(job, rank=0, limit=16).parts
    [rest] = client.log_parts(job, rank=0, offset=part.next).parts
    assert part.text + rest.text == "шаг 1\nschritt 2\n"


def test_logs_are_followed_to_the_end_of_the_job(client: tenuto.Client, server: Served) -> None:
    job = client.submit(name="a", run="true")
    server.runs(job.id, a=(0,))
    prints(server, job.id, "before\n")
    text = ""
    for piece in client.logs(job, follow=True):
        text += piece.text
        if piece.text == "before\n":
            prints(server, job.id, "später\n")
        elif piece.text == "später\n":
            prints(server, job.id, "last\n")
            ends(server, job.id)

    assert text == "before\nspäter\nlast\nProgram exit with code 0\n"


def ends(server: Served, id_: str) -> None:
    """The only worker of a job ends, and the job with it."""
    prints(server, id_, "Program exit with code 0\n")
    attempt = Attempt(
        job=id_, generation=1, role=WORKER, rank=0, node="a", started_at=NOW, ended_at=NOW, exit_code=0
    )
    server.store.write(lambda tx: tx.put_attempt(attempt))
    server.put(id_, phase=Phase.SUCCEEDED, ended_at=NOW, slots={})
    event = Event(kind="phase", at=NOW, actor="controller", job=id_, before="running", after="succeeded")
    server.store.write(lambda tx: tx.add_event(event))


def test_three_topics_are_heard_at_once(client: tenuto.Client, server: Served) -> None:
    server.join("a")
    job = client.submit(name="a", run="true")
    stream = client.stream("jobs", "nodes", "logs", job=job, after=0)
    first = next(stream)
    assert isinstance(first, EventOut)

    client.pause(job)
    client.drain("a")
    prints(server, job.id, "hallo\n")
    told = list(islice(stream, 3))

    assert first.kind == "submitted"
    assert {type(one) for one in told} == {EventOut, LogPiece}
    assert {one.kind for one in told if isinstance(one, EventOut)} == {"wish", "node"}


def test_twenty_jobs_are_awaited_together(server: Served) -> None:
    async def story() -> list[str]:
        async with tenuto.AsyncClient(server.url, TOKEN) as client:
            jobs = await asyncio.gather(*(client.submit(name=f"직{n}", run="true") for n in range(20)))
            waiting = [asyncio.ensure_future(client.end(job)) for job in jobs]
            for job in jobs:
                server.put(job.id, phase=Phase.SUCCEEDED, ended_at=NOW)
            names = {job.name async for job in client.jobs(state="succeeded", limit=3)}
            assert len(names) == 20
            return [job.state for job in await asyncio.gather(*waiting)]

    assert asyncio.run(story()) == ["succeeded"] * 20


def test_events_are_followed_in_an_event_loop_too(server: Served) -> None:
    async def story() -> list[str]:
        async with tenuto.AsyncClient(server.url, TOKEN) as client:
            job = await client.submit(name="a", run="true")
            kinds: list[str] = []
            async for event in client.events(job=job, after=0, follow=True):
                kinds.append(event.kind)
                if len(kinds) == 2:
                    return kinds
                await client.pause(job)
            return kinds

    assert asyncio.run(story()) == ["submitted", "wish"]


def test_who_turns_away_from_a_stream_leaves_nothing_open(server: Served) -> None:
    troubles: list[dict[str, Any]] = []

    async def story() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, trouble: troubles.append(trouble))
        async with tenuto.AsyncClient(server.url, TOKEN) as client:
            await client.submit(name="a", run="true")
            async for _ in client.events(after=0, follow=True):
                break

    asyncio.run(story())

    assert troubles == []


def test_nobody_there_is_unreachable() -> None:
    with pytest.raises(Unreachable), tenuto.Client("http://127.0.0.1:9", "t", patience=0) as client:
        client.cluster()


def test_without_arguments_it_is_the_server_of_this_machine(
    server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENUTO_HOME", str(tmp_path / "home"))
    with pytest.raises(Unreachable, match="tenuto up"):
        tenuto.Client()
    monkeypatch.setenv("TENUTO_URL", server.url)
    monkeypatch.setenv("TENUTO_TOKEN", TOKEN)

    with tenuto.Client() as client:
        assert client.url == server.url
        assert client.cluster().slots.total == 0


def test_an_answer_of_another_world_is_told_as_such(client: tenuto.Client) -> None:
    assert read(HostsOut, {"lines": [], "of_a_newer_server": 1}).lines == []
    with pytest.raises(ServerFailed, match="cannot be read"):
        read(HostsOut, {"zeilen": []})


def test_both_clients_offer_the_same() -> None:
    def offers(kind: type) -> dict[str, Any]:
        public = {name: member for name, member in vars(kind).items() if not name.startswith("_")}
        return {
            name: list(inspect.signature(member).parameters)
            for name, member in public.items()
            if callable(member)
        }

    assert offers(tenuto.Client) == offers(tenuto.AsyncClient)


def test_every_operation_of_the_api_has_its_methods(server: Served) -> None:
    described = {
        (method.upper(), path.removeprefix("/api/v1"))
        for path, methods in server.get("/openapi.json")["paths"].items()
        for method in methods
    }
    asks = Asks()
    asked = {
        template_of(described, ask)
        for ask in [*every_ask(asks), asks.act("k1", "resume"), asks.act("k1", "cancel")]
    }

    assert described - asked == NOT_ASKED
    plain = {name for name in dir(Asks) if not name.startswith("_")} - {"act", "add_metrics"}
    assert plain <= set(dir(tenuto.Client)), "what plain clients can do, typed ones can"


NOT_ASKED = {
    ("GET", "/healthz"),  # for proxies and service managers
    ("GET", "/jobs/{ref}/logs/raw"),  # for browsers; logs() reads the same
    ("GET", "/metrics/export"),  # for spreadsheets; numbers() reads the same
    ("GET", "/events/stream"),  # follow(), events(follow=True) and stream() are made of it
}
SAMPLES: dict[str, Any] = {
    "verb": "pause",
    "curve": {1: 1.0},
    "jobs": [],
    "policies": [],
    "nodes": [],
    "kind": "cpu",
}


def every_ask(asks: Asks) -> Iterator[Ask]:
    """What each method asks, with anything for its arguments."""
    for name, method in inspect.getmembers(asks, inspect.ismethod):
        if not name.startswith("_"):
            wanted = inspect.signature(method).parameters.values()
            needed = [one for one in wanted if one.default is one.empty and one.kind is not one.VAR_KEYWORD]
            yield method(
                *(SAMPLES.get(one.name, {} if "Mapping" in one.annotation else "k1") for one in needed)
            )


def template_of(described: set[tuple[str, str]], ask: Ask) -> tuple[str, str]:
    """The operation that a request belongs to."""
    fitting = [
        path
        for method, path in described
        if method == ask.method and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", path), ask.path)
    ]
    return ask.method, min(fitting, key=lambda path: path.count("{"))


def test_the_keys_of_a_job_are_complete() -> None:
    assert set(JobFields.__annotations__) == set(JobIn.model_fields)
    assert set(Wishes.__annotations__) == set(JobEdit.model_fields)
    assert sendable({"name": "a"}) == {"name": "a"}
