"""Choosing policies: by name, alias or file, all of them, and set as wished."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.installed import a_package

from tenuto import plugins
from tenuto.errors import InputInvalid
from tenuto.lab.choose_policies import Choice, choose
from tenuto.model.plan import Decision
from tenuto.model.snapshot import Snapshot
from tenuto.policy.base import Policy
from tenuto.policy.fifo import decide
from tenuto.policy.registry import POLICIES
from tenuto.sim import artifact


@dataclass(frozen=True)
class Patient:
    limit: float = 5.0
    """Seconds."""
    eager: bool = False
    """Whether it hurries."""

    def __call__(self, snap: Snapshot) -> Decision:
        return decide(snap)


PATIENT = Policy("patient", "Waits.", Patient(), promises=False, aliases=("calm",))


@pytest.fixture(autouse=True)
def built_in(monkeypatch: pytest.MonkeyPatch) -> dict[str, Policy]:
    """One policy more than ours, with settings."""
    known = {**POLICIES, "patient": PATIENT}
    monkeypatch.setattr(plugins, "POLICIES", known)
    monkeypatch.setattr(
        plugins,
        "policy_named",
        lambda name: next((one for one in known.values() if name in (one.name, *one.aliases)), None),
    )
    return known


def names(choice: Choice) -> list[str]:
    return [policy.name for policy in choice.policies]


def refused(text: str, *settings: str, compat: bool = False) -> str:
    with pytest.raises(InputInvalid) as caught:
        choose(text, settings, compat=compat)
    return str(caught.value)


def test_names_are_taken_in_their_order_and_each_policy_once() -> None:
    assert names(choose("fifo, ef-accessctrl,elasticflow,fifo")) == ["fifo", "elasticflow"]


def test_all_means_every_policy() -> None:
    assert names(choose("all")) == [*POLICIES, "patient"]
    assert choose("all").remarks == ()


def test_ones_own_can_be_compared_with_all(tmp_path: Path, built_in: dict[str, Policy]) -> None:
    (tmp_path / "mine.py").write_text("def decide(snap): ...\n")

    assert names(choose(f"fifo,{tmp_path}/mine.py,all")) == [*built_in, "mine"]


def test_with_the_references_semantics_all_means_those_that_it_has() -> None:
    assert set(names(choose("all", compat=True))) == artifact.POLICIES.keys()


def test_a_mistyped_name_is_guessed() -> None:
    assert refused("edf,elasticflo") == (
        "there is no policy 'elasticflo'. Did you mean elasticflow? `tenuto policies` lists them"
    )


def test_a_file_can_stand_among_names(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def decide(snap): ...\n")

    assert names(choose(f"edf,{tmp_path}/mine.py")) == ["edf", "mine"]


def test_two_files_cannot_have_one_name(tmp_path: Path) -> None:
    for place in ("here", "there"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "mine.py").write_text("def decide(snap): ...\n")

    told = refused(f"{tmp_path}/here/mine.py,{tmp_path}/there/mine.py")

    assert "there/mine.py is a second policy of the name mine" in told


# What a policy needs


def test_a_policy_without_its_packages_is_refused_with_the_command_that_brings_them(
    built_in: dict[str, Policy],
) -> None:
    built_in["fifo"] = replace(POLICIES["fifo"], requires=("json", "absent"))

    assert refused("edf,fifo") == (
        "policy fifo needs absent, not installed here. Install what is missing: pip install 'tenuto[lab]'"
    )


def test_all_goes_without_it_and_says_so(built_in: dict[str, Policy]) -> None:
    built_in["fifo"] = replace(POLICIES["fifo"], requires=("absent",))

    choice = choose("all")

    assert names(choice) == [name for name in built_in if name != "fifo"]
    assert choice.remarks == (f"Left out: {refused('fifo')}.",)


def test_the_references_semantics_need_it_too(built_in: dict[str, Policy]) -> None:
    built_in["edf"] = replace(POLICIES["edf"], requires=("absent",))

    assert "policy edf needs absent" in refused("edf", compat=True)
    assert "edf" not in names(choose("all", compat=True))
    assert choose("all", compat=True).remarks == (f"Left out: {refused('edf')}.",)


def test_somebody_elses_policy_names_its_own_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "from tenuto.policy.base import Policy\nPOLICY = Policy('needy', 'x', print, False, requires=('absent',))"
    a_package(
        tmp_path,
        "needy",
        modules={"needy": text},
        entry_points={"tenuto.policies": {"needy": "needy:POLICY"}},
    )
    monkeypatch.syspath_prepend(tmp_path)

    assert refused("needy").endswith("pip install absent")


# Settings


def test_the_only_policy_needs_no_name_to_be_set() -> None:
    choice = choose("patient", ["limit=7", "eager=true"])

    assert choice.policies[0].settings == {"limit": 7.0, "eager": True}
    assert choice.settings == {"patient": {"limit": 7.0, "eager": True}}
    assert choice.changes == "patient.limit=7.0, patient.eager=True"


@pytest.mark.parametrize("owner", ["patient", "calm"])
def test_one_of_several_is_set_by_its_name(owner: str) -> None:
    choice = choose("edf,calm", [f"{owner}.limit=7", f"{owner}.limit = 8"])

    assert [policy.settings.get("limit") for policy in choice.policies] == [None, 8.0]
    assert choice.changes == "patient.limit=8.0"


def test_without_wishes_nothing_is_set() -> None:
    choice = choose("edf,patient")

    assert choice.policies == (POLICIES["edf"], PATIENT)
    assert (choice.settings, choice.changes) == ({}, "")


BAD = {
    "no value": ("patient", "limit", "sets nothing. Write --set setting=value"),
    "no name": ("patient", "=3", "sets nothing"),
    "whose?": ("edf,patient", "limit=3", "does not say of which policy. Write e.g. --set edf.limit=3"),
    "not chosen": ("edf,fifo", "patient.limit=3", "'patient' is to be set, but not to be replayed"),
    "mistyped owner": ("edf,patient", "patent.limit=3", "Did you mean patient?"),
    "mistyped setting": ("patient", "limits=3", "has no setting 'limits'. Did you mean limit?"),
    "mistyped value": ("patient", "eager=3", "patient.eager cannot be '3'. Give it true or false"),
}


@pytest.mark.parametrize(("text", "setting", "told"), BAD.values(), ids=BAD.keys())
def test_a_setting_that_cannot_be_is_refused(text: str, setting: str, told: str) -> None:
    assert told in refused(text, setting)


def test_the_references_policies_cannot_be_set() -> None:
    assert "--compat replays the reference with its own settings" in refused("edf", "x=1", compat=True)
