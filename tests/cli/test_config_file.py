"""The settings of a platform: read strictly, laid over each other, and fitting together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tenuto.cli.config_file import read_config, read_environment
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


def test_variables_for_all_workers_stand_in_the_file(tmp_path: Path) -> None:
    file = config(tmp_path, 'workers: {env: {NCCL_P2P_DISABLE: "1", QT_QPA_PLATFORM: offscreen}}\n')

    settings = settings_from(read_config(file))

    assert settings.workers.env == {"NCCL_P2P_DISABLE": "1", "QT_QPA_PLATFORM": "offscreen"}


@pytest.mark.parametrize(
    ("group", "values", "told"),
    [
        ("workers", {"env": {"NCCL P2P": "1"}}, "workers.env: 'NCCL P2P' is no name of a variable"),
        ("workers", {"env": {"TENUTO_RANK": "1"}}, "belongs to tenuto"),
        ("workers", {"env": {"RANK": "1"}}, "workers.env sets RANK"),
        ("workers", {"env": {"CUDA_VISIBLE_DEVICES": "0"}}, "Each worker gets its own"),
        ("workers", {"inherit": "HF_HOME A=B"}, "workers.inherit names 'A=B'"),
        ("sharing", {"jobs": 0}, "Write 1 if no two jobs"),
        ("sharing", {"memory": 50.0}, "more than all there is"),
    ],
)
def test_settings_of_workers_that_cannot_be_are_refused(group: str, values: Any, told: str) -> None:
    with pytest.raises(InputInvalid, match=told):
        settings_from({group: values})


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
        ({"monitor": {"period": 0.01}}, "monitor.period"),
        ({"monitor": {"upload": 0.0}}, "monitor.upload"),
        ({"idle": {"below": 200.0}}, "idle.below"),
        ({"nodes": {"timeout": 3.0}}, "nodes.timeout"),
        ({"nodes": {"dead_man": 1.0}}, "nodes.dead_man"),
        ({"serving": {"port": 70000}}, "serving.port"),
        ({"serving": {"host": ""}}, "serving.host"),
        ({"retention": {"period": 0}}, "retention.period"),
        ({"retention": {"job_share": 0}}, "retention.job_share"),
        ({"retention": {"job_share": 1.5}}, "retention.job_share"),
        ({"serving": {"max_body": 0}}, "serving.max_body"),
    ],
)
def test_what_does_not_fit_together_is_refused(given: dict[str, dict[str, object]], field: str) -> None:
    with pytest.raises(InputInvalid) as refused:
        settings_from(given)

    assert refused.value.field == field


def test_variables_of_the_environment_are_settings() -> None:
    given = read_environment(
        {
            "TENUTO_NODES_TIMEOUT": "30",
            "TENUTO_NODES_DEAD_MAN": "null",
            "TENUTO_SERVING_HOST": "::1",
            "TENUTO_SCHEDULING_PLACEMENT": "spread",
            "TENUTO_SERVING_PORT": "",
            "TENUTO_HOME": "/somewhere",
        }
    )

    assert given == {
        "nodes": {"timeout": 30.0, "dead_man": None},
        "serving": {"host": "::1"},
        "scheduling": {"placement": Placement.SPREAD},
    }


def test_a_variable_that_cannot_be_used_is_named() -> None:
    with pytest.raises(InputInvalid, match="TENUTO_NODES_TIMEOUT, line 1: 'soon' cannot be used"):
        read_environment({"TENUTO_NODES_TIMEOUT": "soon"})
