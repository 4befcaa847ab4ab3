"""`tenuto config`: what settings are in force and why, everything that is wrong at once, and the task server's file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from tenuto.cli.conf_json import import_conf
from tenuto.cli.home import Home
from tenuto.cli.main import app
from tenuto.errors import InputInvalid
from tenuto.store.open import open_store

SEED = """"visible_folders": ["data", "data_ssd", "envs"],    #客户端可见的文件夹
"root": "/home/xxx/",    #系统所在文件目录
"psw_file": "./psw",    #密码文件路径
"slaver_file": "./gpu_slaver_info.json",    #计算节点信息存放路径
"train_log_path": "data/task_logs/" ,    #训练日志存放路径
"server_log_path": "/home/xxx/master/server_log.log",    #服务端日志存放路径
"socket_info": {    #服务端与客户端之间通信的设置
        "monitor_port": 63004,    #节点监控端口
        "data_port": 63005,    #交互端口
        "train_state_port": 63006,    #训任务状态监控端口
        "buffer": 1048576,    #端口缓冲区大小
        "listen": 100    #最大连接数
    }
"""


def tenuto(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["config", *arguments])


def checked(*arguments: str) -> Any:
    """What `config check --json` tells of settings that can be used."""
    result = tenuto("check", *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def not_default(told: Any) -> dict[str, tuple[object, str]]:
    rows = told["items"]
    return {row["name"]: (row["value"], row["origin"]) for row in rows if row["origin"] != "default"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "设置.yaml"


def test_every_setting_is_told_with_where_it_comes_from(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path / "home")
    home.prepare()
    store = open_store(home.store_url)
    store.write(lambda tx: tx.set_meta("scheduling", {"policy": "edf", "interval": 60.0, "margin": 0.3}))
    store.close()
    file.write_text("scheduling: {margin: 0.2}\nnodes: {timeout: 20}\nstore: {checkpoints: /c}\n")
    monkeypatch.setenv("TENUTO_HOME", str(home.path))
    monkeypatch.setenv("TENUTO_NODES_TIMEOUT", "30")
    monkeypatch.setenv("TENUTO_STORE", "postgresql://kim:geheim@db/x")

    told = checked(str(file))

    assert not_default(told) == {
        "scheduling.policy": ("edf", "stored"),
        "scheduling.margin": (0.2, "file"),
        "nodes.timeout": (30.0, "environment"),
        "store.checkpoints": ("/c", "file"),
        "store.url": ("postgresql://db/x", "option"),
    }
    assert told["warnings"] == told["errors"] == []


def test_what_is_unknown_is_a_warning_with_a_suggestion(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("servin: {port: 1}\nserving: {prot: 3, port: 8080}\n")
    monkeypatch.setenv("TENUTO_NODES_TIMEOUTS", "1")
    monkeypatch.setenv("TENUTO_JOB_ID", "k1")

    told = checked(str(file))

    assert not_default(told) == {"serving.port": (8080, "file")}
    first, second, third = told["warnings"]
    assert "line 1: there is no key 'servin'. Did you mean serving?" in first
    assert "line 2: there is no key 'prot'. Did you mean port?" in second
    assert third == "TENUTO_NODES_TIMEOUTS names no setting. Did you mean TENUTO_NODES_TIMEOUT?"


def test_everything_that_is_wrong_is_told_at_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("serving:\n  port: x\n  max_body: 0\nnodes: 3\nscheduling: {policy: fifa}\n")
    monkeypatch.setenv("TENUTO_LOGS_KEEP_BYTES", "many")

    result = tenuto("check", str(file))

    assert result.exit_code == InputInvalid.exit_code
    for told in (
        "line 2: 'x' cannot be used",
        "line 4: 3 is no mapping",
        "TENUTO_LOGS_KEEP_BYTES, line 1: 'many' cannot be used",
        "serving.max_body is 0",
    ):
        assert told in result.stderr


def test_a_file_that_is_none_is_an_error(tmp_path: Path) -> None:
    assert tenuto("check", str(tmp_path / "nirgends.yaml")).exit_code == InputInvalid.exit_code


def test_without_a_server_the_settings_of_the_next_one_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENUTO_WORKERS_ENV", "{TOKEN: geheim}")

    result = tenuto("show")

    assert result.exit_code == 0
    assert "geheim" not in result.output
    assert "[hidden]" in result.stdout


def test_the_task_servers_file_becomes_settings_and_the_rest_is_explained(tmp_path: Path) -> None:
    conf, out = tmp_path / "conf.json", tmp_path / "tenuto.yaml"
    conf.write_text(SEED, encoding="utf-8")

    result = tenuto("import", str(conf), "--out", str(out))

    assert result.exit_code == 0, result.output
    assert not_default(checked(str(out))) == {
        "nodes.paths": ("/home/xxx/data:/home/xxx/data_ssd:/home/xxx/envs", "file"),
        "logs.server_file": ("/home/xxx/master/server_log.log", "file"),
        "serving.port": (63005, "file"),
    }
    explained = [line.partition(" ")[0] for line in result.stderr.splitlines() if "no counterpart" in line]
    assert sorted(explained) == [
        "psw_file",
        "root",
        "slaver_file",
        "socket_info.buffer",
        "socket_info.listen",
        "socket_info.monitor_port",
        "socket_info.train_state_port",
        "train_log_path",
    ]


def test_a_file_that_is_there_is_not_replaced_unless_that_is_said(tmp_path: Path) -> None:
    conf, out = tmp_path / "conf.json", tmp_path / "tenuto.yaml"
    conf.write_text(SEED, encoding="utf-8")
    out.write_text("mine")

    assert isinstance(tenuto("import", str(conf), "--out", str(out)).exception, InputInvalid)
    assert out.read_text() == "mine"
    assert tenuto("import", str(conf), "--out", str(out), "--force").exit_code == 0
    assert yaml.safe_load(out.read_text())["serving"] == {"port": 63005}


def test_a_key_that_the_task_server_did_not_know_either_is_a_warning() -> None:
    imported = import_conf('{"rooot": "/x", "socket_info": {"dataport": 1}} // end', "conf.json")

    assert imported.given == {}
    assert imported.warnings == [
        "there is no key 'rooot'. Did you mean root?",
        "there is no key 'socket_info.dataport'. Did you mean socket_info.data_port?",
    ]


def test_a_hash_in_a_text_is_no_comment() -> None:
    imported = import_conf('"server_log_path": "/a#b//c.log" # "x', "conf.json")

    assert imported.given == {"logs": {"server_file": "/a#b/c.log"}}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"root": }', "conf.json, line 1: is no JSON"),
        ('{\n"root": "/x"\n"psw_file": 1}', "line 3: is no JSON"),
        ('["root", "/x"]', "holds no settings"),
        ('{"root": 3}', "root is 3, not a text"),
        ('{"socket_info": 3}', "socket_info is 3, not a mapping"),
        ('{"socket_info": {"data_port": "63005"}}', 'data_port is "63005", not a port'),
        ('{"socket_info": {"data_port": 0}}', "data_port is 0, not a port"),
        ('{"visible_folders": "data"}', "not a list of folders"),
        ('{"server_log_path": ""}', "not a path"),
    ],
)
def test_what_cannot_be_imported_is_refused_with_its_place(text: str, told: str) -> None:
    with pytest.raises(InputInvalid) as refused:
        import_conf(text, "conf.json")

    assert told in str(refused.value)
