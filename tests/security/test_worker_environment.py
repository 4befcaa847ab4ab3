"""Workers inherit only what is listed of the operator's environment: on embedded nodes, joined nodes, warm servers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.e2e.jobs import FOREVER, a_job
from tests.e2e.platform import Platform, eventually
from tests.e2e.test_coming_and_going import Machine
from tests.engines.supervisor.node import (
    HANG,
    Node,
    a_node,
    a_script,
    an_order,
    environment_of,
    some_settings,
)
from tests.engines.supervisor.node import Desk as Server
from tests.engines.supervisor.warm.conftest import HEAVY, WarmStage

from tenuto.engines.supervisor.worker_environment import worker_variables
from tenuto.settings import Settings, Workers

SECRETS = {"AWS_SECRET_ACCESS_KEY": "geheim", "DB_PASSWORD": "tajne", "TENUTO_STORE": "postgresql://a:b@c/d"}
PASSED = {"NCCL_DEBUG": "WARN", "LC_TIME": "C", "OMP_DYNAMIC": "false", "no_proxy": "localhost"}
ASKED = {"HF_HOME": "/modele", "WANDB_MODE": "offline"}
INHERIT = "HF_HOME WANDB_*"


@pytest.fixture(autouse=True)
def operator(monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator whose shell has secrets."""
    for name, value in (SECRETS | PASSED | ASKED).items():
        monkeypatch.setenv(name, value)


def _is_clean(variables: Mapping[str, str], *, asked: bool) -> None:
    assert not SECRETS.keys() & variables.keys()
    assert "TENUTO_TOKEN" not in variables
    assert {name: variables.get(name) for name in PASSED} == PASSED
    assert {name: variables[name] for name in ASKED if name in variables} == (ASKED if asked else {})


def _settings(inherit: str = "") -> Settings:
    plain = some_settings()
    return Settings(nodes=plain.nodes, logs=plain.logs, workers=Workers(inherit=inherit))


@pytest.mark.parametrize("inherit", ["", INHERIT], ids=["by default", "with a setting"])
def test_a_worker_and_its_setup_inherit_what_is_listed(tmp_path: Path, inherit: str) -> None:
    with a_node(tmp_path, _settings(inherit)) as (desk, _):
        order = a_script("env", setup=f"env > {tmp_path / 'setup'}", env={"DB_USER": "from the job"})

        desk.want(order)
        desk.until_exited(order)
        printed = desk.until_logged(order, "exit with code")

    for text in (printed, (tmp_path / "setup").read_text()):
        variables = _variables(text)
        _is_clean(variables, asked=bool(inherit))
        assert variables["DB_USER"] == "from the job"
        assert "PATH" in variables


def test_a_setting_that_was_changed_counts_after_the_next_welcome(tmp_path: Path) -> None:
    desk = Server(_settings())
    with a_node(tmp_path, desk=desk, by_file=True) as (_, node):
        desk.down()
        desk.settings = Server(_settings(INHERIT)).settings
        desk.up()
        node.write_url()
        desk.until(lambda: desk.engine.observe().nodes)
        order = an_order()

        desk.want(order)

        _is_clean(_of(desk.until_running(order).pid), asked=True)


@pytest.fixture
def warm_node(tmp_path: Path) -> Iterator[Node]:
    with a_node(tmp_path, _settings(INHERIT), options=("--warm", HEAVY)) as (_, node):
        yield node


def test_a_worker_of_a_warm_server_inherits_the_same(warm_node: Node, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    (library / f"{HEAVY}.py").write_text("import os\nloaded_by = os.getpid()\n")
    stage = WarmStage(warm_node, library, tmp_path)
    stage.warm_up()
    order = stage.script("import time; time.sleep(1000)")

    stage.desk.want(order)

    _is_clean(_of(stage.desk.until_running(order).pid), asked=True)
    stage.desk.want()
    stage.desk.until(lambda: not stage.desk.engine.observe().workers)


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Platform]:
    settings = tmp_path / "settings.yaml"
    settings.write_text(f"workers: {{inherit: {INHERIT}}}\n")
    made = Platform(tmp_path / "platform", "--nodes", "1", "--slots", "2", "--config", str(settings))
    try:
        yield made.up()
    finally:
        made.end()


@pytest.fixture
def joined(tmp_path: Path, platform: Platform) -> Iterator[Machine]:
    made = Machine(tmp_path, platform, "joined").join()
    yield made
    for process in made.processes():
        process.kill()
    assert made.process is not None
    made.process.wait(HANG)


def test_workers_of_embedded_and_joined_nodes_inherit_the_same(platform: Platform, joined: Machine) -> None:
    with platform.client(patience=10.0) as client:
        eventually(lambda: len(client.nodes()["items"]) == 2, "both nodes are there")
        for node in ("node-0", "joined"):
            client.submit(a_job(f"on-{node}", FOREVER, node=node))
            platform.wait_for(f"on-{node}", "running")

    environments = [process.environ() for process in (*platform.processes(), *joined.processes())]
    workers = [variables for variables in environments if "TENUTO_JOB_ID" in variables]

    assert {variables["TENUTO_NODE"] for variables in workers} == {"node-0", "joined"}
    for variables in workers:
        _is_clean(variables, asked=True)
    platform.down()


def test_no_setting_passes_on_the_secrets_of_tenuto_itself() -> None:
    variables = {"TENUTO_TOKEN": "t", "TENUTO_STORE_URL": "u", "TENUTO_HOME": "/h", "PATH": "/bin", "X": "1"}

    assert worker_variables(variables) == {"TENUTO_HOME": "/h", "PATH": "/bin"}
    assert worker_variables(variables, "*") == {"TENUTO_HOME": "/h", "PATH": "/bin", "X": "1"}


def _variables(printed: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in printed.splitlines() if "=" in line)
    return {name: value for name, _, value in pairs}


def _of(pid: int | None) -> Mapping[str, str]:
    assert pid is not None
    return environment_of(pid)
