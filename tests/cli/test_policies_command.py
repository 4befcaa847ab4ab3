"""`tenuto policies`: which policies there are, and what can be set."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.installed import a_package
from typer.testing import CliRunner, Result

from tenuto import plugins
from tenuto.cli.main import app
from tenuto.policy.base import Policy
from tenuto.policy.registry import POLICIES
from tenuto.tuning import settings_of

each_policy = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())


def run(*arguments: str, told: str = "") -> Result:
    result = CliRunner().invoke(app, ("policies", *arguments))
    assert result.exit_code == 0, result.output
    assert told in result.stderr if told else result.stderr == ""
    return result


@each_policy
def test_the_table_names_every_policy_and_its_aliases(policy: Policy) -> None:
    words = {word.strip(",") for word in run().stdout.split()}

    assert {policy.name, *policy.aliases} <= words


@each_policy
def test_programs_get_every_policy_as_json(policy: Policy) -> None:
    listed = {row["name"]: row for row in json.loads(run("--json").stdout)}

    assert listed.keys() == POLICIES.keys()
    assert listed[policy.name] == {
        "name": policy.name,
        "summary": policy.summary,
        "promises": policy.promises,
        "aliases": list(policy.aliases),
        "requires": list(policy.requires),
        "settings": [
            {
                "name": setting.name,
                "kind": setting.kind,
                "default": setting.value,
                "description": setting.description,
            }
            for setting in settings_of(policy)
        ],
    }


@each_policy
def test_a_policy_is_told_in_one_sentence(policy: Policy) -> None:
    assert policy.summary[0].isupper()
    assert policy.summary.endswith(".")
    assert ". " not in policy.summary


def test_the_references_names_are_aliases() -> None:
    listed = {alias: row["name"] for row in json.loads(run("--json").stdout) for alias in row["aliases"]}

    assert listed["ef-accessctrl"] == "elasticflow"
    assert listed["ef"] == "elasticflow-no-admission"
    assert listed["edf-accessctrl"] == "edf-admission"


@each_policy
def test_the_settings_are_listed_with_their_defaults(policy: Policy) -> None:
    lines = [line.split()[:2] for line in run("--settings").stdout.splitlines()]

    for name, value in policy.settings.items():
        assert [f"{policy.name}.{name}", str(value)] in lines


def a_plug_in(site: Path, text: str) -> None:
    a_package(
        site,
        "my-ideas",
        modules={"my_ideas": text},
        entry_points={"tenuto.policies": {"mine": "my_ideas:decide"}},
    )


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of installed packages."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_ideas", raising=False)
    return tmp_path


def test_what_a_package_brings_is_listed_after_ours(site: Path) -> None:
    a_plug_in(site, 'def decide(snap):\n    """Wait [and] see."""\n')

    assert [row["name"] for row in json.loads(run("--json").stdout)] == [*POLICIES, "mine"]
    assert "Wait [and] see." in run().stdout


@pytest.mark.parametrize("options", [(), ("--json",), ("--settings",)], ids=" ".join)
def test_what_is_broken_is_named_beside_the_list(site: Path, options: tuple[str, ...]) -> None:
    a_plug_in(site, "1 / 0\n")
    told = (
        "tenuto: policy 'mine' of package 'my-ideas' cannot be loaded (ZeroDivisionError: division by zero)"
    )

    assert "mine" not in run(*options, told=told).stdout


def test_what_a_policy_lacks_is_told(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needy = replace(POLICIES["fifo"], requires=("absent",))
    monkeypatch.setattr(plugins, "POLICIES", {**POLICIES, "fifo": needy})

    assert "fifo" in run(told="tenuto: policy fifo needs absent, not installed here").stdout


def test_no_two_policies_share_a_name() -> None:
    names = [name for policy in POLICIES.values() for name in (policy.name, *policy.aliases)]

    assert len(set(names)) == len(names)
