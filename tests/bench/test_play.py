"""What a scenario's verbs ask of the platform."""

from __future__ import annotations

import pytest
from tests.bench.platform import Obliging

from tenuto.bench.play import Player
from tenuto.bench.scenario import parse_scenario
from tenuto.errors import Conflict, InputInvalid

FIRST = "R 0 resnet50 8 a 1 1 0 ip 1 1 99 1 0"
SECOND = "R 0 resnet50 8 a 2 1 0 ip 1 3 99 0 0 1"


def play(text: str, platform: Obliging) -> list[str]:
    player = Player(platform.client, parse_scenario(text), "scenariusz.txt")
    return [played.verb for played in player.play()]


def test_a_job_is_submitted_when_training_begins_and_rescaled_in_place_later() -> None:
    platform = Obliging()

    verbs = play(f"1\nG 1 a 0\n{FIRST}\nF\nT\nW 0\n{SECOND}\nF\nT\nU\nS", platform)

    assert verbs == [
        "NewGroup",
        "Run",
        "HandedOver",
        "Begin",
        "Wait",
        "Run",
        "HandedOver",
        "Begin",
        "Update",
        "Stop",
    ]
    assert platform.asked == [
        ("submit", "j0", "scenario-a"),
        ("scale", "j0", {"węzeł-0": 1}),
        ("scale", "j0", {"węzeł-0": 2}),
        ("cancel", "j0"),
    ]


def test_a_job_that_was_taken_off_comes_back_from_its_checkpoint() -> None:
    platform = Obliging()

    play(f"1\n{FIRST}\nT\nK 0 a\n{SECOND}\nT\nRE\nS", platform)

    assert platform.asked[2:] == [
        ("pause", "j0"),
        ("scale", "j0", {"węzeł-0": 2}),
        ("resume", "j0"),
        ("pause", "j0"),
        ("resume", "j0"),
        ("cancel", "j0"),
    ]


def test_a_job_of_two_nodes_may_lose_one_and_move() -> None:
    platform = Obliging(nodes=2)
    parts = "R 0 m 8 a 1 2 0 ip 1 1 9 1 0 1\nR 1 m 8 a 1 2 1 ip 1 1 9 1 0 1".replace(" m ", " vgg16 ")

    play(f"2\n{parts}\nT\nK 0 a\nR 0 vgg16 8 a 1 1 0 ip 1 1 9 0 0\nT\nS", platform)

    assert platform.asked == [
        ("submit", "j0", "scenario-a"),
        ("scale", "j0", {"węzeł-0": 1, "węzeł-1": 1}),
        ("scale", "j0", {"węzeł-0": 0}),
        ("scale", "j0", {"węzeł-1": 0, "węzeł-0": 1}),
        ("cancel", "j0"),
    ]


def test_from_scratch_is_another_job() -> None:
    platform = Obliging()

    play(f"1\n{FIRST}\nT\n{FIRST}\nT\nS", platform)

    assert [asked[:2] for asked in platform.asked if asked[0] == "submit"] == [
        ("submit", "j0"),
        ("submit", "j1"),
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"1\n{FIRST}\n{FIRST}", "line 3: job a has two parts on node 0"),
        ("1\nK 0 a", "line 2: job a is not on node 0"),
        (f"1\nG 1 a 0 1\n{FIRST}", "line 3: job a has another group than its ranks say"),
    ],
)
def test_what_cannot_be_done_is_told_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(InputInvalid, match=problem):
        play(text, Obliging())


def test_a_platform_that_is_too_small_is_refused() -> None:
    with pytest.raises(Conflict, match="needs 3 nodes, and there are 2"):
        play("3\nS", Obliging(nodes=2))
