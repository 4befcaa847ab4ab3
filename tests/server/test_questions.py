"""Questions about the future are answered as the platform would act, and change nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.live.platform import Platform
from tests.server.serving import NOW, QUICK, TOKEN, Served, a_form, a_server

from tenuto.server.desk import Desk
from tenuto.store.base import EventQuery, JobQuery, Store, Token
from tenuto.store.memory import MemoryStore

LINEAR = {"1": 1.0, "2": 2.0, "4": 4.0}
EVERYTHING = 10_000
ASKING = 8
"""Threads that ask at the same time."""
METAS = ("scheduling", "memory", "wake_at", "epoch", "leadership", "draining", "profiles", "curves", "pauses")


@contextmanager
def decided(
    directory: Path, nodes: Mapping[str, int] | None = None, **rules: Any
) -> Iterator[tuple[Served, Platform]]:
    """A server, and a controller that decides when it is told to."""
    with a_server(directory) as served:
        live = Platform(nodes or {"node-0": 4, "ノード-1": 4}, store=served.store, start=NOW, **rules)
        served.clock.now = NOW
        live.settle()
        yield served, live


def form(name: str = "학습", *, steps: float = 100.0, **fields: Any) -> dict[str, Any]:
    return a_form(name, **{"workers": "1..4", "total": {"steps": steps}, "curve": LINEAR, **fields})


def contents(store: Store) -> Any:
    """All that a store holds."""

    def look(tx: Any) -> Any:
        jobs = tx.jobs(JobQuery(limit=EVERYTHING))
        return (
            tx.revision,
            jobs,
            [tx.attempts(job.id) for job in jobs],
            tx.nodes(),
            tx.events(EventQuery(limit=EVERYTHING)),
            {key: tx.meta(key) for key in METAS},
        )

    return store.read(look)


@pytest.mark.parametrize(
    "fields",
    [
        {"deadline": "+60s"},
        {"deadline": "+10s"},
        {},
        {"deadline": "+2h", "curve": "auto"},
        {"workers": 64},
    ],
    ids=["promised", "declined", "without a deadline", "to be measured", "too large"],
)
@pytest.mark.parametrize("policy", ["elasticflow", "fifo"])
def test_a_submission_right_after_gets_the_same_answer(
    tmp_path: Path, policy: str, fields: dict[str, Any]
) -> None:
    with decided(tmp_path, policy=policy, margin=0.1, start_cost=5.0) as (served, live):
        served.submit(**{**form("vorher", steps=500.0, deadline="+10m"), "run": "x"})
        live.settle()
        [foreseen] = served.post("/plan", {"jobs": [form(**fields)]})["jobs"]

        job = served.post("/jobs", form(**fields))
        live.settle()
        really = served.get(f"/jobs/{job['id']}")

        assert foreseen["contract"] == really["contract"]
        assert foreseen["place"] == really["slots"]


def test_jobs_of_one_file_are_answered_together_and_some_wait_for_others(server: Served) -> None:
    server.join("uzel", 4)
    jobs = [form("vorn", deadline="+60s"), form("hinten", after="vorn", deadline="+1h")]

    first, second = server.post("/plan", {"jobs": jobs})["jobs"]

    assert (first["reply"], second["reply"], second["contract"]) == ("admitted", "held", None)
    assert "waits for vorn" in second["message"]


def test_a_job_that_would_wait_for_one_that_is_there_is_told_so(server: Served) -> None:
    server.join("uzel", 4)
    there = server.submit("starší")

    [foreseen] = server.post("/plan", {"jobs": [form(after="starší")]})["jobs"]

    assert foreseen["reply"] == "held"
    assert there["id"] in foreseen["message"]


def test_a_job_without_gpus_is_answered_without_a_round(server: Served) -> None:
    server.join("uzel", 4)

    one, many = server.post("/plan", {"jobs": [a_form("cpu", gpus=0), a_form("cpus", gpus=0, workers=99)]})[
        "jobs"
    ]

    assert (one["reply"], one["contract"]["why"]) == ("queued", "no_slot_asked")
    assert (many["reply"], many["contract"]["why"]) == ("unschedulable", "too_few_cpu_places")


def test_before_the_nodes_have_joined_there_is_no_answer(server: Served) -> None:
    answer = server.post("/plan", {"jobs": [form()]})

    assert answer["jobs"][0]["reply"] == "submitted"
    assert "before a node has joined" in answer["remarks"][0]


def test_a_loss_is_told_with_every_promise_and_every_end(tmp_path: Path) -> None:
    with decided(tmp_path) as (served, live):
        job = served.post(
            "/jobs", form(steps=350.0, deadline="+50s", workers="1..8", curve={**LINEAR, "8": 8.0})
        )
        live.settle()

        answer = served.post("/whatif", {"lose": ["ノード-1"]})

        [told] = answer["jobs"]
        assert (told["id"], told["effect"]) == (job["id"], "broken")
        assert (told["before"]["promise"], told["after"]["promise"]) == ("holds", "at_risk")
        assert told["before"]["eta"]["finish"] < told["after"]["eta"]["finish"]
        assert answer["slots"] == {"before": 8, "after": 4}
        assert answer["changes"] == ["ノード-1 is lost (4 slots)"]


def test_a_job_that_fits_nowhere_is_told_in_the_state_that_it_has(tmp_path: Path) -> None:
    with decided(tmp_path) as (served, live):
        served.post("/jobs", form("큰", workers=16, curve={"16": 9.0}))
        live.settle()

        [one] = served.post("/whatif", {"add_slots": 16})["jobs"]

    assert (one["state"], one["effect"]) == ("unschedulable", "admitted")


def test_changes_are_thought_of_together(tmp_path: Path) -> None:
    with decided(tmp_path) as (served, live):
        first = served.post("/jobs", form("eins", steps=4000.0, deadline="+2h"))
        served.post("/jobs", form("zwei", steps=4000.0))
        live.settle()

        answer = served.post(
            "/whatif",
            {
                "cancel": ["zwei"],
                "deadlines": {first["id"]: "+1h"},
                "add_nodes": [{"count": 2, "slots": 8}],
                "add_slots": 4,
                "policy": {"name": "edf-admission", "settings": {"margin": 0.2}},
                "add": [form("drei", deadline="+10m")],
                "all": True,
            },
        )

        assert [job["effect"] for job in answer["jobs"] if job["name"] == "zwei"] == ["cancelled"]
        assert answer["slots"] == {"before": 8, "after": 28}
        assert answer["policy"] == {"before": "elasticflow", "after": "edf-admission"}
        assert [job["reply"] for job in answer["added"]] == ["admitted"]
        [moved] = [job for job in answer["jobs"] if job["name"] == "eins"]
        assert moved["after"]["promised"] == "2027-01-15T11:00:00.000Z"


def test_a_deadline_that_would_be_refused_is_left_out_and_told(tmp_path: Path) -> None:
    with decided(tmp_path) as (served, live):
        job = served.post("/jobs", form(steps=4000.0, deadline="+2h"))
        live.settle()

        answer = served.post("/whatif", {"deadlines": {job["id"]: "2027-01-15T08:01:00Z"}})

        [refusal] = answer["refused"]
        assert refusal["job"] == job["id"]
        assert "cannot be promised" in refusal["message"]
        assert answer["changes"] == []


@pytest.mark.parametrize(
    ("thought", "status", "field", "words"),
    [
        ({"lose": ["uzle"]}, 404, None, "Did you mean uzel"),
        ({"policy": {"name": "themsi"}}, 422, "policy.name", "themis"),
        ({"policy": {"settings": {"magrin": 1}}}, 422, "policy.settings", "magrin"),
        ({"deadlines": {"endlos": "+2h"}}, 422, "deadlines.endlos", "no deadline"),
        ({"deadlines": {"endlos": "2001-01-01T00:00Z"}}, 422, "deadlines.endlos", "past"),
        ({"deadlines": {"endlos": "soon"}}, 422, "deadlines.endlos", "soon"),
        ({"cancel": ["niemand"]}, 404, None, "niemand"),
        ({"cancel": ["vorbei"]}, 409, None, "ended"),
        ({"add": [{"name": "x", "run": "x", "node": "nirgends"}]}, 422, "add.0.node", "nirgends"),
        ({"add_slots": 0}, 422, "add_slots", "add_slots"),
        ({"add_nodes": [{"count": 1000, "slots": 4096}]}, 422, "add_nodes", "slots"),
        ({}, 422, None, "nothing is to be different"),
        ({"lose": ["weg"]}, 409, "lose", "lost already"),
    ],
)
def test_a_thought_that_means_nothing_is_an_error(
    server: Served, thought: dict[str, Any], status: int, field: str | None, words: str
) -> None:
    from tenuto.model.node import NodeState
    from tenuto.model.phase import Phase

    server.join("uzel", 4)
    server.join("weg", 4, state=NodeState.OFFLINE)
    server.submit("endlos")
    server.put(server.submit("vorbei")["id"], phase=Phase.SUCCEEDED, ended_at=NOW)
    before = contents(server.store)

    error = server.refused("POST", "/whatif", thought)

    assert (error["status"], error["field"]) == (status, field)
    assert words in error["message"] + error["remedy"]
    assert contents(server.store) == before


def test_what_is_wrong_with_a_job_names_its_place(server: Served) -> None:
    error = server.refused("POST", "/plan", {"jobs": [a_form("x"), a_form("y", after="niemand")]})

    assert (error["status"], error["field"]) == (422, "jobs.1.after.job")


def test_a_waiting_job_is_explained(tmp_path: Path) -> None:
    with decided(tmp_path, {"node-0": 4}) as (served, live):
        served.post("/jobs", form("groß", workers=4, steps=4000.0, deadline="+2h"))
        waits = served.post("/jobs", form("wartet", workers=4))
        live.settle()

        told = served.get(f"/jobs/{waits['id']}/explain")

        assert (told["state"], told["why"]) == ("queued", "slots_taken")
        assert [holder["name"] for holder in told["in_the_way"]] == ["groß"]
        assert told["remedies"][0]["command"] == "tenuto whatif --add-slots 4"


def test_a_policy_that_cannot_be_used_is_why_nobody_is_answered(tmp_path: Path) -> None:
    with decided(tmp_path) as (served, live):
        live.set_policy("gone.py")
        job = served.post("/jobs", form())
        live.controller.tick()

        told = served.get(f"/jobs/{job['id']}/explain")
        refused = served.refused("POST", "/plan", {"jobs": [form()]})

        assert (told["state"], told["why"]) == ("submitted", "policy_failed")
        assert told["remedies"][0]["command"] == "tenuto policy set elasticflow"
        assert (refused["status"], refused["code"]) == (409, "conflict")


def test_questions_change_nothing(tmp_path: Path) -> None:
    with decided(tmp_path) as (served, live):
        job = served.post("/jobs", form("eins", steps=4000.0, deadline="+2h"))
        served.post("/jobs", form("zwei", steps=4000.0))
        live.settle()
        before = contents(served.store)

        for ask in questions(job["id"]):
            ask(served.http)

        assert contents(served.store) == before


def questions(job: str) -> list[Any]:
    """One of each kind, as functions of a client."""
    thoughts: list[dict[str, Any]] = [
        {"lose": ["node-0"]},
        {"add_slots": 4},
        {"policy": {"name": "fifo"}},
        {"deadlines": {job: "+2h"}},
        {"cancel": [job]},
        {"add": [form("neu", deadline="+60s")]},
    ]

    def plan(http: httpx.Client) -> None:
        assert (
            http.post("/plan", json={"jobs": [form("neu", deadline="+60s"), form("auch")]}).status_code == 200
        )

    def explain(http: httpx.Client) -> None:
        assert http.get(f"/jobs/{job}/explain").status_code == 200

    def whatif(thought: dict[str, Any]) -> Any:
        def ask(http: httpx.Client) -> None:
            # A job that has ended meanwhile is a conflict, not a mistake.
            assert http.post("/whatif", json=thought).status_code in (200, 409)

        return ask

    return [plan, explain, *map(whatif, thoughts)]


def a_day(live: Platform, served: Served | None = None) -> None:
    """Jobs come, rounds are run, time passes, workers end, a node is drained and comes back."""

    def pass_time(seconds: float) -> None:
        if served is not None:
            served.clock.now += seconds
        live.pass_time(seconds)

    jobs = []
    for number in range(8):
        deadline = 900.0 if number % 2 else None
        jobs.append(live.submit(f"작업-{number}", steps=200.0 + 40.0 * number, deadline=deadline))
        pass_time(15.0)
        if number == 4:
            live.exit(jobs[0])
    live.drain("node-0")
    pass_time(30.0)
    for job in jobs[1:4]:
        live.exit(job)


def with_users() -> MemoryStore:
    """A store that is written to as often as that of a server before anything happens."""
    store = MemoryStore()
    for secret in ("one", "two"):
        store.write(lambda tx, secret=secret: tx.add_token(Token(digest=secret, user=secret)))  # type: ignore[misc]
    return store


def test_many_who_ask_while_the_platform_works_change_nothing(tmp_path: Path) -> None:
    """The same day on two platforms, of which one is asked by many: both have the same past, number for number."""
    quiet = Platform({"node-0": 4, "ノード-1": 4}, store=with_users(), start=NOW)
    quiet.settle()
    first = quiet.submit("erster", steps=3000.0, deadline=7200.0)
    a_day(quiet)
    with decided(tmp_path) as (served, live):
        assert live.submit("erster", steps=3000.0, deadline=7200.0) == first
        over = threading.Event()

        def ask(number: int) -> int:
            asked = 0
            with httpx.Client(
                base_url=served.http.base_url, headers={"Authorization": f"Bearer {TOKEN}"}, **QUICK
            ) as http:
                asks = questions(first)
                while not over.is_set() or asked == 0:
                    asks[(number + asked) % len(asks)](http)
                    asked += 1
            return asked

        with ThreadPoolExecutor(ASKING) as pool:
            asking = [pool.submit(ask, number) for number in range(ASKING)]
            try:
                a_day(live, served)
            finally:
                over.set()
            asked = [one.result(timeout=120.0) for one in asking]

        assert min(asked) >= 1
        assert contents(served.store) == contents(quiet.store)


def test_who_asks_when_too_many_wait_is_told_when_to_come_again(server: Served) -> None:
    server.join("uzel", 4)
    server.app.state.desk = Desk(at_a_time=1, waiting=0)

    response = server.http.post("/plan", json={"jobs": [form()]})

    assert (response.status_code, response.json()["code"]) == (503, "busy")
    assert int(response.headers["Retry-After"]) >= 1
