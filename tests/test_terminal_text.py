"""Text of others, made safe for terminals."""

from __future__ import annotations

import pytest

from tenuto.terminal_text import safe_coloured_text, safe_json, safe_line, safe_text


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("학습\tżółw\n", "학습\tżółw\n"),
        ("\x1b[2J", r"\x1b[2J"),
        ("a\rb\x07", r"a\rb\x07"),
        ("\x9b2J", r"\x9b2J"),
        ("\u202eexe", r"\u202eexe"),
        ("\ud800", r"\ud800"),
    ],
)
def test_control_characters_are_escaped_and_all_other_text_stays(text: str, safe: str) -> None:
    assert safe_text(text) == safe


def test_a_line_stays_one_line() -> None:
    assert safe_line("a\n\tb") == r"a\n\tb"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m plain", "\x1b[31mred\x1b[0m plain"),
        ("\x1b[38;5;208mopen", "\x1b[38;5;208mopen\x1b[0m"),
        ("a\x1b[2Kb\x1b[1;1Hc", "abc"),
        ("a\x1b]0;title\x07b\x1b]52;c;YQ==\x1b\\c", "abc"),
        ("a\x1bP1$r0m\x1b\\b\x1bcc\x1b(0d", "abcd"),
        ("a\x1b]52;c;cut off", r"a\x1b]52;c;cut off"),
        ("a\x1b[31", r"a\x1b[31"),
        ("\x1b[>4;1m", ""),
        ("10%\r20%", r"10%\r20%"),
    ],
)
def test_of_control_sequences_only_colours_stay(text: str, shown: str) -> None:
    assert safe_coloured_text(text) == shown


def test_a_sequence_that_emerges_from_a_dropped_one_commands_nothing() -> None:
    assert "\x1b" not in safe_coloured_text("\x1b\x1b[2J]52;c;YQ==\x07")


def test_characters_may_be_kept() -> None:
    assert safe_coloured_text("10%\r20%\x07", keep="\r") == "10%\r20%\\x07"


def test_json_escapes_mean_the_same() -> None:
    assert safe_json('"\u202e\x7f"') == r'"\u202e\u007f"'
