"""The program: every command in one place, and every error in one form."""

from __future__ import annotations

import errno
import sys
import traceback
from typing import Annotated, NoReturn

import typer
from rich.console import Console

import tenuto
from tenuto.cli.lazy import Later, group_of
from tenuto.errors import InputInvalid, TenutoError

COMMANDS = {
    "policies": Later("tenuto.cli.policies", "policies"),
    "replay": Later("tenuto.cli.replay", "replay", epilog="EXAMPLES"),
    "trace": Later("tenuto.cli.trace", "app"),
    "lab": Later("tenuto.cli.lab", "app"),
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
        app()
    except TenutoError as error:
        _tell(str(error))
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
    traceback.print_exc()
    _tell("this is a bug of ours. Please report it with the lines above")
    sys.exit(OUR_BUG)


def _tell(message: str) -> None:
    Console(stderr=True, soft_wrap=True).print(f"tenuto: {message}", markup=False, highlight=False)
