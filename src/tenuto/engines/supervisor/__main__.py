"""`python -m tenuto.engines.supervisor`: the supervisor as a program, as the local engine starts it."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

from tenuto.engines.supervisor.log_setup import log_to_stderr
from tenuto.engines.supervisor.options import SupervisorOptions
from tenuto.engines.supervisor.run import run
from tenuto.errors import TenutoError
from tenuto.terminal_text import safe_text


def main() -> int:
    """Read the command line and supervise."""
    log_to_stderr(logging.WARNING)
    try:
        return run(_options())
    except TenutoError as error:
        sys.stderr.write(safe_text(f"{error}\n"))
        return error.exit_code


def _options() -> SupervisorOptions:
    parser = argparse.ArgumentParser(prog="tenuto.engines.supervisor", description="Supervise one node.")
    parser.add_argument("--dir", type=Path, required=True, help="records and logs")
    parser.add_argument("--node", required=True, help="the node's name")
    server = parser.add_mutually_exclusive_group(required=True)
    server.add_argument("--server", default="", metavar="URL")
    server.add_argument("--server-file", type=Path, help="JSON with its url, read again when it is away")
    parser.add_argument("--token-file", type=Path, help="the token for joining")
    parser.add_argument("--slots", type=int, help="so many CPU shares instead of the GPUs or cores")
    parser.add_argument("--address", default="", help="where workers of other nodes reach this one")
    parser.add_argument("--label", action="append", default=[], type=_label, metavar="KEY=VALUE")
    parser.add_argument(
        "--warm",
        default="torch,safetensors.torch",
        metavar="MODULES",
        help="imported by warm servers; empty for none",
    )
    given = parser.parse_args()
    return SupervisorOptions(
        directory=given.dir,
        node=given.node,
        server=given.server,
        server_file=given.server_file,
        token_file=given.token_file,
        slots=given.slots,
        address=given.address,
        labels=dict(given.label),
        warm=tuple(given.warm.split(",")) if given.warm else (),
    )


def _label(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key, value


if __name__ == "__main__":
    sys.exit(main())
