"""The program: every command in one place, and every error in one form."""

from __future__ import annotations

import errno
import sys
import traceback
from datetime import datetime
from typing import Annotated, NoReturn

import typer

import tenuto
from tenuto.cli.console import Console
from tenuto.cli.humane import in_local_time
from tenuto.cli.lazy import Later, group_of
from tenuto.errors import InputInvalid, TenutoError
from tenuto.terminal_text import safe_text

COMMANDS = {
    "up": Later(
        "tenuto.cli.up",
        "up",
        epilog="EXAMPLES",
        summary="Start the platform, or start it again: what trained meanwhile goes on.",
    ),
    "serve": Later(
        "tenuto.cli.up",
        "serve",
        epilog="SERVE_EXAMPLES",
        summary="Run the server alone, in the foreground: `tenuto up --no-local` for service managers and containers.",
    ),
    "down": Later("tenuto.cli.down", "down", summary="Drain and stop the platform on this machine."),
    "node": Later("tenuto.cli.node", "app", summary="See the nodes, let machines join and leave."),
    "submit": Later(
        "tenuto.cli.submit",
        "submit",
        epilog="EXAMPLES",
        kind="SubmitCommand",
        summary="Hand in jobs and get an answer: a promise, or the reason why not.",
    ),
    "plan": Later(
        "tenuto.cli.submit",
        "submit",
        epilog="PLAN_EXAMPLES",
        kind="PlanCommand",
        summary="Tell what jobs would be answered, without submitting them.",
    ),
    "run": Later(
        "tenuto.cli.run",
        "run",
        epilog="EXAMPLES",
        kind="RunCommand",
        summary="Submit a command, show what it prints, and end as it ends.",
    ),
    "ps": Later("tenuto.cli.jobs", "ps", epilog="EXAMPLES", summary="List the jobs, newest first."),
    "show": Later(
        "tenuto.cli.show",
        "show",
        epilog="EXAMPLES",
        summary="Tell everything about a job: its contract, progress and workers.",
    ),
    "explain": Later(
        "tenuto.cli.explain",
        "explain",
        epilog="EXAMPLES",
        summary="Tell why a job waits, was declined or shrunk, and what would help.",
    ),
    "whatif": Later(
        "tenuto.cli.whatif",
        "whatif",
        epilog="EXAMPLES",
        summary="Tell what a change would do to every promise and ETA; nothing is changed.",
    ),
    "top": Later(
        "tenuto.cli.top.command",
        "top",
        epilog="EXAMPLES",
        summary="Show nodes, GPUs, jobs and promises live: sort, filter, look into a job or a node.",
    ),
    "logs": Later("tenuto.cli.logs", "logs", epilog="EXAMPLES", summary="Show what a job's workers printed."),
    "metrics": Later(
        "tenuto.cli.metrics",
        "app",
        summary="Show how fast a job's workers go and what they report, over time and beside the GPUs that it holds.",
    ),
    "scale": Later(
        "tenuto.cli.scale",
        "scale",
        epilog="EXAMPLES",
        kind="ScaleCommand",
        summary="Fix a job's number of workers, or leave it to the policy again.",
    ),
    "pause": Later(
        "tenuto.cli.wishes", "pause", summary="Stop a job's workers for now; its promise is given up."
    ),
    "resume": Later("tenuto.cli.wishes", "resume", summary="Let a paused job go on; it gets a new answer."),
    "cancel": Later(
        "tenuto.cli.wishes",
        "cancel",
        summary="End a job for good.",
    ),
    "update": Later(
        "tenuto.cli.change",
        "update",
        epilog="UPDATE_EXAMPLES",
        summary="Change a job's deadline, priority, name, labels or what it waits for.",
    ),
    "resubmit": Later(
        "tenuto.cli.change",
        "resubmit",
        epilog="RESUBMIT_EXAMPLES",
        summary="Submit a job once more, as it was or with changes.",
    ),
    "delete": Later("tenuto.cli.change", "delete", summary="Forget a job that has ended or never began."),
    "events": Later("tenuto.cli.events", "events", epilog="EXAMPLES", summary="Tell what happened, and why."),
    "hosts": Later(
        "tenuto.cli.hosts",
        "hosts",
        epilog="EXAMPLES",
        summary="Print where a job's workers are, as Horovod's host discovery wants it.",
    ),
    "schema": Later("tenuto.cli.schema", "schema", summary="Print the JSON schema of a job file."),
    "profile": Later(
        "tenuto.cli.profile",
        "profile",
        epilog="EXAMPLES",
        summary="Measure how fast a job is at several sizes, and write its profile.",
    ),
    "policy": Later("tenuto.cli.policy", "app", summary="See and change the policy that decides."),
    "policies": Later("tenuto.cli.policies", "policies", summary="List the policies, one sentence each."),
    "doctor": Later(
        "tenuto.cli.doctor",
        "doctor",
        epilog="EXAMPLES",
        summary="Tell what is here, what is missing and how to get it.",
    ),
    "report": Later(
        "tenuto.cli.report",
        "report",
        epilog="EXAMPLES",
        summary="Report which promises were kept and which were broken and why, and how well ends were foretold.",
    ),
    "history": Later(
        "tenuto.cli.history",
        "app",
        summary="Count the jobs of the past, and export them as a trace that `tenuto replay` reads.",
    ),
    "config": Later(
        "tenuto.cli.config",
        "app",
        summary="See the settings and where they come from, check a file of them, import an old one.",
    ),
    "open": Later(
        "tenuto.cli.open_page",
        "open_page",
        epilog="EXAMPLES",
        summary="Open the page in a browser, logged in.",
    ),
    "token": Later("tenuto.cli.token", "app", summary="List, create and revoke tokens."),
    "server": Later("tenuto.cli.server", "app", summary="Look at the server's own log."),
    "install-service": Later(
        "tenuto.cli.install_service",
        "install_service",
        epilog="EXAMPLES",
        summary="Write a systemd unit that runs the server, or with --node the supervisor of this machine.",
    ),
    "uninstall-service": Later(
        "tenuto.cli.install_service",
        "uninstall_service",
        summary="Take a unit away that install-service wrote; training is left alone, and so is the home.",
    ),
    "demo": Later(
        "tenuto.cli.demo",
        "demo",
        epilog="EXAMPLES",
        summary="Show the platform with real training jobs in under three minutes.",
    ),
    "workloads": Later(
        "tenuto.cli.workloads",
        "workloads",
        epilog="EXAMPLES",
        summary="List the models that traces name, or print a job file that trains one.",
    ),
    "bench": Later(
        "tenuto.cli.bench",
        "app",
        summary="Measure what rescales, moves and scripted scenarios cost on this machine.",
    ),
    "replay": Later(
        "tenuto.cli.replay",
        "replay",
        epilog="EXAMPLES",
        summary="Replay traces under policies and compare what becomes of the deadlines.",
    ),
    "trace": Later(
        "tenuto.cli.trace",
        "app",
        summary="Make, look at, convert and keep traces: lists of jobs to replay.",
    ),
    "lab": Later(
        "tenuto.cli.lab",
        "app",
        summary="Experiments of many replays, what came out of them, and pictures.",
    ),
    "queue": Later("tenuto.cli.jobs", "ps", epilog="EXAMPLES", hidden=True),
    "stop": Later("tenuto.cli.wishes", "cancel", hidden=True),
}
"""Every command, in the order in which one meets them."""

app = typer.Typer(
    name="tenuto",
    cls=group_of(COMMANDS),
    help="Elastic deep-learning training that holds its deadlines.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"tenuto {tenuto.__version__}\n")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Elastic deep-learning training that holds its deadlines."""


OUR_BUG = 70
"""EX_SOFTWARE of <sysexits.h>."""
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


def main() -> None:
    """Run the program; errors that we can explain end it with one sentence and a code."""
    try:
        app(prog_name="tenuto")
    except TenutoError as error:
        _tell(in_local_time(str(error), datetime.now().astimezone()))
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.exit(0)
    except OSError as error:
        if error.errno not in _NO_ROOM:
            _own_up()
        _tell("there is no room for the output. Make room, or write it elsewhere")
        sys.exit(InputInvalid.exit_code)
    except Exception:  # noqa: BLE001  whatever it is, it is ours
        _own_up()


def _own_up() -> NoReturn:
    """End with a bug of ours; whoever mends it needs all of it."""
    sys.stderr.write(safe_text(traceback.format_exc()))
    _tell("this is a bug of ours. Please report it with the lines above")
    sys.exit(OUR_BUG)


def _tell(message: str) -> None:
    Console(stderr=True, soft_wrap=True).print(f"tenuto: {message}", markup=False, highlight=False)
