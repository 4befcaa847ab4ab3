"""What a server writes down before it works, and sends away what is not wanted any more."""

from __future__ import annotations

from pathlib import Path
from threading import Event

import pytest
from tests.e2e.platform import eventually

from tenuto.cli.beginning import begin
from tenuto.cli.home import Home
from tenuto.cli.housekeeping import Household, Housekeeper
from tenuto.cli.plan import LocalWish, Plan
from tenuto.engines.keeper import LEFT, Keeper, LocalNode, WayIn
from tenuto.engines.local import LocalEngine
from tenuto.model.node import Node, NodeState, Slot
from tenuto.server.auth import digest_of
from tenuto.store.base import EventQuery, Store, Tx
from tenuto.store.memory import MemoryStore


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "dom")
    made.prepare()
    return made


@pytest.fixture
def store() -> Store:
    return MemoryStore()


def test_a_first_start_makes_secrets_that_the_store_knows_by_digest_only(home: Home, store: Store) -> None:
    begun = begin(store, Plan(home))

    assert begun.new_token is not None
    tokens = store.read(lambda tx: tx.tokens())
    assert {token.kind for token in tokens} == {"user", "join"}
    assert digest_of(begun.new_token) in {token.digest for token in tokens}
    assert begun.new_token not in str(tokens)


def test_a_second_start_changes_nothing(home: Home, store: Store) -> None:
    begin(store, Plan(home, local=LocalWish(3, 2)))
    before = store.revision()

    again = begin(store, Plan(home))

    assert again.new_token is None
    assert [node.name for node in again.local] == ["node-0", "node-1", "node-2"]
    assert store.read(lambda tx: len(tx.tokens())) == 2
    assert store.revision() == before


def test_checkpoints_are_kept_in_the_home_unless_another_place_is_named(home: Home, store: Store) -> None:
    assert begin(store, Plan(home)).settings.store.checkpoints == str(home.path / "checkpoints")

    elsewhere = Plan(home, file={"store": {"checkpoints": "/wspólny"}})
    assert begin(store, elsewhere).settings.store.checkpoints == "/wspólny"


def test_a_lost_token_is_replaced(home: Home, store: Store) -> None:
    begin(store, Plan(home))
    home.token.unlink()

    assert begin(store, Plan(home)).new_token is not None


def test_settings_of_a_policy_stay_as_long_as_the_policy_does(home: Home, store: Store) -> None:
    begin(store, Plan(home))
    tuned = {"policy": "tiresias", "settings": {"queues": 3}}
    store.write(lambda tx: tx.set_meta("scheduling", tuned))

    begin(store, Plan(home))
    assert store.read(lambda tx: tx.meta("scheduling"))["settings"] == {"queues": 3}

    begin(store, Plan(home, options={"scheduling": {"policy": "fifo"}}))
    in_force = store.read(lambda tx: tx.meta("scheduling"))
    assert in_force["policy"] == "fifo"
    assert "settings" not in in_force


def test_a_start_after_down_does_not_go_down_again(home: Home, store: Store) -> None:
    begin(store, Plan(home, draining=True))
    assert store.read(lambda tx: tx.meta("draining")) is True

    begin(store, Plan(home))
    assert store.read(lambda tx: tx.meta("draining")) is False


def a_node(name: str, state: NodeState = NodeState.ONLINE) -> Node:
    return Node(name=name, number=0, revision=0, state=state, slots=(Slot(),))


def test_nodes_that_nobody_asks_for_are_drained_and_removed(home: Home, store: Store) -> None:
    def join(tx: Tx) -> None:
        for node in (a_node("node-0"), a_node("node-1"), a_node("node-2", NodeState.OFFLINE), a_node("desk")):
            tx.put_node(node)

    store.write(join)
    keeper = Keeper([], WayIn(server_file=home.server, provide=lambda node, directory: None))
    household = Household(store, LocalEngine(), keeper, ["node-0"], {"node-1", "node-2", "node-9"})
    housekeeper = Housekeeper(household, end=Event().set)
    housekeeper.start()
    try:
        eventually(
            lambda: [node.name for node in store.read(lambda tx: tx.nodes())] == ["node-0", "desk"],
            "the others are gone",
        )
    finally:
        housekeeper.stop()
    told = [(event.node, event.after) for event in store.read(lambda tx: tx.events(EventQuery(kind="node")))]
    assert told == [("node-1", "draining"), ("node-2", "removed"), ("node-1", "removed")]


def test_when_nothing_runs_any_more_down_ends_the_server(home: Home, store: Store) -> None:
    store.write(lambda tx: tx.set_meta("draining", True))
    keeper = Keeper([], WayIn(server_file=home.server, provide=lambda node, directory: None))
    ended = Event()
    housekeeper = Housekeeper(Household(store, LocalEngine(), keeper, [], set()), end=ended.set)

    housekeeper.start()

    assert ended.wait(30)
    assert housekeeper.done


def test_down_does_not_wait_for_a_node_of_this_machine_that_was_removed(
    home: Home, store: Store, tmp_path: Path
) -> None:
    store.write(lambda tx: tx.set_meta("draining", True))
    (tmp_path / LEFT).touch()
    removed = LocalNode(name="node-2", directory=tmp_path)
    keeper = Keeper([removed], WayIn(server_file=home.server, provide=lambda node, directory: None))
    ended = Event()
    housekeeper = Housekeeper(Household(store, LocalEngine(), keeper, ["node-2"], set()), end=ended.set)

    housekeeper.start()
    try:
        assert ended.wait(30)
    finally:
        housekeeper.stop()
