"""What keys do to what is shown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tenuto.cli.top.keys import KeyReader
from tenuto.cli.top.model import Around, State, Target, View, orders_with, pressed, settled

MANY = Around(rows=100, page=10, lines=50, selected=Target("job", "k1"))


def after(*keys: str, state: State | None = None, around: Around = MANY) -> State:
    state = state or State()
    for key in keys:
        state = pressed(state, key, around)
    return state


def test_a_screen_follows_the_row_that_is_selected() -> None:
    assert (after("down").at, after("down").first) == (1, 0)
    assert (after(*["j"] * 10).at, after(*["j"] * 10).first) == (10, 1)
    assert (after("end").at, after("end").first) == (99, 90)
    assert after("end", "home") == State()
    assert after("up", "k") == State()
    assert after("page-down", "page-down", "page-up").at == 9


@given(
    st.lists(st.sampled_from(["up", "down", "page-up", "page-down", "home", "end"])),
    st.integers(0, 40),
    st.integers(1, 9),
)
def test_the_selected_row_is_always_on_the_screen(keys: list[str], rows: int, page: int) -> None:
    around = Around(rows, page)

    state = settled(after(*keys), around)

    assert 0 <= state.first <= state.at < state.first + page
    assert state.at < max(rows, 1)


def test_a_filter_is_typed_in_any_script_kept_or_dropped() -> None:
    typed = after("/", "훈", "q", "x", "backspace")
    assert (typed.typed, typed.text, typed.over) == ("훈q", "훈q", False)
    assert after("enter", state=typed).typed is None and after("enter", state=typed).text == "훈q"
    assert after("escape", state=typed).text == ""
    assert after("enter", "escape", state=typed).text == ""


def test_views_orders_and_help_have_their_keys() -> None:
    assert [after(key).view for key in "ongJ"] == list(View)
    assert after("tab", "tab").view is View.GPUS
    assert after("J", "s").orders["jobs"] != State().orders["jobs"]
    assert after("s", "S") == after("S", "s")
    assert after("g", "r").orders["gpus"] == "-node" and after("g", "r", "r").orders["gpus"] == "node"
    assert after("?").helped and not after("?", "x").helped
    assert after("p").paused and not after("p", "p").paused
    assert after("q").over and after("/", "ctrl-c").over


def test_enter_looks_into_a_row_and_escape_comes_back() -> None:
    inside = after("enter")
    assert inside.target == Target("job", "k1")
    assert after("j", "j", state=inside).scrolled == 2
    assert after("end", state=inside).scrolled == 40
    assert after("escape", state=inside).target is None
    assert after("enter", around=Around(0, 10)).target is None


def test_a_column_sorts_the_tables_that_have_it() -> None:
    assert orders_with("-name") == {"nodes": "-name", "gpus": "-name", "jobs": "-name"}
    assert orders_with("eta") == {"nodes": "number", "gpus": "node", "jobs": "eta"}


def test_keys_are_understood_however_they_are_cut_into_pieces() -> None:
    sent = "j\x1b[A\x1bOB\x1b[5~한\r\x7f\x1b[200~q".encode()
    expected = ["j", "up", "down", "page-up", "한", "enter", "backspace", "q"]

    for size in range(1, len(sent) + 1):
        reader = KeyReader()
        keys = [key for at in range(0, len(sent), size) for key in reader.feed(sent[at : at + size])]
        assert keys == expected
    reader = KeyReader()
    assert reader.feed(b"\x1b") == [] and reader.waits
    assert reader.flush() == ["escape"] and not reader.waits
