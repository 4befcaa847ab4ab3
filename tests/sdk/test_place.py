"""The same script finds out by its environment where it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenuto.errors import InputInvalid
from tenuto.sdk.place import Kind, find_place

TORCHRUN = {
    "RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "MASTER_ADDR": "10.0.0.7", "MASTER_PORT": "29500",
}  # fmt: skip


def test_with_nothing_set_it_is_alone() -> None:
    place = find_place({})

    assert (place.kind, place.rank, place.world, place.generation) == (Kind.ALONE, 0, 1, 1)
    assert (place.link, place.checkpoint_dir, place.steps, place.global_batch) == (None, None, None, None)
    assert place.params == {}


def test_torchrun_says_who_trains_together_once_and_for_all() -> None:
    place = find_place(TORCHRUN)

    assert (place.kind, place.rank, place.world, place.local_rank) == (Kind.STATIC, 3, 4, 1)
    assert (place.master_addr, place.master_port) == ("10.0.0.7", 29500)


def test_a_group_of_one_is_alone() -> None:
    assert find_place(TORCHRUN | {"RANK": "0", "WORLD_SIZE": "1"}).kind is Kind.ALONE


def test_a_linked_worker_asks_its_supervisor_and_keeps_its_id() -> None:
    place = find_place(
        {
            "TENUTO_LINK": "/run/größe/link",
            "TENUTO_WORKER": "größe.7.worker.2",
            "TENUTO_BELL": "/run/bell",
            "TENUTO_JOB_ID": "größe",
            "TENUTO_NODE": "Knoten",
            "TENUTO_GENERATION": "7",
            "TENUTO_PARAMS": '{"lr": 0.1}',
            "TENUTO_STEPS": "1e3",
            "TENUTO_GLOBAL_BATCH": "256",
            "TENUTO_CHECKPOINT_DIR": "/c",
            "TENUTO_CHECKPOINT_EVERY": "50",
        }
    )

    assert (place.kind, place.worker, place.rank) == (Kind.LINKED, "größe.7.worker.2", 2)
    assert (place.link, place.bell, place.node, place.generation) == (
        Path("/run/größe/link"),
        "/run/bell",
        "Knoten",
        7,
    )
    assert (place.steps, place.global_batch, place.params) == (1000, 256, {"lr": 0.1})
    assert (place.checkpoint_dir, place.checkpoint_every) == (Path("/c"), 50)
    assert place.number == "7.2", "another worker of this node may have been born with the same rank"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RANK", "three"),
        ("WORLD_SIZE", "-1"),
        ("TENUTO_STEPS", "inf"),
        ("TENUTO_PARAMS", "[1]"),
        ("TENUTO_PARAMS", "{"),
    ],
)
def test_an_environment_that_makes_no_sense_is_named(name: str, value: str) -> None:
    with pytest.raises(InputInvalid) as refused:
        find_place({name: value})

    assert refused.value.field == name
    assert refused.value.remedy
