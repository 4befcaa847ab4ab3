"""The file in a supervisor's directory with the credential of its node; only its owner may read it."""

from __future__ import annotations

import os
from pathlib import Path

CREDENTIAL_FILE, PART = "credential", ".credential.part"
"""The second is what a writer that was killed may leave; the next one replaces it."""


def read_credential(directory: Path) -> str:
    """The credential; empty if there is none that can be read."""
    try:
        return (directory / CREDENTIAL_FILE).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def write_credential(directory: Path, secret: str) -> None:
    """Replace the credential, whole and durably. Raises OSError."""
    part = directory / PART
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(f"{secret}\n")
        file.flush()
        os.fsync(file.fileno())
    part.replace(directory / CREDENTIAL_FILE)


def erase_credential(directory: Path) -> None:
    """Leave nothing of it."""
    for name in (CREDENTIAL_FILE, PART):
        (directory / name).unlink(missing_ok=True)
