"""Bad input gets a 4xx with code, sentence and remedy, and nothing at all has changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.server.serving import NOW, Served, a_form, a_server

from tenuto.model.phase import Phase

PROMISABLE: dict[str, Any] = {"curve": {"1": 1.0}, "total": {"steps": 10}}

SUBMISSIONS: list[tuple[str, Any, str | None, str]] = [
    ("no fields", {}, "name", "missing"),
    ("a list", [], None, "mapping"),
    ("a text", "python train.py", None, "mapping"),
    ("nothing", None, None, ""),
    ("no command", {"name": "a"}, "run", "nothing is said about what to run"),
    ("an empty command", a_form(run=""), "run", "empty"),
    ("an empty list", a_form(run=[]), "run", "empty"),
    ("blanks for a command", a_form(run="   "), "run", "empty"),
    ("two commands", a_form(module="pkg"), "run", "both run and module"),
    ("a number in a command", a_form(run=["sleep", 3]), "run.1", "not text"),
    ("a NUL in a command", a_form(run="a\0b"), "run.2", "NUL"),
    ("a huge argument", a_form(run=["x" * 200_000]), "run.0", "too long"),
    ("an open quotation", a_form(run=None, module="a 'b"), "module", "quotation"),
    ("an unknown key", a_form(wrokers=4), "wrokers", "no such key"),
    ("an unknown key further in", a_form(limits={"memroy": "2GB"}), "limits.memroy", "no such key"),
    ("an unknown key of a role", a_form(roles={"ps": {"cuont": 1}}), "roles.ps.cuont", "no such key"),
    ("a role called worker", a_form(roles={"worker": {}}), "roles.worker", "job itself"),
    ("a name that is a number", a_form() | {"name": 7}, "name", "not text"),
    ("an empty name", a_form(name=""), "name", "no name"),
    ("a name with a slash", a_form(name="../etc"), "name", "no name"),
    ("a long name", a_form(name="ż" * 101), "name", "no name"),
    ("half a character", a_form(name="a\ud800"), "name", "no name"),
    ("half a character further in", a_form(workdir="/\udfff"), "workdir", "surrogate"),
    ("no workers", a_form(workers=0), "workers", "out of range"),
    ("negative workers", a_form(workers=-1), "workers", "out of range"),
    ("a range backwards", a_form(workers="8..1"), "workers", "before it begins"),
    ("half a range", a_form(workers={"min": 2}), "workers.max", "missing"),
    ("many workers", a_form(workers=10**9), "workers", "out of range"),
    ("words for workers", a_form(workers="some"), "workers", "no number"),
    ("true for workers", a_form(workers=True), "workers", "no number"),
    ("a preference beyond the range", a_form(workers="1..4", preferred=8), "preferred", "not within"),
    ("another strategy", a_form(strategy="gossip"), "strategy", "not available"),
    ("roles in place", a_form(strategy="allreduce", roles={"ps": {}}), "roles", "workers only"),
    ("a bad variable", a_form(env={"A-B": "1"}), "env", "no name"),
    ("a variable of ours", a_form(env={"TENUTO_JOB_ID": "x"}), "env", "belongs to tenuto"),
    ("a list for a variable", a_form(env={"A": [1]}), "env", "no text"),
    ("memory in words", a_form(limits={"memory": "much"}), "limits.memory", "no size"),
    ("negative memory", a_form(limits={"memory": -5}), "limits.memory", "out of range"),
    ("no processor", a_form(limits={"cpus": 0}), "limits.cpus", "out of range"),
    ("steps and epochs", a_form(total={"steps": 1, "epochs": 1}), "total", "either"),
    ("negative steps", a_form(total={"steps": -1}), "total.steps", "out of range"),
    ("a deadline in the past", a_form(deadline="2020-01-01T00:00Z", **PROMISABLE), "deadline", "past"),
    ("a deadline now", a_form(deadline="+0s", **PROMISABLE), "deadline", "past"),
    ("a deadline without a zone", a_form(deadline="2030-01-01T00:00", **PROMISABLE), "deadline", "time zone"),
    ("a deadline in words", a_form(deadline="tomorrow", **PROMISABLE), "deadline", "no moment"),
    ("a deadline beyond our lives", a_form(deadline="+9999w", **PROMISABLE), "deadline", "out of range"),
    ("a deadline without work", a_form(deadline="+1h", curve={"1": 1.0}), "deadline", "amount of work"),
    ("a deadline for ever", a_form(deadline="+1h", curve={"1": 1.0}, total=0), "deadline", "amount of work"),
    ("a deadline on one node", a_form(deadline="+1h", node="n", **PROMISABLE), "deadline", "one node"),
    ("an empty curve", a_form(curve={}), "curve", "empty"),
    ("a curve in words", a_form(curve={"1": "fast"}), "curve", "no number"),
    ("a negative speed", a_form(curve={"1": -1}), "curve", "out of range"),
    ("a curve at no size", a_form(curve={"zero": 1}), "curve", "no number of workers"),
    ("a mistyped auto", a_form(curve="atuo"), "curve", "no curve"),
    ("a curve and a profile", a_form(curve={"1": 1.0}, profile="a100/x"), "profile", "too"),
    ("an unknown priority", a_form(priority="high"), "priority", "not known"),
    ("a contradiction", a_form(priority="normal", urgent=True), "urgent", "contradicts"),
    ("yes for true", a_form(share="yes"), "share", "true or false"),
    ("an unknown start", a_form(start="serial"), "start", "not known"),
    ("after nobody", a_form(after="nobody"), "after.job", "no job"),
    (
        "an unknown condition",
        a_form(after={"job": "x", "condition": "okay"}),
        "after.condition",
        "no condition",
    ),
    ("a bad label", a_form(labels={"-x": "1"}), "labels", "no name"),
    ("too many labels", a_form(labels={f"k{i}": "v" for i in range(65)}), "labels", "too many"),
    ("negative retries", a_form(retry=-1), "retry.failures", "out of range"),
    ("no time to run", a_form(max_duration=0), "max_duration", "no time"),
    ("a long grace", a_form(grace="2h"), "grace", "hour"),
    ("a huge params", a_form(params={"x": "y" * 70_000}), "params", "bytes"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all: whatever is refused changes nothing."""
    with a_server(tmp_path_factory.mktemp("server")) as served:
        served.join("node-0", 4)
        yield served


@pytest.mark.parametrize(
    ("body", "field", "said"), [case[1:] for case in SUBMISSIONS], ids=[case[0] for case in SUBMISSIONS]
)
def test_a_bad_submission_is_refused(server: Served, body: Any, field: str | None, said: str) -> None:
    before = server.everything()

    error = server.refused("POST", "/jobs", body)

    assert (error["status"], error["code"], error["field"]) == (422, "input_invalid", field)
    assert said in error["message"]
    assert server.everything() == before


def test_a_mistyped_key_is_guessed(server: Served) -> None:
    assert server.refused("POST", "/jobs", a_form(deadlin="+1h"))["remedy"] == "Did you mean deadline?"
    assert (
        server.refused("POST", "/jobs", a_form(roles={"ps": {"cuont": 1}}))["remedy"] == "Did you mean count?"
    )


def test_several_mistakes_are_all_named(server: Served) -> None:
    error = server.refused("POST", "/jobs", a_form(name="", workers=0, share=3))

    assert error["field"] == "name"
    assert "share" in error["message"] and "workers" in error["message"]


EVERY_VERB = [
    ("GET", "/jobs/{}", None),
    ("PATCH", "/jobs/{}", {"name": "x"}),
    ("DELETE", "/jobs/{}", None),
    ("POST", "/jobs/{}/scale", {"workers": 1}),
    ("POST", "/jobs/{}/pause", None),
    ("POST", "/jobs/{}/resume", None),
    ("POST", "/jobs/{}/cancel", None),
    ("POST", "/jobs/{}/resubmit", {}),
    ("GET", "/jobs/{}/logs", None),
    ("GET", "/jobs/{}/logs/raw", None),
    ("GET", "/jobs/{}/attempts", None),
    ("GET", "/jobs/{}/hosts", None),
    ("GET", "/nodes/{}", None),
    ("POST", "/nodes/{}/drain", None),
    ("POST", "/nodes/{}/undrain", None),
    ("DELETE", "/nodes/{}", None),
]


@pytest.mark.parametrize(("method", "path", "body"), EVERY_VERB)
@pytest.mark.parametrize("unknown", ["zzzz", "%00", "%F0%9F%A6%A6", "%ff", "a%20b"])
def test_an_unknown_name_is_not_found(
    server: Served, method: str, path: str, body: Any, unknown: str
) -> None:
    before = server.everything()

    error = server.refused(method, path.format(unknown), body)

    assert (error["status"], error["code"]) == (404, "not_found")
    assert server.everything() == before


BAD_SCALES: list[tuple[Any, int, str]] = [
    ({}, 422, "input_invalid"),
    ({"workers": 1, "delta": 1}, 422, "input_invalid"),
    ({"workers": "many"}, 422, "input_invalid"),
    ({"workers": 1.5}, 422, "input_invalid"),
    ({"workers": True}, 422, "input_invalid"),
    ({"delta": 0}, 422, "input_invalid"),
    ({"delta": "1"}, 422, "input_invalid"),
    ({"workers": 2, "node": "node-0"}, 422, "input_invalid"),
    ({"nodes": {"node-0": -1}}, 422, "input_invalid"),
    ({"wrokers": 2}, 422, "input_invalid"),
    ({"workers": 2, "force": "yes"}, 422, "input_invalid"),
    ({"workers": 1}, 409, "out_of_range"),
    ({"workers": 0}, 409, "out_of_range"),
    ({"workers": -1}, 409, "out_of_range"),
    ({"workers": 9}, 409, "out_of_range"),
    ({"workers": 10**30}, 409, "out_of_range"),
    ({"delta": -5}, 409, "out_of_range"),
    ({"delta": 700}, 409, "out_of_range"),
    ({"delta": -5, "node": "node-0"}, 409, "out_of_range"),
    ({"workers": 8}, 409, "not_enough_slots"),
    ({"delta": 3, "node": "node-0"}, 409, "not_enough_slots"),
    ({"nodes": {"node-0": 5}}, 409, "not_enough_slots"),
    ({"nodes": {"node-7": 2}}, 404, "not_found"),
    ({"delta": 1, "node": "nod-0"}, 404, "not_found"),
]


@pytest.mark.parametrize(("wish", "status", "code"), BAD_SCALES)
def test_a_bad_size_is_refused(server: Served, wish: Any, status: int, code: str) -> None:
    id_ = server.submit("skala", workers="2..8")["id"]
    server.runs(id_, node_0=(0, 1))
    before = server.everything()

    error = server.refused("POST", f"/jobs/{id_}/scale", wish)

    assert (error["status"], error["code"]) == (status, code)
    assert server.everything() == before
    server.put(id_, phase=Phase.SUCCEEDED, slots={})


BAD_CHANGES: list[tuple[Any, str | None]] = [
    ({}, None),
    ({"name": None}, "name"),
    ({"priority": None}, "priority"),
    ({"priority": "highest"}, "priority"),
    ({"deadline": "yesterday"}, "deadline"),
    ({"labels": ["a"]}, "labels"),
    ({"after": "nobody"}, "after.job"),
    ({"workers": 3}, "workers"),
    ({"nmae": "x"}, "nmae"),
]


@pytest.mark.parametrize(("change", "field"), BAD_CHANGES)
def test_a_bad_change_is_refused(server: Served, change: Any, field: str | None) -> None:
    id_ = server.submit("zmiana")["id"]
    before = server.everything()

    error = server.refused("PATCH", f"/jobs/{id_}", change)

    assert (error["status"], error["field"]) == (422, field)
    assert server.everything() == before


def test_a_job_cannot_wait_for_itself_nor_for_one_that_waits_for_it(server: Served) -> None:
    first = server.submit("pierwszy")["id"]
    second = server.submit("drugi", after=first)["id"]
    third = server.submit("trzeci", after={"job": second, "condition": "any"})["id"]
    before = server.everything()

    for last in (first, second, third):
        error = server.refused("PATCH", f"/jobs/{first}", {"after": last})
        assert (error["status"], error["field"]) == (422, "after.job")

    assert server.everything() == before


BAD_QUERIES = [
    "/jobs?limit=0",
    "/jobs?limit=501",
    "/jobs?limit=many",
    "/jobs?cursor=garbage",
    "/jobs?cursor=djE6OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk",
    "/jobs?state=runing",
    "/jobs?label=novalue",
    "/jobs?stat=running",
    "/jobs?name=%00",
    "/jobs?name=" + "x" * 300,
    "/events?after=-1",
    "/events?limit=501",
    "/events?kind=%00",
    "/events?last=maybe",
    "/events?jobb=x",
    "/nodes/" + "x" * 101,
]


@pytest.mark.parametrize("query", BAD_QUERIES)
def test_a_bad_query_is_refused(server: Served, query: str) -> None:
    assert server.refused("GET", query)["status"] == 422


@pytest.mark.parametrize("query", ["wait=forever", "timeout=-1", "timeout=1000", "timeout=nan"])
def test_a_bad_wait_is_refused(server: Served, query: str) -> None:
    id_ = server.submit("czekanie")["id"]

    assert server.refused("GET", f"/jobs/{id_}?{query}")["status"] == 422


@pytest.mark.parametrize(
    "query",
    ["rank=-1", "rank=x", "generation=-1", "tail=-1", "tail=9999999", "offset=-1", "limit=1", "rnak=0"],
)
def test_a_bad_question_for_logs_is_refused(server: Served, query: str) -> None:
    id_ = server.submit("dziennik")["id"]

    assert server.refused("GET", f"/jobs/{id_}/logs?{query}")["status"] == 422


BAD_POLICIES: list[tuple[Any, str | None]] = [
    ({}, None),
    ({"name": ""}, "name"),
    ({"name": "elasticflw"}, "name"),
    ({"name": "/tmp/evil.py"}, "name"),
    ({"name": "evil.py"}, "name"),
    ({"settings": {"interval": "often"}}, "settings.interval"),
    ({"settings": {"margin": -1}}, "settings.margin"),
    ({"settings": {"placement": "nowhere"}}, "settings.placement"),
    ({"settings": {"marginn": 1}}, "settings"),
    ({"naem": "edf"}, "naem"),
]


@pytest.mark.parametrize(("wish", "field"), BAD_POLICIES)
def test_a_bad_policy_is_refused(server: Served, wish: Any, field: str | None) -> None:
    before = server.everything()

    error = server.refused("PUT", "/policy", wish)

    assert (error["status"], error["field"]) == (422, field)
    assert server.everything() == before


def test_a_key_that_cannot_be_printed_is_refused(server: Served) -> None:
    for key in (b"x" * 201, b"a\xad\x85"):
        answer = server.http.post("/jobs", json=a_form(), headers=[(b"Idempotency-Key", key)])
        assert (answer.status_code, answer.json()["field"]) == (422, "Idempotency-Key")


def test_a_resubmission_with_bad_changes_is_refused(server: Served) -> None:
    id_ = server.submit("znowu", deadline="2027-01-15T09:00Z", **PROMISABLE)["id"]
    server.put(id_, phase=Phase.SUCCEEDED)
    before = server.everything()

    for edit, field in (({"workers": 0}, "workers"), ({"run": None}, "run"), ({"wrokers": 1}, "wrokers")):
        error = server.refused("POST", f"/jobs/{id_}/resubmit", {"edit": edit})
        assert (error["status"], error["field"]) == (422, field)
    server.clock.now = NOW + 7200
    assert server.refused("POST", f"/jobs/{id_}/resubmit")["field"] == "deadline"
    server.clock.now = NOW

    assert server.everything() == before
