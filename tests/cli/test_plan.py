"""What `tenuto up` is to do, before it does it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenuto.cli.home import Home
from tenuto.cli.local_nodes import anything_left, known_nodes, local_nodes, local_shape
from tenuto.cli.plan import Listening, LocalWish, Plan
from tenuto.engines.keeper import LEFT
from tenuto.errors import InputInvalid


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "집")
    made.prepare()
    return made


def test_a_plan_can_be_handed_to_another_process(home: Home) -> None:
    plan = Plan(home, {"nodes": {"timeout": 9.0}}, {"serving": {"port": 1}}, LocalWish(2, 3), draining=True)

    assert Plan.from_text(plan.as_text()) == plan


def test_what_a_server_tells_can_be_read_back(home: Home) -> None:
    told = Listening("http://127.0.0.1:1", 1, 42, home.path, ("node-0 (2 CPU slots)",), "geheim")

    assert Listening.from_json(told.as_json()) == told


def test_the_policy_of_last_time_stays_until_another_is_named(home: Home) -> None:
    stored = {"policy": "edf", "margin": 0.3, "settings": {}, "from_another_version": 1}

    assert Plan(home).settings(stored).scheduling.policy == "edf"
    assert Plan(home).settings(stored).scheduling.margin == 0.3
    named = Plan(home, options={"scheduling": {"policy": "fifo"}})
    assert named.settings(stored).scheduling.policy == "fifo"


def test_an_unknown_policy_is_refused_before_anything_begins(home: Home) -> None:
    with pytest.raises(InputInvalid, match="elasticflow"):
        Plan(home, options={"scheduling": {"policy": "elasticflaw"}}).check()


def test_no_nodes_and_some_nodes_contradict_each_other(home: Home) -> None:
    with pytest.raises(InputInvalid, match="--no-local"):
        Plan(home, local=LocalWish(nodes=2, none=True)).check()


@pytest.mark.parametrize(
    ("wish", "last", "shape"),
    [
        (LocalWish(), None, {"nodes": 1, "slots": None}),
        (LocalWish(3, 4), None, {"nodes": 3, "slots": 4}),
        (LocalWish(), {"nodes": 3, "slots": 4}, {"nodes": 3, "slots": 4}),
        (LocalWish(nodes=2), {"nodes": 3, "slots": 4}, {"nodes": 2, "slots": 4}),
        (LocalWish(slots=0, nodes=1), {"nodes": 3, "slots": 4}, {"nodes": 1, "slots": None}),
        (LocalWish(none=True), {"nodes": 3, "slots": 4}, {"nodes": 0, "slots": None}),
        (LocalWish(), {"nodes": 0, "slots": None}, {"nodes": 0, "slots": None}),
    ],
)
def test_what_is_not_said_about_nodes_stays_as_it_was(
    wish: LocalWish, last: dict[str, int | None] | None, shape: dict[str, int | None]
) -> None:
    assert local_shape(wish, last) == shape


def test_several_nodes_share_the_processors() -> None:
    assert (local_shape(LocalWish(nodes=100), None)["slots"] or 0) == 1


def test_several_nodes_cannot_share_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenuto.cli.local_nodes.find_gpus", lambda: ("a GPU",))

    with pytest.raises(InputInvalid, match="the same GPUs"):
        local_shape(LocalWish(nodes=2), None)


def test_what_left_by_order_is_not_left_behind(home: Home) -> None:
    assert not anything_left(home)
    for node in local_nodes(home, {"nodes": 2, "slots": 1}):
        node.directory.mkdir()
    assert known_nodes(home) == ["node-0", "node-1"]
    (home.nodes / "node-0" / LEFT).touch()
    assert anything_left(home)
    (home.nodes / "node-1" / LEFT).touch()
    assert not anything_left(home)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ich:geheim@db:5432/tenuto?sslmode=require", "postgresql://db:5432/tenuto"),
        ("postgresql://tenuto@/t1?host=/run", "postgresql:///t1"),
        ("sqlite:////srv/집/store.sqlite?max_page_count=9", "sqlite:////srv/집/store.sqlite"),
    ],
)
def test_a_store_is_remembered_without_its_password(home: Home, url: str, shown: str) -> None:
    assert Plan(home, options={"store": {"url": url}}).store == shown
