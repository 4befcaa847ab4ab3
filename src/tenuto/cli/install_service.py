"""`tenuto install-service`: systemd starts the server, or the supervisor of a node, at boot and after a crash."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tenuto.cli.home import Home
from tenuto.cli.printing import say, write_data
from tenuto.cli.service_units import MARK, Service, environment_of, unit_of
from tenuto.errors import Conflict, InputInvalid, NotFound, Told

EXAMPLES = (
    "Examples: tenuto install-service --print · tenuto install-service --enable · "
    "tenuto install-service --node http://gpu-box:8080 --token-file ~/node-token"
)
SERVER, NODE = "tenuto", "tenuto-node"
_READABLE = 0o644

SystemOption = Annotated[
    bool,
    typer.Option("--system/--user", help="For the whole machine, which needs root; else for yourself."),
]
DirectoryOption = Annotated[
    Path | None, typer.Option("--directory", metavar="DIR", help="Where units lie; else where systemd looks.")
]


class NotEnabled(Told):
    """systemctl did not do what it was asked for."""

    code = "not_enabled"


@dataclass(frozen=True, slots=True)
class Places:
    """Where a unit and its variables lie."""

    unit: Path
    environment: Path
    system: bool

    @classmethod
    def of(cls, name: str, system: bool, directory: Path | None) -> Places:
        """Where systemd looks, unless a directory is named."""
        own = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
        usual = Path("/etc/systemd/system") if system else own / "systemd" / "user"
        config = directory or (Path("/etc/tenuto") if system else own / "tenuto")
        place = (directory or usual).absolute()
        return cls(place / f"{name}.service", config.absolute() / f"{name}.env", system)

    def systemctl(self, *words: str) -> list[str]:
        """A command line for systemd."""
        return ["systemctl", *([] if self.system else ["--user"]), *words]


def install_service(
    system: SystemOption = False,
    node: Annotated[
        str | None, typer.Option("--node", metavar="URL", help="Join this server as a node instead.")
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option("--token-file", help="With --node: a file with the node token.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="With --node: the node's name; else this machine's.")
    ] = None,
    config: Annotated[Path | None, typer.Option("--config", help="A YAML file with settings.")] = None,
    run_as: Annotated[
        str | None, typer.Option("--run-as", metavar="USER", help="With --system: whose processes they are.")
    ] = None,
    directory: DirectoryOption = None,
    print_only: Annotated[
        bool, typer.Option("--print", help="Print what would be written, and write nothing.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace files that are there.")] = False,
    enable: Annotated[
        bool, typer.Option("--enable", help="Let systemd start it now and at every boot.")
    ] = False,
) -> None:
    """Write a systemd unit that runs the server, or with --node the supervisor of this machine.

    What it runs is `tenuto up`, with what was said last time. Its stop leaves training alone; `tenuto down` ends all.
    """
    called = NODE if node else SERVER
    places = Places.of(called, system, directory)
    user = _user(run_as) if system else ""
    command = _node_command(node, token_file, name) if node else _server_command(config)
    service = Service(
        name=called,
        description="tenuto node" if node else "tenuto server",
        command=[sys.executable, "-P", "-m", "tenuto", *command],
        environment=places.environment,
        run_as=user,
        no_use=(2, 5, 6) if node else (2,),
    )
    home = _home(user)
    files = {
        places.unit: unit_of(service),
        places.environment: environment_of({"TENUTO_HOME": str(home)}),
    }
    if print_only:
        for path, text in files.items():
            write_data(f"# {path}\n{text}\n")
        return
    _write(files, force)
    if enable:
        _run(places.systemctl("daemon-reload"))
        _run(places.systemctl("enable", "--now", f"{called}.service"))
    _tell_next(places, called, enabled=enable)


def uninstall_service(
    system: SystemOption = False,
    node: Annotated[bool, typer.Option("--node", help="The unit of a node instead of the server's.")] = False,
    directory: DirectoryOption = None,
) -> None:
    """Take a unit away that install-service wrote; training is left alone, and so is the home."""
    called = NODE if node else SERVER
    places = Places.of(called, system, directory)
    if not places.unit.exists():
        raise NotFound(f"there is no {places.unit}", remedy="Perhaps it is one of --system, or of --user")
    if not _is_ours(places.unit):
        raise Conflict(f"{places.unit} was not written by tenuto", remedy="Take it away by hand")
    if directory is None and shutil.which("systemctl"):
        try:
            _run(places.systemctl("disable", "--now", f"{called}.service"))
        except NotEnabled as error:
            say(f"It could not be stopped: {error.problem}")
    for path in (places.unit, places.environment):
        if path.exists() and _is_ours(path):
            path.unlink()
            say(f"{path} is gone.")
    say(f"Now: {' '.join(places.systemctl('daemon-reload'))}")


def _server_command(config: Path | None) -> list[str]:
    if config is None:
        return ["up"]
    if not config.is_file():
        raise InputInvalid(f"there is no file {config}", remedy="Name the file of settings", field="config")
    return ["up", "--config", str(config.absolute())]


def _node_command(url: str | None, token_file: Path | None, name: str | None) -> list[str]:
    from tenuto.client.whereabouts import checked_url

    if token_file is None or not token_file.is_file():
        raise InputInvalid(
            "the node token is needed in a file" if token_file is None else f"there is no file {token_file}",
            remedy="Copy node-token from the server's home, and name the copy with --token-file",
            field="token_file",
        )
    called = [] if name is None else ["--name", name]
    return ["node", "join", checked_url(url or ""), "--token-file", str(token_file.absolute()), *called]


def _user(run_as: str | None) -> str:
    """Whose processes a unit of the system has; jobs are not run as root unless that is said."""
    named = run_as or os.environ.get("SUDO_USER", "")
    try:
        return pwd.getpwnam(named).pw_name
    except (KeyError, ValueError):
        raise InputInvalid(
            f"there is no user {named!r}" if named else "it is not said whose processes they shall be",
            remedy="Name a user of this machine with --run-as",
            field="run_as",
        ) from None


def _home(user: str) -> Path:
    """The home of the platform: the one that is named now, else that of whoever runs it."""
    if user and not os.environ.get("TENUTO_HOME"):
        return Path(pwd.getpwnam(user).pw_dir, ".local", "share", "tenuto")
    return Home.named_by(os.environ).path


def _write(files: dict[Path, str], force: bool) -> None:
    """All files or none; what is there already stays, unless it is the same or may be replaced."""
    for path, text in files.items():
        if path.exists() and path.read_text(encoding="utf-8") != text and not force:
            raise Conflict(
                f"{path} is there already", code="file_exists", remedy="Look at it, or give --force"
            )
    try:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            path.chmod(_READABLE)
            say(f"Wrote {path}")
    except OSError as error:
        raise InputInvalid(
            f"the unit cannot be written ({error.strerror})",
            remedy="A unit of the system needs root: sudo. Or write one of your own with --user",
        ) from None


def _is_ours(path: Path) -> bool:
    return path.read_text(encoding="utf-8").startswith(MARK)


def _run(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  our own words
    except FileNotFoundError:
        raise NotEnabled(
            "there is no systemctl on this machine", remedy="Start tenuto up in another way"
        ) from None
    if done.returncode:
        raise NotEnabled(
            f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()}",
            remedy="The files are written; try it by hand",
        )


def _tell_next(places: Places, name: str, *, enabled: bool) -> None:
    unit = f"{name}.service"
    if not enabled:
        say(f"Next: {' '.join(places.systemctl('daemon-reload'))}")
        say(f"      {' '.join(places.systemctl('enable', '--now', unit))}")
    if not places.system:
        say("      loginctl enable-linger      so that it starts at boot and stays when you log out")
    journal = "journalctl" if places.system else "journalctl --user"
    say(f"      {journal} -u {unit} -f      what it says; the server's own log: tenuto server log")
