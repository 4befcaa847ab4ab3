"""`tenuto schema`: the JSON schema of a job file, for editors that complete and check while one writes."""

from __future__ import annotations

from typing import Any

from tenuto.cli.printing import print_json
from tenuto.wire.api import JobIn
from tenuto.wire.job_file import HOSTS


def schema() -> None:
    """Print the JSON schema of a job file."""
    print_json(job_file_schema())


def job_file_schema() -> dict[str, Any]:
    """What one document of a job file may say; a name is not needed, since the file has one."""
    described = JobIn.model_json_schema()
    described["title"] = "A job of tenuto"
    described["properties"][HOSTS] = {"type": "string", "description": "A file of host:slots lines."}
    described["required"] = [key for key in described.get("required", []) if key != "name"]
    if not described["required"]:
        del described["required"]
    return described
