"""Scenario files: what they may say, and what is said about those that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenuto.bench.scenario import (
    Begin,
    HandedOver,
    Kill,
    NewGroup,
    Restart,
    Run,
    Stop,
    Update,
    Wait,
    parse_scenario,
    read_scenario,
)
from tenuto.errors import InputInvalid

EXAMPLES = Path(__file__).parents[2] / "examples" / "scenarios"
WHOLE = """
# dwa węzły 두 노드
2
G 1 zadanie 0 1 8
R 0 resnet50 128 zadanie 2 2 0 10.0.0.1 6585 3 333 1 0 1 8
R 1 resnet50 128 zadanie 1 2 1 10.0.0.1 6585 1 333 1 0 1 8
F
t    # small letters will do
W 0.5
U
K 1 zadanie
RE
S
"""


def test_every_verb_is_read() -> None:
    scenario = parse_scenario(WHOLE)

    assert scenario.nodes == 2
    assert scenario.slots == 2
    assert [command.verb for command in scenario.commands] == [
        NewGroup("zadanie", (0, 1, 8), True),
        _part(0, (0, 1)),
        _part(1, (0,)),
        HandedOver(),
        Begin(),
        Wait(0.5),
        Update(),
        Kill(1, "zadanie"),
        Restart(),
        Stop(),
    ]
    assert [command.line for command in scenario.commands] == list(range(4, 14))


def _part(node: int, slots: tuple[int, ...]) -> Run:
    return Run(
        node=node,
        model="resnet50",
        batch=128,
        job="zadanie",
        nodes=2,
        slots=slots,
        iterations=333,
        from_scratch=True,
        ranks=(0, 1, 8),
    )


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("", 1, "the scenario is empty"),
        ("# only a remark\n", 1, "the scenario is empty"),
        ("dwa", 1, "the number of nodes is 'dwa'"),
        ("0", 1, "the number of nodes is '0'"),
        ("1 2", 1, "the first line is not the number of nodes"),
        ("1\nX 3", 2, "there is no command 'X'"),
        ("1\n\nW", 3, "W has 1 fields, not 0"),
        ("1\nW chwila", 2, "'chwila' is no time to wait"),
        ("1\nW nan", 2, "'nan' is no time to wait"),
        ("1\nT now", 2, "T has 0 fields, not 1"),
        ("1\nK 1 a", 2, "the node is '1'"),
        ("1\nK ٣ a", 2, "the node is '٣'"),
        ("1\nS\nT", 2, "S is not the last command"),
        ("1\nG 1 a", 2, "G has at least 3 fields, not 2"),
        ("1\nG 1 a 0 0", 2, "a rank is named twice"),
        ("1\nR 0 resnet50 128", 2, "R has at least 12 fields, not 3"),
        ("1\nR 0 m 8 a 2 1 0 ip 1 1 9 1 0", 2, "2 processes are asked for, but the mask 1 has 1 slots"),
        ("1\nR 0 m 8 a 1 1 0 ip 1 1 9 1 0 1", 2, "2 ranks for 1 slots"),
        ("1\nR 0 m 8 a 1 2 0 ip 1 1 9 1 0", 2, "the number of nodes is '2'"),
        ("1\nR 0 m 8 a 1 1 1 ip 1 1 9 1 0", 2, "the rank of the node is '1'"),
        ("1\nR 0 m 8 a 1 1 0 ip 99999 1 9 1 0", 2, "the port is '99999'"),
        ("1\nR 0 m 8 a 1 1 0 ip 1 0 9 1 0", 2, "the mask of slots is '0'"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_a_remedy(text: str, line: int, problem: str) -> None:
    with pytest.raises(InputInvalid) as told:
        parse_scenario(text, "scenariusz.txt")

    assert told.value.problem == problem
    assert str(told.value).startswith(f"scenariusz.txt, line {line}: ")
    assert told.value.remedy


def test_a_verb_that_is_nearly_right_is_guessed() -> None:
    with pytest.raises(InputInvalid, match="Known are R, K, G, F, T, U, W, RE, S"):
        parse_scenario("1\nREE")


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.txt")), ids=lambda path: path.stem)
def test_the_bundled_scenarios_can_be_read(path: Path) -> None:
    scenario = read_scenario(path)

    assert isinstance(scenario.commands[-1].verb, Stop)


def test_a_file_that_is_not_there_or_no_text_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "bajty").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(InputInvalid, match="cannot be read"):
        read_scenario(tmp_path / "nie-ma")
    with pytest.raises(InputInvalid, match="not UTF-8"):
        read_scenario(tmp_path / "bajty")
