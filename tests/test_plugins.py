"""Policies that other packages bring, and policies in files: found by name, and no trouble to the others."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.builders import a_job, a_workload, replayed
from tests.installed import a_package

import tenuto
from tenuto.errors import InputInvalid
from tenuto.plugins import all_policies, find_policy, survey
from tenuto.policy.base import Policy
from tenuto.policy.registry import POLICIES

FUNCTION = '''
from tenuto.policy.fifo import decide as first_come

def decide(snap):
    """Do as fifo does.

    And nothing else.
    """
    return first_come(snap)
'''

VALUE = """
from __future__ import annotations
from dataclasses import dataclass
from tenuto.policy.base import Policy
from tenuto.policy.fifo import decide

@dataclass(frozen=True)
class Patient:
    seconds: float = 5.0

    def __call__(self, snap):
        return decide(snap)

POLICY = Policy("patient", "Waits.", Patient(), promises=False, aliases=("calm",))
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory of installed packages, which are forgotten afterwards."""
    directory = tmp_path / "site"
    directory.mkdir()
    monkeypatch.syspath_prepend(directory)
    yield directory
    for name, module in list(sys.modules.items()):
        if str(directory) in (getattr(module, "__file__", None) or ""):
            del sys.modules[name]


def install(site: Path, name: str, module: str, text: str, **policies: str) -> None:
    a_package(site, name, modules={module: text}, entry_points={"tenuto.policies": policies})


def found(name: str) -> Policy:
    policy = find_policy(name)
    assert policy is not None
    return policy


def refused(name: str) -> str:
    with pytest.raises(InputInvalid) as caught:
        find_policy(name)
    return str(caught.value)


# Packages


def test_without_plug_ins_there_are_the_built_in_policies(site: Path) -> None:
    assert all_policies() == POLICIES
    assert find_policy("lifo") is None
    assert find_policy("ef") is POLICIES["elasticflow-no-admission"]


def test_a_function_becomes_a_policy_with_its_first_line_as_summary(site: Path) -> None:
    install(site, "my-ideas", "my_ideas", FUNCTION, mine="my_ideas:decide")

    mine = all_policies()["mine"]

    assert (mine.name, mine.summary, mine.promises) == ("mine", "Do as fifo does.", False)
    assert found("mine") == mine
    outcome = replayed(a_workload(jobs=[a_job(left=100.0, size=4)]), mine)
    assert outcome.finished[0] > 0.0


def test_a_policy_is_found_by_its_name_and_its_alias(site: Path) -> None:
    install(site, "calmness", "calmness", VALUE, patient="calmness:POLICY")

    assert found("patient") is found("calm")
    assert found("patient").settings == {"seconds": 5.0}


BROKEN = {
    "no such module": ("x = 1", "absent:decide", "ModuleNotFoundError: No module named 'absent'"),
    "an error in it": ("1 / 0", "broken:decide", "ZeroDivisionError: division by zero"),
    "an end in it": ("raise SystemExit(3)", "broken:decide", "SystemExit: 3"),
    "no such name": ("x = 1", "broken:decide", "AttributeError"),
    "not a policy": ("x = 1", "broken:x", "is neither a Policy nor a function, but of type int"),
    "a class": ("class X: pass", "broken:X", "is neither a Policy nor a function, but of type type"),
    "another name": (VALUE, "broken:POLICY", "calls itself 'patient'"),
}


@pytest.mark.parametrize(("text", "target", "problem"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_plug_in_is_an_error_for_who_asks_for_it_and_for_nobody_else(
    site: Path, text: str, target: str, problem: str
) -> None:
    install(site, "my-ideas", "my_ideas", FUNCTION, mine="my_ideas:decide")
    install(site, "sad-case", "broken", text, sad=target)

    assert problem in refused("sad")
    assert "policy 'sad' of package 'sad-case'" in refused("sad")
    assert "uninstall sad-case" in refused("sad")
    assert all_policies().keys() == {*POLICIES, "mine"}
    assert [str(told) for told in survey().problems] == [refused("sad")]


def test_a_plug_in_cannot_take_a_built_in_policys_place(site: Path) -> None:
    install(site, "usurper", "usurper", FUNCTION, edf="usurper:decide", ef="usurper:decide")

    assert find_policy("edf") is POLICIES["edf"]
    assert all_policies() == POLICIES
    clashes = [str(problem) for problem in survey().problems]
    assert len(clashes) == 2
    assert all("package 'usurper' takes the name of the built-in" in clash for clash in clashes)


def test_an_alias_cannot_take_a_built_in_policys_place_either(site: Path) -> None:
    install(site, "usurper", "usurping", VALUE.replace('"calm"', '"edf"'), patient="usurping:POLICY")

    assert "takes the name of the built-in 'edf'" in refused("patient")
    assert find_policy("edf") is POLICIES["edf"]


def test_two_packages_cannot_share_a_name(site: Path) -> None:
    install(site, "one", "one_idea", FUNCTION, mine="one_idea:decide")
    install(site, "two", "two_idea", FUNCTION, mine="two_idea:decide")

    assert "policy 'mine' is brought by one and two" in refused("mine")
    assert all_policies() == POLICIES


@pytest.mark.parametrize("name", ["all", "../up", "a,b", "a b", ".hidden"])
def test_a_name_must_serve_on_the_command_line_and_as_a_directory(site: Path, name: str) -> None:
    install(site, "odd", "odd_names", FUNCTION, **{name: "odd_names:decide"})

    assert "cannot be the name of a policy" in refused(name)


# Files


def test_a_file_with_a_function_is_a_policy_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "größe.py").write_text(FUNCTION, encoding="utf-8")

    policy = found(str(tmp_path / "größe.py"))

    assert (policy.name, policy.summary) == ("größe", "Do as fifo does.")


def test_a_file_may_hold_a_whole_policy_with_settings(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(VALUE + "def decide(snap): ...\n", encoding="utf-8")

    policy = found(str(tmp_path / "mine.py"))

    assert policy.name == "patient"
    assert policy.tuned(seconds=7.0).settings == {"seconds": 7.0}


def test_a_changed_file_is_read_again_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    for word in ("one", "two"):  # as long as each other, within one second
        file.write_text(f'def decide(snap):\n    """{word}"""\n', encoding="utf-8")
        assert found(str(file)).summary == word

    assert list(tmp_path.iterdir()) == [file]


BAD_FILES = {
    "a mistake in its grammar": ("def decide(snap):\n    return (\n", "mine.py, line 2", "SyntaxError"),
    "a mistake when run": ("x = 1\ny = x / 0\n", "mine.py, line 2", "ZeroDivisionError: division by zero"),
    "a missing package": ("\nimport absent\n", "mine.py, line 2", "No module named 'absent'"),
    "no policy": ("x = 1\n", "mine.py", "neither POLICY nor decide"),
    "something else": ("decide = 3\n", "mine.py", "is neither a Policy nor a function, but of type int"),
}


@pytest.mark.parametrize(("text", "place", "problem"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_a_bad_file_is_refused_with_its_line(tmp_path: Path, text: str, place: str, problem: str) -> None:
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")

    told = refused(str(tmp_path / "mine.py"))

    assert place in told
    assert problem in told


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert "absent.py: there is no such file" in refused(str(tmp_path / "absent.py"))


def test_a_file_cannot_take_a_built_in_policys_place(tmp_path: Path) -> None:
    (tmp_path / "fifo.py").write_text(FUNCTION, encoding="utf-8")

    assert "fifo.py takes the name of the built-in 'fifo'" in refused(str(tmp_path / "fifo.py"))


def test_another_process_finds_the_same_policies_by_the_same_text(site: Path, tmp_path: Path) -> None:
    install(site, "my-ideas", "my_ideas", FUNCTION, mine="my_ideas:decide")
    (tmp_path / "here.py").write_text(VALUE, encoding="utf-8")
    program = """
import sys
from tenuto.plugins import find_policy
print([find_policy(text).name for text in sys.argv[1:]])
"""

    told = subprocess.run(
        [sys.executable, "-c", program, "mine", "./here.py", "ef"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": f"{site}{os.pathsep}{Path(tenuto.__file__).parents[1]}"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert told.stdout == "['mine', 'patient', 'elasticflow-no-admission']\n"
