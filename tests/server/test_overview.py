"""One look at the whole, and what nodes are doing."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.serving import NOW, Served, promised

from tenuto.forecast.eta import Eta
from tenuto.model.job import Progress
from tenuto.model.node import NodeState, Slot
from tenuto.model.phase import Phase, PromiseState
from tenuto.model.series import JOB, Points, Subject
from tenuto.server.outlook import Seen
from tenuto.server.overview_rows import JOB_ORDERS, NODE_ORDERS
from tenuto.store.base import StoreUnavailable
from tenuto.wire.sample import DiskSample, GpuProcess, GpuSample, NetSample, NodeSample

GIB = 1 << 30
TWO_GPUS = (Slot(device="0", kind="A100"), Slot(device="1", kind="A100"))


def sampled(server: Served, node: str, *gpus: GpuSample, **fields: Any) -> NodeSample:
    """A node tells what it is doing."""
    sample = NodeSample(at=NOW - 2, gpus=gpus, **fields)
    server.app.state.platform.files.latest.take(node, [sample])
    return sample


def a_gpu(index: int, utilisation: float | None = 50.0) -> GpuSample:
    return GpuSample(
        index=index,
        uuid=f"GPU-{index}",
        name="A100",
        utilisation=utilisation,
        memory_used=10 * GIB,
        memory_total=40 * GIB,
        power=100.0 * index,
    )


def a_running_job(server: Served, name: str = "trénink", **slots: tuple[int, ...]) -> str:
    id_: str = server.submit(name)["id"]
    server.runs(id_, **slots)
    return id_


def test_a_node_tells_its_use_in_a_line_while_it_is_there(server: Served) -> None:
    server.join("węzeł", slots=TWO_GPUS)
    nets = (NetSample(id="eth0", received=100.0, sent=5.0), NetSample(id="ib0", received=900.0))
    sampled(server, "węzeł", a_gpu(0), a_gpu(1, None), cpu=12.5, ram_used=GIB, ram_total=4 * GIB, nets=nets)

    node = server.get("/nodes/węzeł")

    assert node["usage"] == {
        "at": "2027-01-15T07:59:58.000Z",
        "age": 2.0,
        "cpu": 12.5,
        "ram_free": 3 * GIB,
        "ram_total": 4 * GIB,
        "received": 1000.0,
        "sent": 5.0,
        "gpu": 50.0,
        "vram_free": 60 * GIB,
        "vram_total": 80 * GIB,
        "gpus_lost": 0,
        "gpu_problem": None,
    }
    assert server.get("/nodes")["items"] == [node]
    server.join("węzeł", slots=TWO_GPUS, state=NodeState.OFFLINE)
    assert server.get("/nodes/węzeł")["usage"] is None


def test_how_much_of_a_node_is_held_counts_cpus_and_gpus_apart(server: Served) -> None:
    server.join("węzeł", slots=(*TWO_GPUS, Slot()))
    a_running_job(server, węzeł=(0, 2))
    lone = server.submit(gpus=0)["id"]
    server.put(lone, phase=Phase.RUNNING, seats={"węzeł": (0,)})

    assert server.get("/nodes/węzeł")["occupied"] == {"cpu": 2, "cpu_total": 2, "gpu": 1, "gpu_total": 2}


def test_the_newest_sample_is_told_whole_with_null_for_what_is_unknown(server: Served) -> None:
    server.join("węzeł")
    process = GpuProcess(pid=7, name="python", job="k1")
    gpu = GpuSample(index=0, lost=True, processes=(process,))
    sampled(server, "węzeł", gpu, disks=(DiskSample(path="/"),), cores=(1.0, None))

    told = server.get("/nodes/węzeł/sample")

    assert (told["node"], told["age"]) == ("węzeł", 2.0)
    sample = told["sample"]
    assert set(sample) == set(NodeSample.__dataclass_fields__)
    assert (sample["cpu"], sample["cores"], sample["gpus"][0]["utilisation"]) == (None, [1.0, None], None)
    assert sample["gpus"][0]["processes"][0]["job"] == "k1"
    assert sample["disks"] == [{"path": "/", "used": None, "total": None, "read": None, "written": None}]


def test_a_node_without_a_sample_says_why(server: Served) -> None:
    server.join("nowy")
    server.join("zgubiony", state=NodeState.OFFLINE)

    assert server.refused("GET", "/nodes/nowy/sample")["code"] == "no_sample"
    assert "offline" in server.refused("GET", "/nodes/zgubiony/sample")["remedy"]
    assert server.refused("GET", "/nodes/nikt/sample")["code"] == "not_found"


def test_a_node_that_is_forgotten_and_joins_anew_has_no_old_sample(server: Served) -> None:
    server.join("węzeł", state=NodeState.OFFLINE)
    sampled(server, "węzeł", cpu=1.0)

    server.http.delete("/nodes/węzeł")
    server.join("węzeł")

    assert server.get("/nodes/węzeł")["usage"] is None


def test_an_overview_has_nodes_gpus_with_their_jobs_and_jobs_with_their_gpus(server: Served) -> None:
    server.join("węzeł", slots=TWO_GPUS)
    id_ = a_running_job(server, "훈련", węzeł=(1,))
    sampled(server, "węzeł", a_gpu(0, 10.0), a_gpu(1, 90.0), cpu=33.0)
    series = server.app.state.platform.files.series
    rates = {"samples_per_second": [100.0, 128.0, None]}
    series.add([Points(subject=Subject(JOB, id_), at=[NOW - 9, NOW - 8, NOW - 7], values=rates)])

    told = server.get("/overview")

    (node,), (job,) = told["nodes"], told["jobs"]
    assert (node["name"], node["used"], node["jobs"], node["usage"]["cpu"]) == ("węzeł", 1, 1, 33.0)
    assert [gpu["jobs"] for gpu in told["gpus"]] == [[], [{"id": id_, "name": "훈련"}]]
    assert (job["gpu"], job["samples_per_second"], job["nodes"]) == (90.0, 128.0, ["węzeł"])
    assert told["of"] == {"nodes": 1, "gpus": 2, "jobs": 1}
    assert told["cluster"]["slots"] == {"total": 2, "usable": 2, "used": 1}


def test_a_history_that_does_not_answer_leaves_everything_else_in_view(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_: object) -> None:
        asked.append(1)
        raise StoreUnavailable("the history is damaged", remedy="Restore it")

    asked: list[int] = []
    server.join("węzeł", slots=TWO_GPUS)
    for place in (0, 1):
        a_running_job(server, f"훈련-{place}", węzeł=(place,))
    monkeypatch.setattr(server.app.state.platform.files.series, "read", away)

    jobs = server.get("/overview")["jobs"]

    assert [(job["state"], job["samples_per_second"]) for job in jobs] == [("running", None)] * 2
    assert len(asked) == 1


def test_gpus_of_a_node_that_tells_nothing_are_those_of_its_slots(server: Served) -> None:
    server.join("węzeł", slots=TWO_GPUS, state=NodeState.OFFLINE)
    sampled(server, "węzeł", a_gpu(0), a_gpu(1), a_gpu(2))

    gpus = server.get("/overview")["gpus"]

    assert [(gpu["index"], gpu["name"], gpu["utilisation"]) for gpu in gpus] == [
        (0, "A100", None),
        (1, "A100", None),
    ]


def test_rows_are_filtered_sorted_and_cut_by_the_server(server: Served) -> None:
    for number, cpu in enumerate((20.0, 80.0, 50.0)):
        server.join(f"node-{number}", slots=TWO_GPUS)
        sampled(server, f"node-{number}", a_gpu(0, cpu), a_gpu(1, None), cpu=cpu)
    for name in ("Beta", "alfa", "gamma"):
        server.submit(name)

    def names(kind: str, **query: Any) -> list[str]:
        return [row["name" if kind != "gpus" else "node"] for row in server.get("/overview", **query)[kind]]

    assert names("nodes", nodes_by="cpu") == ["node-1", "node-2", "node-0"]
    assert names("nodes", nodes_by="-cpu", nodes=1, nodes_from=1) == ["node-2"]
    assert names("gpus", gpus_by="utilisation", gpus=3) == ["node-1", "node-2", "node-0"]
    assert names("gpus", gpus_by="-utilisation", gpus=3) == ["node-0", "node-2", "node-1"]
    assert names("jobs", jobs_by="name") == ["Beta", "alfa", "gamma"]
    assert names("jobs", text="BET") == ["Beta"]
    assert server.get("/overview", text="node-1", jobs=0)["of"] == {"nodes": 1, "gpus": 2, "jobs": 0}
    assert server.refused("GET", "/overview?jobs_by=nmae")["field"] == "jobs_by"


def test_jobs_can_be_sorted_by_every_column(server: Served) -> None:
    ids = [server.submit(f"job-{number}")["id"] for number in range(3)]
    server.put(ids[1], phase=Phase.RUNNING, slots={"n": (0, 1)}, progress=Progress(left=1.0, as_of=NOW))

    for order in JOB_ORDERS:
        found = {
            by: [row["id"] for row in server.get("/overview", jobs_by=by)["jobs"]]
            for by in (order, f"-{order}")
        }
        assert all(sorted(rows) == sorted(ids) for rows in found.values())
    assert server.get("/overview", jobs_by="workers")["jobs"][0]["id"] == ids[1]


def test_an_end_is_shown_for_a_minute_and_its_promise_counts_for_a_day(server: Served) -> None:
    id_ = a_running_job(server, węzeł=(0,))
    server.put(id_, **promised(server.job(id_), NOW + 100))
    assert server.get("/overview")["promises"] == {"holds": 1, "at_risk": 0, "kept": 0, "broken": 0}

    server.put(id_, phase=Phase.SUCCEEDED, promise=PromiseState.KEPT, ended_at=NOW, slots={})
    shown = server.get("/overview")
    assert [job["state"] for job in shown["jobs"]] == ["succeeded"]
    assert shown["promises"] == {"holds": 0, "at_risk": 0, "kept": 1, "broken": 0}

    server.clock.now = NOW + 120
    later = server.get("/overview")
    assert (later["jobs"], later["promises"]["kept"]) == ([], 1)
    server.clock.now = NOW + 86_400 + 120
    assert server.get("/overview")["promises"]["kept"] == 0


def test_an_end_that_was_written_late_is_not_overlooked(server: Served) -> None:
    early, late = a_running_job(server, "a"), a_running_job(server, "b")
    server.put(late, phase=Phase.FAILED, promise=PromiseState.BROKEN, ended_at=NOW - 5)
    assert server.get("/overview")["promises"]["broken"] == 1

    server.put(early, phase=Phase.FAILED, promise=PromiseState.BROKEN, ended_at=NOW - 30)

    assert server.get("/overview")["promises"]["broken"] == 2


def test_the_queue_is_told_with_its_next_start_and_its_end(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (server.submit(name)["id"] for name in ("첫째", "둘째"))
    told = server.get("/overview")["queue"]
    assert told == {"waiting": 2, "next_start": None, "empty_at": None}

    etas = {first: Eta(start=NOW + 60), second: Eta()}
    monkeypatch.setattr(server.app.state.platform.outlook, "now", lambda *_: Seen(NOW, etas))
    soon = server.get("/overview")["queue"]
    assert (soon["next_start"], soon["empty_at"]) == ("2027-01-15T08:01:00.000Z", None)

    etas[second] = Eta(start=NOW + 120)
    assert server.get("/overview")["queue"]["empty_at"] == "2027-01-15T08:02:00.000Z"


def test_jobs_that_need_somebody_come_first(server: Served) -> None:
    names = ("fine", "failed", "idle", "at risk", "broken")
    ids = {name: a_running_job(server, name, węzeł=(number,)) for number, name in enumerate(names)}
    server.put(ids["failed"], phase=Phase.FAILED, ended_at=NOW, slots={})
    server.put(ids["idle"], idle_since=NOW - 900)
    server.put(ids["at risk"], promise=PromiseState.AT_RISK)
    server.put(ids["broken"], promise=PromiseState.BROKEN)

    rows = server.get("/overview", jobs_by="need")["jobs"]

    assert [row["name"] for row in rows] == ["broken", "at risk", "idle", "failed", "fine"]


def test_nodes_can_be_sorted_by_every_column(server: Served) -> None:
    for number in range(3):
        server.join(f"node-{number}", slots=TWO_GPUS)
    sampled(server, "node-1", a_gpu(0), cpu=1.0, nets=(NetSample(id="eth0", received=9.0, sent=1.0),))
    a_running_job(server, node_1=(0,))

    for order in NODE_ORDERS:
        for by in (order, f"-{order}"):
            assert len(server.get("/overview", nodes_by=by)["nodes"]) == 3
    for order in ("jobs", "slots", "received", "sent", "vram"):
        assert server.get("/overview", nodes_by=order)["nodes"][0]["name"] == "node-1"


def test_the_map_has_every_slot_and_who_is_on_it(server: Served) -> None:
    server.join("węzeł", count=3)
    server.join("zgubiony", count=2, state=NodeState.OFFLINE)
    holder = a_running_job(server, "훈련", węzeł=(0, 2))
    guest = server.submit("gość")["id"]
    server.put(guest, phase=Phase.RUNNING, seats={"węzeł": (2,), "zgubiony": (1,)})
    server.submit("waits")

    told = server.get("/cluster/map")

    assert (told["nodes"], told["states"]) == (["węzeł", "zgubiony"], ["online", "offline"])
    assert [job["id"] for job in told["jobs"]] == [holder, guest]
    assert told["slots"] == [[0, -1, 0], [-1, 1]]
    assert told["jobs"][0] == {"id": holder, "name": "훈련", "state": "running", "promise": "none"}


def test_a_map_of_eight_thousand_slots_is_small(server: Served) -> None:
    for number in range(1000):
        server.join(f"node-{number:04d}", count=8)
    for place in range(40):
        a_running_job(server, f"job-{place}", **{f"node_{place:04d}": tuple(range(8))})

    told = server.http.get("/cluster/map")

    assert sum(map(len, told.json()["slots"])) == 8000
    assert len(told.content) < 64_000
