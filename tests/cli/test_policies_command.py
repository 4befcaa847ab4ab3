"""`tenuto policies`: which policies there are."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner, Result

from tenuto.cli.main import app
from tenuto.policy.base import Policy
from tenuto.policy.registry import POLICIES

each_policy = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(app, ("policies", *arguments))
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
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


def test_no_two_policies_share_a_name() -> None:
    names = [name for policy in POLICIES.values() for name in (policy.name, *policy.aliases)]

    assert len(set(names)) == len(names)
