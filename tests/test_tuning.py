"""Settings of policies: what can be set and what it means, and what a wish must look like."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

import pytest

from tenuto.errors import InputInvalid
from tenuto.model.plan import Decision
from tenuto.model.snapshot import Snapshot
from tenuto.policy.base import Policy
from tenuto.policy.fifo import FIFO, decide
from tenuto.policy.registry import POLICIES
from tenuto.tuning import Setting, settings_of, tuned


@dataclass(frozen=True)
class Patience:
    """What it inherits."""

    limit: float = 3250.0
    """GPU-seconds until a job
    is demoted."""


@dataclass(frozen=True)
class Patient(Patience):
    """What it adds."""

    rounds: int = 2
    """Rounds that pass."""
    mood: str = "calm"
    eager: bool = False
    """Whether it hurries."""
    known: tuple[str, ...] = ()
    count: int = field(default=7, init=False)

    def __post_init__(self) -> None:
        if self.limit < 0:
            raise ValueError("the limit is negative")

    def __call__(self, snap: Snapshot) -> Decision:
        return decide(snap)


PATIENT = Policy("patient", "Waits.", Patient(), promises=False)


def test_fields_are_settings_and_the_docstrings_below_them_say_what_they_mean() -> None:
    assert settings_of(PATIENT) == (
        Setting("limit", "float", 3250.0, "GPU-seconds until a job is demoted."),
        Setting("rounds", "int", 2, "Rounds that pass."),
        Setting("mood", "str", "calm", ""),
        Setting("eager", "bool", False, "Whether it hurries."),
    )


def test_a_plain_function_has_no_settings() -> None:
    assert settings_of(FIFO) == ()


WISHES = {
    "a number": ("limit", "1e3", 1000.0),
    "a number from a file": ("limit", 1000, 1000.0),
    "without end": ("limit", "inf", inf),
    "a whole number": ("rounds", "12345678901234567890", 12345678901234567890),
    "a whole number from a file": ("rounds", 3.0, 3),
    "a word": ("mood", "3", "3"),
    "yes": ("eager", "True", True),
    "yes, from a file": ("eager", True, True),
}


@pytest.mark.parametrize(("name", "wish", "value"), WISHES.values(), ids=WISHES.keys())
def test_a_wish_is_read_as_the_fields_type(name: str, wish: object, value: object) -> None:
    changed = tuned(PATIENT, {name: wish}).settings[name]

    assert changed == value
    assert type(changed) is type(value)
    assert PATIENT.settings[name] != value


BAD = {
    "no number": ("limit", "much", "Give it a number, e.g. 3250.0"),
    "not a number": ("limit", "nan", "Give it a number"),
    "a flag": ("limit", True, "Give it a number"),
    "a broken number": ("rounds", "2.5", "Give it a whole number, e.g. 2"),
    "too many rounds": ("rounds", "inf", "Give it a whole number"),
    "an empty word": ("mood", "", "Give it a word, e.g. calm"),
    "neither true nor false": ("eager", "1", "Give it true or false, e.g. false"),
    "an unknown name": ("limits", "1", "Did you mean limit? It has limit, rounds, mood, eager"),
    "what is no setting": ("known", "1", "It has limit"),
    "what the policy refuses": ("limit", "-1", "Choose other values"),
}


@pytest.mark.parametrize(("name", "wish", "remedy"), BAD.values(), ids=BAD.keys())
def test_a_wish_that_cannot_be_met_is_refused(name: str, wish: object, remedy: str) -> None:
    with pytest.raises(InputInvalid, match="patient") as caught:
        tuned(PATIENT, {name: wish})

    assert remedy in caught.value.remedy


def test_where_nothing_can_be_set_that_is_said() -> None:
    with pytest.raises(InputInvalid, match=r"policy fifo has no setting 'limit'\. It has none"):
        tuned(FIFO, {"limit": "1"})


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
def test_every_setting_of_our_policies_is_described_and_can_be_set(policy: Policy) -> None:
    settings = settings_of(policy)

    assert [setting.name for setting in settings] == list(policy.settings)
    assert all(setting.description.endswith(".") for setting in settings)
    assert tuned(policy, {setting.name: str(setting.value) for setting in settings}) == policy
