"""The file in a supervisor's directory with the credential of its node; only its owner may read it."""

from __future__ import annotations

from pathlib import Path

from tenuto.atomic_file import replace_file

CREDENTIAL_FILE = "credential"


def read_credential(directory: Path) -> str:
    """The credential; empty if there is none that can be read."""
    try:
        return (directory / CREDENTIAL_FILE).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def write_credential(directory: Path, secret: str) -> None:
    """Replace the credential, whole and durably. Raises OSError."""
    replace_file(str(directory / CREDENTIAL_FILE), f"{secret}\n".encode("ascii"), durable=True)


def erase_credential(directory: Path) -> None:
    """Delete it."""
    (directory / CREDENTIAL_FILE).unlink(missing_ok=True)
