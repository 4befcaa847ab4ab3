"""Credentials for tests of the node protocol: every node can join, and each has a credential that tests know."""

from __future__ import annotations

from pathlib import Path

from tenuto.wire.credential_file import write_credential
from tenuto.wire.node import Admitted
from tenuto.wire.worker import WorkerId

_PREFIX = "credential-of-"


def credential_of(node: str) -> str:
    """The credential of this node."""
    return _PREFIX + node.encode().hex()


class OpenAuthority:
    """Lets every node join that has the token; remembers no workers of its own."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.strangers: set[WorkerId] = set()
        """Workers that were never ordered anywhere."""

    def remembered(self, secret: str) -> Admitted | None:
        return self.admitted(secret)

    def admitted(self, secret: str) -> Admitted | None:
        if not secret.startswith(_PREFIX):
            return None
        return Admitted(node=bytes.fromhex(secret.removeprefix(_PREFIX)).decode())

    def may_join(self, secret: str) -> bool:
        return secret == self.token

    def join(self, node: str) -> str:
        return credential_of(node)

    def renew(self, node: str, secret: str) -> str:
        return credential_of(node)

    def was_assigned(self, node: str, worker: WorkerId) -> bool:
        return worker not in self.strangers


def provide(node: str, directory: Path) -> None:
    """Put the node's credential into its supervisor's directory, as the platform does for nodes of its machine."""
    write_credential(directory, credential_of(node))
