"""A server in the background: started with its plan on standard input, it says in one line that it listens, or why not.

The plan does not stand in the arguments, where everybody on the machine could read a database's password.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from tenuto.cli.begin_serving import begin_serving
from tenuto.cli.home import PRIVATE_FILE
from tenuto.cli.plan import Listening, Plan
from tenuto.cli.server_log import log_file
from tenuto.errors import TenutoError, Told


class NotStarted(Told):
    """The server in the background did not come up."""

    code = "not_started"


def start_in_background(plan: Plan) -> Listening:
    """Start a server in a session of its own; returns when it listens. Raises what it could not be started for."""
    plan.home.prepare()
    place = log_file(plan.settings().logs, plan.home)
    place.touch(PRIVATE_FILE)
    with place.open("ab") as log:
        started = subprocess.Popen(
            [sys.executable, "-P", "-m", "tenuto.cli.background"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    assert started.stdin
    assert started.stdout
    with started.stdin, started.stdout:
        started.stdin.write(plan.as_text().encode())
        started.stdin.close()
        line = started.stdout.readline()
    told: dict[str, Any] = json.loads(line) if line else {"error": "the server ended at once", "exit_code": 1}
    if "error" not in told:
        started.returncode = 0  # it goes on without us: nobody waits for it here
        return Listening.from_json(told)
    started.wait()
    refused = NotStarted(told["error"], remedy="" if line else f"See {place}")
    refused.exit_code = told["exit_code"]
    raise refused


def main() -> None:
    """Serve as the plan on standard input says."""
    try:
        begin_serving(Plan.from_text(sys.stdin.read()), lambda listening: _tell(listening.as_json()))
    except TenutoError as error:
        _tell({"error": str(error), "exit_code": error.exit_code})
        sys.exit(error.exit_code)


def _tell(line: dict[str, object]) -> None:
    """Say it to whoever started us, and let go of the pipe: nobody reads it any more."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


if __name__ == "__main__":
    main()
