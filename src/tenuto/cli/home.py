"""The home of a platform on this machine: its files, its secrets, and the lock that lets one server run on it.

    store.sqlite   everything that is remembered        server.json   where the server listens, and its process
    logs/          what workers printed                 token         the secret of this machine's user
    records/       what workers told of their steps     checkpoints/  of jobs that name no directory for them
    nodes/NAME/    the state of a supervisor            node-token    the secret with which nodes join
    lock           held while a server runs             metrics.db    the history of numbers
    page-key       signs sessions of the page           lab/          what was replayed on the page
    peer-key       authenticates supervisors to each other, job by job

Everything in it is its owner's alone. Files appear whole or not at all.
"""

from __future__ import annotations

import fcntl
import json
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from tenuto.atomic_file import remove_leftovers, replace_file
from tenuto.client.whereabouts import SERVER_FILE, TOKEN_FILE, ServerFile, read_secret, read_server_file
from tenuto.errors import Conflict, InputInvalid, Place
from tenuto.sim.data_home import home as data_directory

PRIVATE_DIRECTORY = 0o700
PRIVATE_FILE = 0o600


@dataclass(frozen=True, slots=True)
class Home:
    """The directory and the names in it."""

    path: Path

    @classmethod
    def named_by(cls, environment: Mapping[str, str]) -> Home:
        """The home that this user means, whether it exists or not."""
        return cls(data_directory(environment).absolute())

    @property
    def store_url(self) -> str:
        """The store that is used if no other is named."""
        return f"sqlite:///{self.path / 'store.sqlite'}"

    @property
    def logs(self) -> Path:
        """What workers printed."""
        return self.path / "logs"

    @property
    def records(self) -> Path:
        """What workers told of their steps."""
        return self.path / "records"

    @property
    def checkpoints(self) -> Path:
        """What jobs need to go on, if they name no directory for it themselves; one below it for each."""
        return self.path / "checkpoints"

    @property
    def server_log(self) -> Path:
        """What a server tells of itself, and of what happens."""
        return self.path / "server.log"

    @property
    def nodes(self) -> Path:
        """Below it, a directory for each supervisor of this machine."""
        return self.path / "nodes"

    @property
    def token(self) -> Path:
        """The user's secret."""
        return self.path / TOKEN_FILE

    @property
    def node_token(self) -> Path:
        """The secret with which nodes join."""
        return self.path / "node-token"

    @property
    def peer_key(self) -> Path:
        """From which the secrets are derived with which supervisors of one job authenticate each other."""
        return self.path / "peer-key"

    @property
    def page_key(self) -> Path:
        """What sessions of the page are signed with."""
        return self.path / "page-key"

    @property
    def lab(self) -> Path:
        """What was run on the page's laboratory."""
        return self.path / "lab"

    @property
    def server(self) -> Path:
        """Where the server listens."""
        return self.path / SERVER_FILE

    def prepare(self) -> None:
        """Make it, for its owner only."""
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=PRIVATE_DIRECTORY)
            self.path.chmod(PRIVATE_DIRECTORY)
            for directory in (self.logs, self.records, self.checkpoints, self.nodes):
                directory.mkdir(exist_ok=True, mode=PRIVATE_DIRECTORY)
        except OSError as error:
            raise InputInvalid(
                f"the home directory cannot be used ({error.strerror})",
                remedy="Name a directory of your own in TENUTO_HOME",
                place=Place(str(self.path)),
            ) from None

    def server_file(self) -> ServerFile | None:
        """What the last server left about itself, if anything."""
        return read_server_file(self.server)

    def write_server_file(self, told: ServerFile) -> None:
        """Tell clients and supervisors of this machine where the server is."""
        write_private(self.server, json.dumps(asdict(told)) + "\n")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only server here; the lock goes with the process, however that ends."""
        with (self.path / "lock").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise self._taken() from None
            self.remove_leftovers()
            yield

    def remove_leftovers(self) -> int:
        """Delete temporary files of processes that were killed while they replaced a file; returns how many.

        Directories that may be large are left out: nothing is replaced there. Those of nodes are their supervisors'.
        """
        own = (self.logs, self.records, self.checkpoints, self.nodes)
        removed = remove_leftovers(str(self.path))
        for directory in self.path.iterdir() if self.path.is_dir() else ():
            if directory.is_dir() and not directory.is_symlink() and directory not in own:
                removed += remove_leftovers(str(directory), below=True)
        return removed

    def is_served(self) -> bool:
        """Whether some process holds the lock."""
        try:
            with (self.path / "lock").open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False

    def _taken(self) -> Conflict:
        told = self.server_file()
        who = f" (process {told.pid} at {told.url})" if told and told.pid else ""
        return Conflict(
            f"a server runs on {self.path} already{who}",
            code="home_in_use",
            remedy="Use it, end it with tenuto down, or name another home in TENUTO_HOME",
        )


def secret_in(path: Path) -> tuple[str, bool]:
    """The secret in a file, and whether it was made just now."""
    if known := read_secret(path):
        return known, False
    made = secrets.token_urlsafe(32)
    write_private(path, made + "\n")
    return made, True


def write_private(path: Path, text: str) -> None:
    """Replace a file that only its owner may read."""
    replace_file(str(path), text.encode(), mode=PRIVATE_FILE, durable=True)
