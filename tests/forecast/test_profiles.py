"""Curves are found by name: as given, as measured before, or as the laboratory has them."""

from __future__ import annotations

import pytest
from tests.forecast.records import a_spec

from tenuto.errors import InputInvalid
from tenuto.forecast.profiles import resolve_curve, with_profile
from tenuto.sim.read_profiles import load_profiles


def test_a_curve_that_was_given_is_taken_as_it_is() -> None:
    assert resolve_curve(a_spec(curve={1: 3.2, 2: 6.0}, profile="whatever"), {}) == {1: 3.2, 2: 6.0}
    assert resolve_curve(a_spec(), {}) == {}


def test_a_measured_curve_is_found_by_the_name_of_its_profile_or_of_its_job() -> None:
    stored = with_profile({"老的": {"1": 2.0}}, a_spec(name="trening-żółw"), {2: 5.0, 1: 3.0})
    stored = with_profile(stored, a_spec(profile="bert-large"), {1: 9.0})

    assert resolve_curve(a_spec(profile="老的"), stored) == {1: 2.0}
    assert resolve_curve(a_spec(profile="trening-żółw"), stored) == {1: 3.0, 2: 5.0}
    assert resolve_curve(a_spec(profile="bert-large"), stored) == {1: 9.0}


def test_the_profiles_of_the_laboratory_have_names_too() -> None:
    measured = load_profiles("a100").curves["resnet50", 128].rate

    assert resolve_curve(a_spec(profile="a100/resnet50@128"), {}) == measured


def test_an_unknown_profile_is_refused_with_a_suggestion() -> None:
    with pytest.raises(InputInvalid, match="Did you mean a100/resnet50@128") as refused:
        resolve_curve(a_spec(profile="a100/resnet50@129"), {})
    assert refused.value.field == "profile"


def test_a_profile_is_never_a_file_of_the_server() -> None:
    with pytest.raises(InputInvalid, match="no profile is called"):
        resolve_curve(a_spec(profile="/etc/hosts"), {})
