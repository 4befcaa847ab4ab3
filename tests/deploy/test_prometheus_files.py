"""The files for Prometheus: right by its own tools, and about things that there are."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from tenuto.cli.main import app
from tenuto.monitor.prometheus.families import FAMILIES, Kind

ROOT = Path(__file__).parents[2]
FILES = ROOT / "deploy" / "prometheus"
RULES = FILES / "tenuto-rules.yml"
STORIES = Path(__file__).parent / "rules" / "tenuto_test.yml"
COMMAND = re.compile(r"`tenuto ([^`]+)`")


@pytest.fixture(scope="module")
def promtool() -> str:
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("there is no promtool (Debian package prometheus)")
    return found


def passes(*command: str | Path, cwd: Path | None = None) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


ALERTS = [rule for rule in rules() if "alert" in rule]


def series() -> set[str]:
    """Every name that a query may use."""
    names = {family.name for family in FAMILIES}
    for family in FAMILIES:
        if family.kind is Kind.HISTOGRAM:
            names |= {f"{family.name}_{part}" for part in ("bucket", "sum", "count")}
    return names | {rule["record"] for rule in rules() if "record" in rule}


def test_the_rules_are_rules(promtool: str) -> None:
    passes(promtool, "check", "rules", RULES)


def test_the_alerts_go_off_when_they_should_and_only_then(promtool: str) -> None:
    passes(promtool, "test", "rules", STORIES)


def test_the_configuration_is_one(promtool: str, tmp_path: Path) -> None:
    for file in FILES.iterdir():
        shutil.copy(file, tmp_path)
    (tmp_path / "tenuto-token").write_text("a token")

    passes(promtool, "check", "config", "prometheus.yml", cwd=tmp_path)


def test_the_documentation_lists_every_alert_and_no_other() -> None:
    text = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(Tenuto\w+)` \| .+ \| (\w+) \|$", text, re.MULTILINE)

    assert rows == [(rule["alert"], rule["labels"]["severity"]) for rule in ALERTS]


def test_every_alert_has_a_story() -> None:
    text = STORIES.read_text(encoding="utf-8")

    assert [rule["alert"] for rule in ALERTS if f"alertname: {rule['alert']}\n" not in text] == []


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.get("alert") or rule["record"])
def test_a_rule_asks_for_numbers_that_there_are(rule: dict[str, Any]) -> None:
    asked = set(re.findall(r"\b(?:instance\w*:)?tenuto_[a-z0-9_]+(?::\w+)?", rule["expr"]))

    assert asked <= series(), asked - series()
    assert asked or "up{" in rule["expr"]


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_an_alert_says_what_is_the_matter_and_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in ("info", "warning", "critical")
    assert set(rule["annotations"]) == {"summary", "description"}
    for command in COMMAND.findall(rule["annotations"]["description"]):
        below: Any = typer.main.get_command(app)
        words = [word for word in command.split() if re.fullmatch(r"[a-z-]+", word)]
        for word in words:
            if not hasattr(below, "commands"):
                break
            assert word in below.commands, f"there is no command tenuto {command}"
            below = below.commands[word]
