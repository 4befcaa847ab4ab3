"""Values that one part could write and another could not read: they are refused at the edge, and nothing changes.

Every body here was accepted, or answered with a 500, before there were limits on free-form JSON.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.security.poison import HUGE, SURROGATE, nested
from tests.server.serving import NOW, Served, a_form, a_server, error_in

from tenuto.errors import InputInvalid
from tenuto.wire.job_file import read_jobs
from tenuto.wire.worker import WorkerId


def a_record(**fields: Any) -> dict[str, Any]:
    usual = {"seq": 0, "kind": "step", "at": NOW, "generation": 1, "step": 1, "world": 1, "rank": 0}
    return usual | fields


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server")


@pytest.fixture(scope="module")
def server(directory: Path) -> Iterator[Served]:
    """One server for all: what is refused changes nothing."""
    with a_server(directory) as served:
        served.join("node-0", 4)
        yield served


@pytest.fixture(scope="module")
def job(server: Served) -> str:
    id_: str = server.submit("cible")["id"]
    return id_


FREE_FORM: list[tuple[str, Any, str]] = [
    ("deep", {"x": nested(197)}, "params.x.0.0.0.0.0.0.0"),
    ("too deep for the parser", {"x": nested(900)}, "params.x.0.0.0.0.0.0.0"),
    ("many digits", {"x": {"y": HUGE}}, "params.x.y"),
    ("65 bits", {"x": 1 << 63}, "params.x"),
    ("infinite", {"x": [float("inf")]}, "params.x.0"),
    ("half a character", {"x": SURROGATE}, "params.x"),
    ("half a character in a key", {"x": {SURROGATE: 1}}, "params.x"),
    ("a NUL", {"x": "\0"}, "params.x"),
    ("many keys", {str(number): 0 for number in range(10_001)}, "params"),
    ("many items", {"x": [0] * 10_001}, "params"),
    ("many bytes", {"x": "ł" * 33_000}, "params"),
]


@pytest.mark.parametrize(("params", "field"), [case[1:] for case in FREE_FORM], ids=[c[0] for c in FREE_FORM])
def test_params_that_could_not_be_read_back_are_refused(server: Served, params: Any, field: str) -> None:
    before = server.everything()

    error = server.refused("POST", "/jobs", a_form(params=params))

    assert (error["status"], error["code"], error["field"]) == (422, "input_invalid", field)
    assert server.everything() == before


@pytest.mark.parametrize("params", [case[1] for case in FREE_FORM], ids=[case[0] for case in FREE_FORM])
def test_every_other_way_for_free_form_values_has_the_same_limits(
    server: Served, job: str, params: Any
) -> None:
    before = server.everything()
    form = a_form(params=params)
    requests = {
        f"/jobs/{job}/resubmit": {"edit": {"params": params}},
        "/plan": {"jobs": [form]},
        "/whatif": {"add": [form]},
    }

    for path, body in requests.items():
        error = server.refused("POST", path, body)
        assert (error["status"], error["code"]) == (422, "input_invalid"), path
        assert "params" in error["field"]
    assert server.refused("PUT", "/policy", {"settings": params})["status"] == 422
    assert server.refused("POST", "/whatif", {"policy": {"settings": params}})["status"] == 422
    assert server.refused("PUT", "/policy/shadows", {"policies": [{"name": "edf", "settings": params}]})[
        "status"
    ] == (422)
    assert server.everything() == before


BODIES: list[tuple[str, str, str]] = [
    ("deep brackets", "[" * 100_000 + "]" * 100_000, "input_invalid"),
    ("5000 digits", '{"name": "a", "run": "b", "params": {"x": ' + "9" * 5000 + "}}", "input_invalid"),
    ("half a character for a key", '{"name": "a", "run": "b", "\\ud800": 1}', "input_invalid"),
    ("half a character for a role", '{"name": "a", "run": "b", "roles": {"\\ud800": {}}}', "input_invalid"),
    ("half a character for a command", '{"name": "a", "run": ["\\ud800"]}', "input_invalid"),
]


@pytest.mark.parametrize(("body", "code"), [case[1:] for case in BODIES], ids=[case[0] for case in BODIES])
def test_a_body_that_no_parser_reads_is_refused(server: Served, body: str, code: str) -> None:
    answer = server.http.post("/jobs", content=body, headers={"Content-Type": "application/json"})

    assert (answer.status_code, error_in(answer)["code"]) == (422, code)


CURVES: list[tuple[str, Any]] = [
    ("a rate of 400 digits", {"1": HUGE}),
    ("a rate below every float", {"1": -HUGE}),
    ("a size of 400 digits", {"1" * 400: 1.0}),
    ("a size in other digits", {"²": 1.0}),
    ("half a character for a size", {SURROGATE: 1.0}),
    ("more sizes than workers", {str(size): 1.0 for size in range(1, 5000)}),
]


@pytest.mark.parametrize("curve", [case[1] for case in CURVES], ids=[case[0] for case in CURVES])
def test_a_curve_that_is_none_is_refused(server: Served, job: str, curve: Any) -> None:
    before = server.everything()

    for path, body in (("/jobs", a_form(curve=curve)), (f"/jobs/{job}/curve", {"curve": curve})):
        error = server.refused("POST", path, body)
        assert (error["status"], error["field"]) == (422, "curve")
    assert server.everything() == before


TYPED: list[tuple[str, Any]] = [
    ("total", HUGE),
    ("total", {"epochs": HUGE}),
    ("workers", HUGE),
    ("preferred", HUGE),
    ("global_batch", HUGE),
    ("max_duration", HUGE),
    ("limits", {"memory": HUGE}),
    ("limits", {"cpus": HUGE}),
    ("labels", {"a": SURROGATE}),
    ("labels", {SURROGATE: "a"}),
    ("labels", {"a": HUGE}),
    ("env", {"A": SURROGATE}),
    ("env", {SURROGATE: "a"}),
    ("env", {"A": nested(300)}),
    ("workdir", SURROGATE),
    ("deadline", SURROGATE),
    ("profile", SURROGATE),
    ("node", SURROGATE),
]


@pytest.mark.parametrize(("key", "value"), TYPED)
def test_typed_fields_refuse_the_same_numbers_and_texts(server: Served, key: str, value: Any) -> None:
    before = server.everything()

    error = server.refused("POST", "/jobs", a_form(**{key: value}))

    assert (error["status"], error["code"]) == (422, "input_invalid")
    assert error["field"].startswith(key)
    assert server.everything() == before


RECORDS: list[tuple[str, dict[str, Any], str]] = [
    ("deep", {"values": {"x": nested(250)}}, "records.0.values.x"),
    ("many digits", {"seconds": HUGE}, "records.0.seconds"),
    ("65 bits", {"values": {"x": 1 << 64}}, "records.0.values.x"),
    ("a text that is half a character", {"why": SURROGATE}, "records.0.why"),
    ("a name that is half a character", {"values": {SURROGATE: 1.0}}, "records.0.values"),
    ("a NUL in the name of a node", {"kind": "loss", "node": "a\0b"}, "records.0.node"),
    ("long", {"kind": "summary", "sentence": "x" * 200_000}, "records.0"),
    ("a world without end", {"world": float("inf")}, "records.0"),
    ("a world that is no number", {"world": float("nan")}, "records.0"),
    ("a rank without end", {"rank": float("inf")}, "records.0"),
    ("before all calendars", {"at": -9e10}, "records.0"),
]


@pytest.mark.parametrize(("fields", "place"), [c[1:] for c in RECORDS], ids=[case[0] for case in RECORDS])
def test_a_record_that_could_not_be_read_back_is_refused(
    server: Served, job: str, fields: dict[str, Any], place: str
) -> None:
    before = server.everything()

    error = server.refused(
        "POST", f"/jobs/{job}/metrics", {"worker": f"{job}.1.worker.0", "records": [a_record(**fields)]}
    )

    assert (error["status"], error["code"]) == (422, "input_invalid")
    assert error["field"].startswith(place)
    assert server.everything() == before
    assert server.get(f"/jobs/{job}/metrics")["series"] == []


@pytest.mark.parametrize("number", ["9" * 100, "-1", "٣", "²", "1_0", " 1"])
def test_a_worker_with_an_impossible_number_is_none(server: Served, job: str, number: str) -> None:
    for worker in (f"{job}.{number}.worker.0", f"{job}.1.worker.{number}"):
        error = server.refused("POST", f"/jobs/{job}/metrics", {"worker": worker})
        assert (error["status"], error["field"]) == (422, "worker")


def test_a_job_file_has_the_same_limits_and_names_the_place(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    text = f"name: a\nrun: b\nparams:\n  lr: 1\n  layers:\n    - {10**300}\n"
    path.write_text(text)

    with pytest.raises(InputInvalid) as caught:
        read_jobs(str(path))[0].checked()

    assert caught.value.place is not None
    assert (caught.value.field, caught.value.place.line) == ("params.layers.0", 6)
    assert caught.value.remedy


def test_stray_files_beside_logs_and_records_disturb_nothing(tmp_path: Path) -> None:
    with a_server(tmp_path) as server:
        job = server.submit("journal")["id"]
        worker = WorkerId(job, 1, "worker", 0)
        server.logs.append(worker, 0, b"hello\n")
        server.post(f"/jobs/{job}/metrics", {"worker": str(worker), "records": [a_record()]})
        for place in (tmp_path / "logs" / job, tmp_path / "records" / job):
            scatter(place)
            scatter(place / "1.worker.0")

        (part,) = server.get(f"/jobs/{job}/logs")["parts"]
        assert part["text"] == "hello\n"
        assert server.http.get(f"/jobs/{job}/logs/raw").content.endswith(b"hello\n")
        (series,) = server.get(f"/jobs/{job}/metrics")["series"]
        assert [point["step"] for point in series["points"]] == [1]
        again = a_record(seq=1, step=2)
        assert server.post(
            f"/jobs/{job}/metrics", {"worker": str(worker), "first": 1, "records": [again]}
        ) == {"next": 2}
        assert server.logs.append(worker, 6, b"more\n") == 11
        server.http.delete(f"/jobs/{job}").raise_for_status()
        assert not (tmp_path / "logs" / job).exists()


def scatter(directory: Path) -> None:
    """Leave what a user, a backup or a broken disk may leave in a directory of ours."""
    for name in ("²", "².part", "notes", "x.part", "1.worker", "1.worker.x", "²ª.worker.0", "1.2.3.4.5"):
        (directory / name).write_text("rubbish")
    for name in ("a directory", "00000000000000000099.part"):
        (directory / name).mkdir()
    os.mkfifo(directory / "00000000000000000098.part")
    os.mkfifo(directory / "pipe")
    (directory / "nowhere.part").symlink_to("/nonexistent")


def test_a_line_that_is_no_record_hides_no_other(tmp_path: Path) -> None:
    with a_server(tmp_path) as server:
        job = server.submit("lignes")["id"]
        path = f"/jobs/{job}/metrics"
        server.post(path, {"worker": f"{job}.1.worker.0", "records": [a_record()]})
        (part,) = (tmp_path / "records" / job / "1.worker.0").iterdir()
        rubbish = [
            "[" * 100_000,
            "7",
            "{}",
            '{"seq": 1, "kind": "step", "x": "\\ud800"}',
            "\0\0",
            json.dumps([]),
        ]
        whole = json.dumps(a_record(seq=2, step=3, seconds=HUGE))
        part.write_text(part.read_text() + "\n".join([*rubbish, whole]) + "\n")
        # The server knows where the stream ends; another one finds it out.
        server.app.state.platform.files.steps._next.clear()

        (series,) = server.get(path)["series"]
        assert [(point["step"], point["seconds"]) for point in series["points"]] == [(1, None), (3, None)]
        assert server.post(path, {"worker": f"{job}.1.worker.0"}) == {"next": 3}
