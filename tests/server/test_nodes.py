"""Nodes and the whole cluster."""

from __future__ import annotations

from tests.server.serving import USER_NAME, Served

from tenuto.model.node import NodeState, Slot
from tenuto.model.phase import Phase


def test_nodes_show_who_holds_their_slots(server: Served) -> None:
    server.join("węzeł-1", slots=(Slot(device="GPU-1", kind="A100"), Slot()))
    server.join("węzeł-0", 1)
    id_ = server.submit()["id"]
    server.put(id_, phase=Phase.RUNNING, slots={"węzeł-1": (0,)})

    first, second = server.get("/nodes")["items"]

    assert [first["name"], second["name"]] == ["węzeł-1", "węzeł-0"]
    assert (first["total"], first["used"], first["jobs"]) == (2, 1, [id_])
    assert first["slots"][0] == {
        "index": 0,
        "device": "GPU-1",
        "kind": "A100",
        "job": id_,
        "guests": [],
    }
    assert second["jobs"] == []
    assert server.get("/nodes/węzeł-1") == first


def test_nodes_come_in_pages_too(server: Served) -> None:
    for number in range(5):
        server.join(f"node-{number}")

    first = server.get("/nodes", limit=3)
    second = server.get("/nodes", limit=3, cursor=first["next"])

    assert [node["name"] for node in first["items"] + second["items"]] == [f"node-{n}" for n in range(5)]
    assert second["next"] is None


def test_a_node_is_drained_and_used_again(server: Served) -> None:
    server.join("node-0")

    assert server.post("/nodes/node-0/drain")["state"] == "draining"
    assert server.post("/nodes/node-0/drain")["state"] == "draining"
    assert server.post("/nodes/node-0/undrain")["state"] == "online"
    assert server.post("/nodes/node-0/undrain")["state"] == "online"

    events = server.events(node="node-0", kind="node")
    assert [(event.before, event.after, event.actor) for event in events] == [
        ("online", "draining", USER_NAME),
        ("draining", "online", USER_NAME),
    ]


def test_what_is_offline_can_only_be_forgotten(server: Served) -> None:
    server.join("node-0", state=NodeState.OFFLINE)
    before = server.everything()

    for verb in ("drain", "undrain"):
        assert server.refused("POST", f"/nodes/node-0/{verb}")["code"] == "node_offline"
    assert server.everything() == before
    assert server.http.delete("/nodes/node-0").json() == {"deleted": ["node-0"]}
    assert server.get("/nodes")["items"] == []


def test_a_node_with_workers_is_not_forgotten(server: Served) -> None:
    server.join("node-0")
    id_ = server.submit()["id"]
    server.put(id_, phase=Phase.RUNNING, slots={"node-0": (0,)})
    before = server.everything()

    error = server.refused("DELETE", "/nodes/node-0")

    assert (error["status"], error["code"]) == (409, "node_in_use")
    assert id_ in error["message"] and "drain" in error["remedy"]
    assert server.everything() == before
    server.post("/nodes/node-0/drain")
    assert server.refused("DELETE", "/nodes/node-0")["remedy"] == "Wait until they have gone"
    server.put(id_, phase=Phase.QUEUED, slots={})
    assert server.http.delete("/nodes/node-0").status_code == 200


def test_the_cluster_is_told_in_numbers(server: Served) -> None:
    server.join("node-0", 4)
    server.join("node-1", 4, state=NodeState.OFFLINE)
    id_ = server.submit()["id"]
    server.submit()
    server.put(id_, phase=Phase.RUNNING, slots={"node-0": (0, 1)})
    server.set_meta(controller={"state": "deciding", "at": 0.0}, leadership={"term": 7})

    shown = server.get("/cluster")

    assert shown["slots"] == {"total": 8, "usable": 4, "used": 2}
    assert shown["nodes"] == {"online": 1, "offline": 1, "draining": 0}
    assert (shown["jobs"]["running"], shown["jobs"]["submitted"], shown["jobs"]["lost"]) == (1, 1, 0)
    assert shown["controller"] == {"state": "deciding", "at": "1970-01-01T00:00:00.000Z", "term": 7}


def test_going_down_is_a_wish_that_counts_once(server: Served) -> None:
    assert server.get("/cluster")["draining"] is False

    assert server.post("/down") == server.post("/down") == {"draining": True}

    assert server.get("/cluster")["draining"] is True
    assert [event.actor for event in server.events(kind="cluster")] == [USER_NAME]


def test_nodes_show_guests_and_who_is_there_without_a_gpu(server: Served) -> None:
    server.join("węzeł-1", 2)
    holder, guest, lone = (
        server.submit(**more)["id"] for more in ({"share": True}, {"share": True}, {"gpus": 0})
    )
    server.put(holder, phase=Phase.RUNNING, slots={"węzeł-1": (1,)})
    server.put(guest, phase=Phase.RUNNING, seats={"węzeł-1": (1,)})
    server.put(lone, phase=Phase.RUNNING, seats={"węzeł-1": (0,)})

    (node,) = server.get("/nodes")["items"]

    assert (node["used"], node["jobs"]) == (1, sorted([holder, guest, lone]))
    assert [(slot["job"], slot["guests"]) for slot in node["slots"]] == [(None, []), (holder, [guest])]
    assert node["cpu"] == {"total": 1, "used": 1, "jobs": [lone]}
    assert server.get("/cluster")["slots"]["used"] == 1
    shown = {one["id"]: (one["slots"], one["seats"], one["guest"]) for one in server.get("/jobs")["items"]}
    assert shown == {
        holder: ({"węzeł-1": [1]}, {}, False),
        guest: ({}, {"węzeł-1": [1]}, True),
        lone: ({}, {"węzeł-1": [0]}, False),
    }


def test_a_job_without_gpus_keeps_its_size_and_gets_no_deadline(server: Served) -> None:
    server.join("węzeł-1", 2)
    lone = server.submit(gpus=0)["id"]

    assert server.refused("POST", f"/jobs/{lone}/scale", {"workers": 2})["code"] == "out_of_range"
    told = server.refused("PATCH", f"/jobs/{lone}", {"deadline": "+1h"})
    assert told["message"].endswith("nothing is promised to a job without GPUs")
