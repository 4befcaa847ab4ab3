"""A stolen credential of a node reads and reports only what is its own; it can be revoked, rotated and withheld."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.engines.builders import an_id
from tests.engines.serving import Server
from tests.forecast.records import a_spec
from tests.security.node_site import API, JOIN_TOKEN, USER_TOKEN, Site, Speaker, a_hello, a_site, code_of
from tests.security.route_walk import all_routes

from tenuto.model.job import Job, Progress
from tenuto.model.node import Slot
from tenuto.settings import Nodes
from tenuto.store.base import Attempt
from tenuto.wire.codec import decode
from tenuto.wire.node import PREFIX, Acknowledged, Answer, Join, Joined, Renew, Report, Samples, Welcome
from tenuto.wire.worker import ExitReason, WorkerId, WorkerSeen, WorkerState

THIEF, VICTIM = "złodziej", "węzeł-1"
HANG = 30.0


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    one = Server()
    yield one
    one.close()


@pytest.fixture
def site(tmp_path: Path, server: Server) -> Iterator[Site]:
    with a_site(tmp_path, server) as one:
        yield one


def an_exit(worker: WorkerId, node: str) -> WorkerSeen:
    return WorkerSeen(
        id=worker, node=node, state=WorkerState.EXITED, exit_code=0, reason=ExitReason.ENDED, ended_at=1.0
    )


def a_report(node: str, *workers: WorkerSeen, session: str = "s-1") -> Report:
    return Report(node=node, session=session, workers=workers)


# One request for each route, as the thief would send it in the name of the victim.
IN_ANOTHERS_NAME: dict[str, Callable[[Speaker], Any]] = {
    "/renew": lambda thief: thief.request("POST", "/renew", Renew(node=VICTIM)),
    "/hello": lambda thief: thief.request("POST", "/hello", a_hello(VICTIM, "s-2")),
    "/report": lambda thief: thief.request(
        "POST", "/report", a_report(VICTIM, an_exit(an_id("job-1"), VICTIM))
    ),
    "/orders": lambda thief: thief.request("GET", "/orders", node=VICTIM, session="s-1", wait=0),
    "/logs/{worker:path}": lambda thief: thief.request(
        "PUT", f"/logs/{an_id('job-1')}", b"x", node=VICTIM, session="s-1", offset=0
    ),
    "/samples": lambda thief: thief.request(
        "POST", "/samples", Samples(node=VICTIM, session="s-1", samples=())
    ),
    "/answers": lambda thief: thief.request(
        "POST", "/answers", Answer(node=VICTIM, session="s-1", question=1, findings=())
    ),
}
CONCERN_NO_NODE = {"/join", "/probe"}
"""The first takes the token for joining only; the second gives back zeros."""


def node_routes(site: Site) -> set[str]:
    paths = [route.path for route in all_routes(site.app)]
    return {path.removeprefix(PREFIX) for path in paths if path.startswith(PREFIX)}


def test_a_stolen_credential_is_refused_on_every_route_in_anothers_name(site: Site) -> None:
    victim, thief = site.joined(VICTIM), site.joined(THIEF)
    order = site.ordered(VICTIM)
    heard = site.engine.observe()

    assert node_routes(site) == IN_ANOTHERS_NAME.keys() | CONCERN_NO_NODE, "a new route belongs here"
    refusals = {path: code_of(send(thief)) for path, send in IN_ANOTHERS_NAME.items()}

    assert set(refusals.values()) == {(403, "not_your_node")}
    assert replace(site.engine.observe(), listened=heard.listened) == heard
    assert site.samples.taken == []
    assert victim.orders().workers == (order,)
    assert thief.orders().workers == ()


def test_neither_the_token_for_joining_nor_that_of_a_user_speaks_for_a_node(site: Site) -> None:
    site.joined(VICTIM)

    for secret in (JOIN_TOKEN, USER_TOKEN, "guessed"):
        other = site.speaker(VICTIM, secret)
        probe = other.request("POST", "/probe", b"x", give=1)
        refusals = {path: code_of(send(other)) for path, send in IN_ANOTHERS_NAME.items()}
        assert set(refusals.values()) | {code_of(probe)} == {(401, "not_allowed")}


@pytest.mark.parametrize(
    "path", ["/jobs", "/nodes", "/tokens", "/credentials", "/events", "/server/settings"]
)
def test_a_node_s_credential_opens_nothing_for_users(site: Site, path: str) -> None:
    thief = site.joined(THIEF)

    assert code_of(thief.request("GET", f"{API}{path}")) == (401, "not_allowed")


def test_orders_with_their_environment_go_to_the_live_session_only(site: Site) -> None:
    node = site.joined(VICTIM)
    order = site.ordered(VICTIM)

    assert node.orders().workers == (order,)
    for query in ({}, {"session": ""}, {"session": "s-0"}):
        answer = node.request("GET", "/orders", node=VICTIM, wait=0, **query)
        assert not answer.is_success
        assert "env-of-the-owner" not in answer.text
    later = replace(node, session="s-2")
    assert later.hello().status_code == 200
    assert code_of(node.request("GET", "/orders", node=VICTIM, session="s-1", wait=0)) == (409, "superseded")


def test_a_forged_exit_of_another_nodes_worker_is_not_seen(site: Site) -> None:
    victim, thief = site.joined(VICTIM), site.joined(THIEF)
    order = site.ordered(VICTIM)
    running = WorkerSeen(id=order.id, node=VICTIM, state=WorkerState.RUNNING)
    assert victim.request("POST", "/report", a_report(VICTIM, running)).status_code == 200

    for claimed in (THIEF, VICTIM):
        forged = a_report(THIEF, an_exit(order.id, claimed))
        assert thief.request("POST", "/report", forged).status_code == 200, "no supervisor is wedged by it"

    assert site.engine.observe().workers == {order.id: running}


def test_after_a_restart_the_store_says_whose_workers_these_are(site: Site, tmp_path: Path) -> None:
    node = site.joined(VICTIM)
    mine, others = WorkerId("job-7", 1, "worker", 0), WorkerId("job-7", 1, "worker", 1)
    add_job(site, "job-7", mine=mine, others=others)

    report = a_report(VICTIM, an_exit(mine, VICTIM), an_exit(others, VICTIM))
    assert node.request("POST", "/report", report).status_code == 200

    assert set(site.engine.observe().workers) == {mine}


def add_job(site: Site, job: str, *, mine: WorkerId, others: WorkerId) -> None:
    """A job with a worker on the victim, and another one on a node that is nobody's here."""
    record = Job(
        id=job,
        number=0,
        revision=0,
        spec=a_spec(name="작업"),
        owner="x",
        submitted_at=0.0,
        progress=Progress(left=0.0, as_of=0.0),
    )
    site.store.write(lambda tx: tx.add_job(record))
    for worker, node in ((mine, VICTIM), (others, "elsewhere")):
        attempt = Attempt(
            job=worker.job, generation=worker.generation, role=worker.role, rank=worker.rank, node=node
        )
        site.store.write(lambda tx, attempt=attempt: tx.put_attempt(attempt))  # type: ignore[misc]


def test_logs_and_records_are_taken_for_own_workers_only(site: Site) -> None:
    node = site.joined(VICTIM)
    mine, others = WorkerId("job-7", 1, "worker", 0), WorkerId("job-7", 1, "worker", 1)
    add_job(site, "job-7", mine=mine, others=others)

    def log(worker: WorkerId) -> tuple[int, str]:
        query: dict[str, Any] = {"node": VICTIM, "session": "s-1", "offset": 0}
        return code_of(node.request("PUT", f"/logs/{worker}", b"x\n", **query))

    def records(worker: WorkerId) -> tuple[int, str]:
        body = f'{{"worker": "{worker}", "teller": "worker", "first": 0, "records": []}}'.encode()
        return code_of(node.request("POST", f"{API}/jobs/{worker.job}/metrics", body))

    assert (log(mine), records(mine)) == ((200, ""), (200, ""))
    assert (log(others), records(others)) == ((403, "not_your_worker"), (403, "not_your_worker"))
    assert log(WorkerId("nobodys-job", 1, "worker", 0)) == (403, "not_your_worker")
    assert [path.name for path in (site.directory / "logs").iterdir()] == ["job-7"]


def test_a_name_cannot_be_taken_over(site: Site) -> None:
    victim, order = site.joined(VICTIM), site.ordered(VICTIM)
    other = site.speaker(VICTIM, JOIN_TOKEN)

    assert code_of(other.request("POST", "/join", Join(node=VICTIM))) == (409, "name_taken")
    assert victim.orders().workers == (order,)


def test_a_revoked_name_can_be_joined_again_and_the_old_credential_stays_refused(site: Site) -> None:
    victim = site.joined(VICTIM)
    assert site.user("POST", f"/nodes/{VICTIM}/revoke").status_code == 200

    assert code_of(victim.hello()) == (401, "not_allowed")
    again = site.joined(VICTIM)
    assert again.orders().workers == ()
    assert code_of(victim.request("POST", "/probe", b"")) == (401, "not_allowed")
    states = [one["state"] for one in site.user("GET", "/credentials").json()["items"]]
    assert states == ["revoked", "live"]


def test_a_revocation_ends_a_wait_for_orders_at_once(site: Site) -> None:
    victim, answers = site.joined(VICTIM), list[tuple[int, str]]()
    known = victim.orders()
    query: dict[str, Any] = {"node": VICTIM, "session": "s-1", "term": known.term, "known": known.version}
    waiting = threading.Thread(
        target=lambda: answers.append(code_of(victim.request("GET", "/orders", **query, wait=HANG)))
    )
    waiting.start()
    until(lambda: bool(site.engine._nodes[VICTIM].orders._listeners))

    site.user("POST", f"/nodes/{VICTIM}/revoke")
    waiting.join(HANG / 2)

    assert answers == [(401, "not_allowed")]


def until(holds: Callable[[], bool]) -> None:
    tick = threading.Event()
    for _ in range(3000):
        if holds():
            return
        tick.wait(0.01)
    raise AssertionError("it never came to pass")


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"slots": (Slot(),) * 38_000}, "slots"),
        ({"slots": (Slot(device="x" * 300),)}, "slots"),
        ({"address": "http://169.254.169.254/"}, "address"),
        ({"address": "a\x1b[2Jb"}, "address"),
        ({"peer": "127.0.0.1:99999"}, "peer"),
        ({"peer": "nowhere"}, "peer"),
        ({"labels": {str(number): "" for number in range(1000)}}, "labels"),
        ({"labels": {"k": "v" * 10_000}}, "labels"),
        ({"session": ""}, "session"),
        ({"version": "9" * 10_000}, "version"),
    ],
)
def test_a_node_that_cannot_be_is_refused(site: Site, fields: dict[str, Any], field: str) -> None:
    node = site.speaker(THIEF, site.credentials.join(THIEF))

    answer = node.hello(**fields)

    assert (*code_of(answer), answer.json()["field"]) == (422, "input_invalid", field)
    assert not site.engine._nodes


@pytest.mark.parametrize("name", ["", ".", "../etc", "a b", "x" * 101, "a\u202eb", "a\nb", "-x"])
def test_a_name_that_is_none_cannot_join(site: Site, name: str) -> None:
    answer = site.speaker(name, JOIN_TOKEN).request("POST", "/join", Join(node=name))

    assert code_of(answer) == (422, "input_invalid")


def test_a_report_is_bounded(site: Site) -> None:
    node, order = site.joined(VICTIM), site.ordered(VICTIM)
    seen = replace(
        an_exit(order.id, VICTIM), message="x" * 1_000_000, data={str(n): 1.0 for n in range(1000)}
    )
    report = replace(a_report(VICTIM, seen), ports=(0, 70_000, 8080), memory=(7.0, 0.5))
    assert node.request("POST", "/report", report).status_code == 200

    [found] = site.engine.observe().workers.values()
    assert (len(found.message), len(found.data)) == (10_000, 50)
    assert site.engine.observe().nodes[VICTIM].ports == (8080,)
    assert site.engine.observe().nodes[VICTIM].memory == (None, 0.5)


def test_a_report_has_no_more_workers_than_a_node_can_have(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, seen = site.joined(VICTIM), [an_exit(an_id(f"j{number}"), VICTIM) for number in range(5)]
    monkeypatch.setattr("tenuto.engines.node_limits.MOST_WORKERS", 4)

    assert node.request("POST", "/report", a_report(VICTIM, *seen[:4])).status_code == 200
    assert code_of(node.request("POST", "/report", a_report(VICTIM, *seen))) == (422, "input_invalid")


def test_a_node_that_sends_too_much_is_slowed_and_others_are_not(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenuto.engines.node_limits.RATE", 0.0)
    monkeypatch.setattr("tenuto.engines.node_limits.BURST", 3.0)
    noisy, calm = site.joined(THIEF), site.joined(VICTIM)

    answers = [code_of(noisy.request("POST", "/report", a_report(THIEF))) for _ in range(3)]

    assert answers == [(200, ""), (200, ""), (503, "busy")]
    assert calm.request("POST", "/report", a_report(VICTIM)).status_code == 200


def test_a_rotated_credential_works_until_its_successor_was_used(site: Site) -> None:
    node = site.joined(VICTIM)
    report = a_report(VICTIM)
    assert not decode(Acknowledged, node.request("POST", "/report", report).content).renew

    site.user("POST", f"/nodes/{VICTIM}/rotate")
    assert decode(Acknowledged, node.request("POST", "/report", report).content).renew
    # The answer may be lost, and the supervisor killed before it wrote the new one down.
    for _ in range(3):
        issued = decode(Joined, node.request("POST", "/renew", Renew(node=VICTIM)).content).credential
        assert node.request("POST", "/report", report).status_code == 200

    renewed = replace(node, secret=issued)
    acknowledged = renewed.request("POST", "/report", report)
    assert not decode(Acknowledged, acknowledged.content).renew
    site.clock.ahead = 120.0
    assert code_of(node.request("POST", "/report", report)) == (401, "not_allowed")
    assert renewed.request("POST", "/report", report).status_code == 200


def test_a_credential_is_replaced_after_some_days(tmp_path: Path, server: Server) -> None:
    with a_site(tmp_path, server, Nodes(credential_days=10)) as site:
        node = site.joined(VICTIM)
        assert not decode(Welcome, node.hello().content).renew
        site.clock.ahead = 11 * 86_400
        assert decode(Welcome, node.hello().content).renew


def test_a_new_node_waits_for_approval_if_that_is_wanted(tmp_path: Path, server: Server) -> None:
    with a_site(tmp_path, server, Nodes(approval=True)) as site:
        node = site.speaker(THIEF, site.credentials.join(THIEF))
        mine = WorkerId("job-7", 1, "worker", 0)
        add_job(site, "job-7", mine=mine, others=WorkerId("job-7", 1, "worker", 1))

        assert code_of(node.hello()) == (403, "approval_pending")
        for path, send in IN_ANOTHERS_NAME.items():
            assert code_of(send(node)) == (403, "approval_pending"), path
        body = b'{"worker": "job-7.1.worker.0", "teller": "worker", "first": 0, "records": []}'
        assert code_of(node.request("POST", f"{API}/jobs/job-7/metrics", body)) == (403, "approval_pending")
        assert site.user("GET", "/credentials").json()["items"][0]["state"] == "pending"

        assert site.user("POST", f"/nodes/{THIEF}/approve").json()["items"][0]["state"] == "live"
        assert node.hello().status_code == 200


def test_a_removed_node_is_told_to_leave_and_its_name_is_free(site: Site) -> None:
    node = site.joined(VICTIM)
    site.engine.want(1, [])
    node.request("POST", "/report", a_report(VICTIM))
    add_node(site)
    assert site.user("DELETE", f"/nodes/{VICTIM}").status_code == 200

    assert node.hello().status_code == 200
    assert node.orders().leave
    assert code_of(node.request("POST", "/renew", Renew(node=VICTIM))) == (403, "not_your_node")
    fresh = site.speaker(VICTIM, site.credentials.join(VICTIM))
    site.credentials.gate._seen.clear()
    assert code_of(node.hello()) == (401, "not_allowed")
    assert replace(fresh, session="s-9").hello().status_code == 200


def add_node(site: Site) -> None:
    from tests.store.records import a_node

    site.store.write(lambda tx: tx.put_node(replace(a_node(), name=VICTIM)))


def test_a_node_of_this_machine_gets_a_credential_without_a_token_for_joining(site: Site) -> None:
    site.credentials.provide(VICTIM, site.directory)
    first = (site.directory / "credential").read_text().strip()
    site.credentials.provide(VICTIM, site.directory)
    assert (site.directory / "credential").read_text().strip() == first
    assert (site.directory / "credential").stat().st_mode & 0o777 == 0o600
    assert site.speaker(VICTIM, first).hello().status_code == 200

    (site.directory / "credential").unlink()
    site.credentials.provide(VICTIM, site.directory)
    second = (site.directory / "credential").read_text().strip()
    assert site.speaker(VICTIM, second).hello().status_code == 200
    assert code_of(site.speaker(VICTIM, first).hello()) == (401, "not_allowed")
