"""What a supervisor must be told when it is started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisorOptions:
    """One node's supervisor."""

    directory: Path
    """Where it keeps its records and the logs that are not uploaded yet; one supervisor for each directory."""
    node: str
    """The same name is the same node, whatever the address."""
    token_file: Path | None = None
    """The token for joining, read again at every attempt to join; not needed if the directory has a credential."""
    server: str = ""
    """The server's URL, if there is no `server_file`."""
    server_file: Path | None = None
    """JSON with the server's `url`, read again like the token: a server may come back elsewhere."""
    slots: int | None = None
    """So many CPU shares; None for the machine's GPUs, or one share for each core if it has none."""
    address: str = ""
    """Where workers on other nodes reach this one; found out if empty."""
    labels: Mapping[str, str] = field(default_factory=dict)
    warm: tuple[str, ...] = ("torch", "safetensors.torch")
    """What warm servers import for workers that rescale in place; without any there are no warm servers."""
