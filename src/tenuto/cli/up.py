"""`tenuto up`: one command starts the platform on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

import tenuto
from tenuto.cli.home import Home
from tenuto.cli.plan import Listening, LocalWish, Plan
from tenuto.cli.printing import print_json_line, write_text
from tenuto.cli.settings_layers import Given, named_in
from tenuto.errors import InputInvalid

EXAMPLES = """Examples:

tenuto up                        the GPUs of this machine, or its processors

tenuto up --nodes 3 --slots 4    three virtual nodes of four slots each

tenuto up --detach               in the background; tenuto down ends it
"""
SERVE_EXAMPLES = "Examples: tenuto serve --port 8080 · tenuto serve --uds /run/tenuto/socket"
STORE = "TENUTO_STORE"
ENGINES = ("local",)
HostOption = Annotated[
    str | None, typer.Option(help="The address to listen at; else only this machine reaches it.")
]
PortOption = Annotated[
    int | None, typer.Option(min=0, max=65535, help="The port; else that of last time, or a free one.")
]
UdsOption = Annotated[
    str | None, typer.Option(metavar="PATH", help="A Unix socket to listen at besides, for a proxy.")
]
StoreOption = Annotated[
    str | None, typer.Option(envvar=STORE, help="A database's URL; else SQLite in the home directory.")
]
ConfigOption = Annotated[Path | None, typer.Option(help="A YAML file with settings.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one line of JSON when it listens.")]


def up(
    slots: Annotated[
        int | None,
        typer.Option(
            min=0, max=1024, help="CPU slots of each node; 0 for its GPUs or processors, as at first."
        ),
    ] = None,
    nodes: Annotated[
        int | None, typer.Option(min=1, max=256, help="Virtual nodes on this machine: node-0, node-1 …")
    ] = None,
    no_local: Annotated[
        bool, typer.Option("--no-local", help="Only the server: no node on this machine.")
    ] = False,
    host: HostOption = None,
    port: PortOption = None,
    uds: UdsOption = None,
    store: StoreOption = None,
    config: ConfigOption = None,
    policy: Annotated[str | None, typer.Option(help="The policy; else that of last time.")] = None,
    start_cost: Annotated[
        float | None, typer.Option(min=0, help="Seconds without progress when a job starts.")
    ] = None,
    rescale_cost: Annotated[
        float | None, typer.Option(min=0, help="Seconds without progress when a job changes its size.")
    ] = None,
    wait_nodes: Annotated[
        int | None, typer.Option(min=0, help="Decide nothing before so many nodes have joined.")
    ] = None,
    dead_man: Annotated[
        float | None,
        typer.Option(min=0, help="Seconds without the server after which nodes stop all workers."),
    ] = None,
    engine: Annotated[str, typer.Option(help="What runs workers: local.")] = ENGINES[0],
    detach: Annotated[
        bool, typer.Option("--detach", "-d", help="Go on in the background, and return when it listens.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Start the platform, or start it again: what trained meanwhile goes on."""
    if engine not in ENGINES:
        raise InputInvalid(f"there is no engine {engine!r}", remedy="Write local", field="engine")
    options: dict[str, dict[str, Any]] = {
        "scheduling": {
            "policy": policy,
            "start_cost": start_cost,
            "rescale_cost": rescale_cost,
            "wait_nodes": wait_nodes,
        },
        "nodes": {"dead_man": dead_man},
        "serving": {"host": host, "port": port, "uds": uds},
        "store": {"url": store},
    }
    plan = _plan(options, config, LocalWish(nodes=nodes, slots=slots, none=no_local))
    if detach:
        from tenuto.cli.background import start_in_background

        _announce(start_in_background(plan), as_json)
        return
    _serve(plan, as_json)


def serve(
    host: HostOption = None,
    port: PortOption = None,
    uds: UdsOption = None,
    store: StoreOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run the server alone, in the foreground: `tenuto up --no-local` for service managers and containers.

    SIGTERM and Ctrl-C end it in good order; training goes on. Nodes that this machine had are drained.
    """
    options: dict[str, dict[str, Any]] = {
        "serving": {"host": host, "port": port, "uds": uds},
        "store": {"url": store},
    }
    _serve(_plan(options, config, LocalWish(none=True)), as_json)


def _plan(options: dict[str, dict[str, Any]], config: Path | None, local: LocalWish) -> Plan:
    """What is to be done, checked before anything is changed."""
    plan = Plan(
        home=Home.named_by(os.environ),
        file=read_file(config),
        environment=read_variables(os.environ),
        options=_given(options),
        local=local,
    )
    plan.check()
    return plan


def _serve(plan: Plan, as_json: bool) -> None:
    from tenuto.cli.begin_serving import begin_serving

    begin_serving(plan, lambda listening: _announce(listening, as_json))


def read_file(config: Path | None) -> Given:
    """The settings of the file, if one is named."""
    if config is None:
        return {}
    from tenuto.cli.config_file import read_config  # numbers and YAML, for those who need them

    return read_config(config)


def read_variables(environment: Mapping[str, str]) -> Given:
    """The settings that variables of the environment give."""
    if not named_in(environment):
        return {}
    from tenuto.cli.config_file import read_environment

    return read_environment(environment)


def _given(options: dict[str, dict[str, Any]]) -> Given:
    """The options that were given."""
    return {
        group: given
        for group, values in options.items()
        if (given := {name: value for name, value in values.items() if value is not None})
    }


def _announce(listening: Listening, as_json: bool) -> None:
    if as_json:
        print_json_line(listening.as_json())
    else:
        write_text("\n".join(_lines(listening)) + "\n")


def _lines(listening: Listening) -> list[str]:
    told = [f"tenuto {tenuto.__version__} listens at {listening.url}", f"  home   {listening.home}"]
    told.append(f"  nodes  {', '.join(listening.nodes) or 'none on this machine'}")
    if listening.token is not None:
        told.append(f"  token  {listening.token}  (shown this once; kept in {listening.home / 'token'})")
    return [
        *told,
        "",
        "Next:",
        "  tenuto submit job.yaml      hand in a job; tenuto schema tells what can stand in it",
        "  tenuto ps                   what becomes of it",
        "  tenuto open                 the page in a browser, logged in",
        f"  tenuto node join {listening.url} --token-file FILE",
        f"                              on another machine, with a copy of {listening.home / 'node-token'}",
        "",
        "The end of the server (Ctrl-C) leaves training alone; tenuto down stops everything.",
    ]
