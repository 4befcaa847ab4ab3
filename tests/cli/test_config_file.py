"""The settings of a platform: read strictly, laid over each other, and fitting together."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenuto.cli.config_file import read_config
from tenuto.cli.settings_layers import settings_from
from tenuto.errors import InputInvalid
from tenuto.model.snapshot import Placement
from tenuto.settings import Settings


def config(directory: Path, text: str) -> Path:
    file = directory / "설정.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_what_is_left_out_keeps_its_default(tmp_path: Path) -> None:
    file = config(tmp_path, "scheduling: {policy: fifo}\nnodes:\n  timeout: 30\n  dead_man: null\n")

    settings = settings_from(read_config(file))

    assert settings.scheduling.policy == "fifo"
    assert settings.nodes.timeout == 30
    assert settings.serving == Settings().serving


def test_later_layers_win_field_by_field(tmp_path: Path) -> None:
    stored = {"scheduling": {"policy": "edf", "margin": 0.2}}
    file = read_config(config(tmp_path, "scheduling: {policy: fifo, placement: buddy}\n"))
    options = {"scheduling": {"policy": "themis"}}

    scheduling = settings_from(stored, file, options).scheduling

    assert (scheduling.policy, scheduling.margin, scheduling.placement) == ("themis", 0.2, Placement.BUDDY)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("schedulin: {}", r"line 1: there is no key 'schedulin'. Did you mean scheduling\?"),
        ("serving:\n  host: x\n  prot: 3", r"line 3: there is no key 'prot'. Did you mean port\?"),
        ("nodes:\n  heartbeat: often", "line 2: 'often' cannot be used. Write a number"),
        ("scheduling: {wait_nodes: 1.5}", "1.5 cannot be used. Write a whole number"),
        ("scheduling: {placement: buddies}", r"Did you mean buddy\?"),
        ("scheduling: {interval: null}", "None cannot be used"),
        ("nodes: [1]", "a list is no mapping"),
        ("nodes: {heartbeat: 2\nserving: {}", "line 2"),
        ("# nothing", "the file is empty"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(InputInvalid, match=told):
        read_config(config(tmp_path, text))


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"nodes": {"heartbeat": 0.0}}, "nodes.heartbeat"),
        ({"nodes": {"timeout": 3.0}}, "nodes.timeout"),
        ({"nodes": {"dead_man": 1.0}}, "nodes.dead_man"),
        ({"serving": {"port": 70000}}, "serving.port"),
        ({"serving": {"host": ""}}, "serving.host"),
        ({"serving": {"max_body": 0}}, "serving.max_body"),
    ],
)
def test_what_does_not_fit_together_is_refused(given: dict[str, dict[str, object]], field: str) -> None:
    with pytest.raises(InputInvalid) as refused:
        settings_from(given)

    assert refused.value.field == field
