"""A stored spec, shown as it was submitted, is the same spec when it is submitted again."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tenuto.wire.api import JobIn
from tenuto.wire.problems import validated
from tenuto.wire.spec_form import edited, form_of

TEXT = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=20)
NAMES = st.from_regex(r"\A[a-ząćę][a-z0-9ąćę ._-]{0,20}[a-z0-9]\Z")
WORDS = st.from_regex(r"\A[a-z][a-z0-9_]{0,10}\Z")
COMMANDS = st.one_of(TEXT.filter(str.strip), st.lists(TEXT.filter(str.strip), min_size=1, max_size=4))
AMOUNTS = st.floats(0, 1e12, allow_nan=False)
LIMITS = st.fixed_dictionaries(
    {},
    optional={
        "memory": st.integers(1, 1 << 50),
        "cpus": st.floats(0.1, 4096),
        "files": st.integers(16, 1 << 20),
    },
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)


@st.composite
def forms(draw: st.DrawFn) -> dict[str, Any]:
    """Jobs as users write them, with any of the keys."""
    least = draw(st.integers(1, 64))
    most = draw(st.integers(least, 4096))
    form: dict[str, Any] = {"name": draw(NAMES), "run": draw(COMMANDS), "workers": f"{least}..{most}"}
    optional: dict[str, st.SearchStrategy[Any]] = {
        "setup": TEXT,
        "env": st.dictionaries(WORDS.map(str.upper), TEXT, max_size=3),
        "workdir": TEXT,
        "environment": TEXT,
        "preferred": st.integers(least, most),
        "roles": st.dictionaries(
            WORDS.filter(lambda word: word != "worker"),
            st.fixed_dictionaries({"count": st.integers(1, 9)}, optional={"run": COMMANDS, "limits": LIMITS}),
            max_size=2,
        ),
        "limits": LIMITS,
        "total": st.one_of(
            AMOUNTS, AMOUNTS.map(lambda n: {"epochs": n}), AMOUNTS.map(lambda n: {"steps": n})
        ),
        "global_batch": st.integers(1, 10**9),
        "curve": st.one_of(
            st.just("auto"),
            st.dictionaries(st.integers(1, 64).map(str), st.floats(0.001, 1e6), min_size=1, max_size=4),
        ),
        "checkpoint": st.fixed_dictionaries({}, optional={"dir": TEXT, "every": st.integers(1, 10**6)}),
        "priority": st.sampled_from(["normal", "urgent"]),
        "share": st.booleans(),
        "start": st.sampled_from(["parallel", "ordered"]),
        "after": st.fixed_dictionaries(
            {"job": WORDS}, optional={"condition": st.sampled_from(["ok", "any", "fail"])}
        ),
        "node": WORDS,
        "labels": st.dictionaries(WORDS.filter(lambda w: not w.endswith("_")), WORDS, max_size=3),
        "retry": st.one_of(st.integers(0, 9), st.fixed_dictionaries({"losses": st.integers(0, 9)})),
        "max_duration": st.one_of(st.floats(0.001, 1e8), st.just("2h30m")),
        "grace": st.floats(0, 3600),
        "params": st.dictionaries(TEXT, JSON, max_size=3),
    }
    for key in draw(st.sets(st.sampled_from(sorted(optional)))):
        form[key] = draw(optional[key])
    if not form.get("roles"):
        form["strategy"] = draw(st.sampled_from(["command", "allreduce"]))
    return form


@given(forms())
def test_the_form_of_a_spec_gives_the_same_spec(form: dict[str, Any]) -> None:
    spec = validated(JobIn, form).spec()

    again = validated(JobIn, form_of(spec)).spec()

    assert again == spec
    assert form_of(again) == form_of(spec)


def test_what_was_left_out_stays_left_out() -> None:
    spec = validated(JobIn, {"name": "학습", "run": "python train.py"}).spec()

    assert form_of(spec) == {"name": "학습", "run": "python train.py", "workers": 1}


def test_of_two_keys_that_exclude_each_other_the_new_one_counts() -> None:
    form = {"name": "a", "run": "b", "curve": {"1": 1.0}, "priority": "urgent", "labels": {"a": "b"}}

    new = edited(form, {"module": "pkg", "profile": "x", "urgent": False, "labels": None})

    assert new == {"name": "a", "module": "pkg", "profile": "x", "urgent": False}
