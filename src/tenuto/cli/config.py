"""`tenuto config`: what the settings are, where each comes from, and whether a file of them is right."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from tenuto.cli.connect import JsonOption, ServerOption, connect
from tenuto.cli.home import Home, write_private
from tenuto.cli.plan import Plan
from tenuto.cli.printing import print_json, print_list, say, table_of, write_data
from tenuto.cli.settings_layers import Given, settings_from
from tenuto.cli.up import STORE
from tenuto.errors import InputInvalid, Unreachable
from tenuto.settings import Settings, named, without_secrets

app = typer.Typer(
    name="config",
    help="See the settings and where they come from, check a file of them, import an old one.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
COLUMNS = ("setting", "value", "from")


@dataclass(slots=True)
class Findings:
    """What is right and wrong about settings."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {"ok": not self.errors, "items": self.rows, "warnings": self.warnings, "errors": self.errors}


@app.command(epilog="Examples: tenuto config check · tenuto config check tenuto.yaml --json")
def check(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="A YAML file, as tenuto up --config takes it.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Tell whether settings can be used, what follows from them, and where each comes from.

    Unknown keys are warnings here, with a suggestion; `tenuto up` refuses them. Ends with 2 if a value cannot be used.
    """
    from tenuto.cli.config_check import check_file, check_variables

    found = Findings()
    given = check_file(file, found) if file is not None else {}
    variables = check_variables(os.environ, found)
    _put_together(given, variables, found)
    _tell(found, as_json)
    if found.errors:
        raise typer.Exit(InputInvalid.exit_code)


@app.command(epilog="Example: tenuto config show")
def show(server: ServerOption = None, as_json: JsonOption = False) -> None:
    """Show the settings in force on the server; if none runs, those with which the next one would start."""
    found = Findings()
    try:
        with connect(server) as client:
            found.rows = client.settings()["items"]
    except Unreachable:
        if server:
            raise
        say("No server runs here; with these the next one would start.")
        from tenuto.cli.up import read_variables

        _put_together({}, read_variables(os.environ), found)
    _tell(found, as_json)


@app.command(name="import", epilog="Example: tenuto config import conf.json --out tenuto.yaml")
def import_file(
    file: Annotated[Path, typer.Argument(metavar="CONF.JSON", help="The task server's settings.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Where to write; else it is printed.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace the file if it exists.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Turn the task server's conf.json into a file of settings; what has no counterpart is named with the reason."""
    import yaml

    from tenuto.cli.conf_json import import_conf
    from tenuto.sim.table import read_text

    imported = import_conf(read_text(file), str(file))
    settings_from(imported.given)
    text = yaml.safe_dump(imported.given, allow_unicode=True, sort_keys=False)
    if out is not None:
        _write(out, text, force)
    if as_json:
        print_json(
            {
                "settings": imported.given,
                "became": imported.became,
                "without_counterpart": imported.lost,
                "warnings": imported.warnings,
            }
        )
        return
    if out is None:
        write_data(text)
    for old, setting in imported.became.items():
        say(f"{old} is now {setting}")
    for old, why in imported.lost.items():
        say(f"{old} has no counterpart: {why}")
    for warning in imported.warnings:
        say(f"warning: {warning}")


def _write(out: Path, text: str, force: bool) -> None:
    if out.exists() and not force:
        raise InputInvalid(f"{out} exists", remedy="Name another file, or give --force", field="out")
    write_private(out, text)


def _put_together(file: Given, variables: Given, found: Findings) -> None:
    """Lay everything over each other as `tenuto up` would."""
    from tenuto.cli.config_check import stored_scheduling

    options: Given = {"store": {"url": url}} if (url := os.environ.get(STORE)) else {}
    plan = Plan(Home.named_by(os.environ), file=file, environment=variables, options=options)
    stored = stored_scheduling(plan.home)
    try:
        settings = plan.settings(stored)
        plan.check()
    except InputInvalid as error:
        found.errors.append(str(error))
        settings = Settings()
    found.rows = [
        {"name": name, "value": without_secrets(value), "origin": plan.origins(stored).get(name, "default")}
        for name, value in named(settings).items()
    ]


def _tell(found: Findings, as_json: bool) -> None:
    if as_json:
        print_json(found.as_json())
        return
    if not found.errors:
        rows = [(row["name"], _shown(row["value"]), row["origin"]) for row in found.rows]
        print_list(table_of(COLUMNS, rows))
    for warning in found.warnings:
        say(f"warning: {warning}")
    for error in found.errors:
        say(f"error: {error}")


def _shown(value: object) -> str:
    if value is None:
        return "null"
    return f"{value:.15g}" if isinstance(value, float) else str(value)
