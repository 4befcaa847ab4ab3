"""Reads `conf.json`, the settings of the task server that came before tenuto, and says what each becomes here. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from tenuto.cli.settings_layers import HIGHEST_PORT
from tenuto.errors import InputInvalid, Place
from tenuto.suggest import did_you_mean

SOCKETS = "socket_info"
NO_COUNTERPART = {
    "psw_file": "there are no passwords: the home's token lets users in",
    "slaver_file": "no list of nodes is kept by hand: each machine joins with tenuto node join",
    "train_log_path": "logs of jobs lie in the home, in logs/, and are read with tenuto logs",
    f"{SOCKETS}.monitor_port": "nodes, users and logs all come to one port, serving.port",
    f"{SOCKETS}.train_state_port": "nodes, users and logs all come to one port, serving.port",
    f"{SOCKETS}.buffer": "messages need no buffer of a fixed size; serving.max_body limits a request",
    f"{SOCKETS}.listen": "as many connections may wait as the system allows",
}
_STRING_OR_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*")|(?:#|//)[^\n]*')


@dataclass(slots=True)
class Imported:
    """What became of a conf.json."""

    given: dict[str, dict[str, Any]] = field(default_factory=dict)
    became: dict[str, str] = field(default_factory=dict)
    """The settings that hold an old one now, by its old name."""
    lost: dict[str, str] = field(default_factory=dict)
    """Why an old one has no counterpart."""
    warnings: list[str] = field(default_factory=list)
    """Keys that the task server did not know either."""

    def put(self, old: str, setting: str, value: Any) -> None:
        """Let a setting hold what the old one said."""
        group, _, name = setting.partition(".")
        self.given.setdefault(group, {})[name] = value
        self.became[old] = setting


def import_conf(text: str, file: str) -> Imported:
    """Everything in a conf.json; comments are left out, and the outermost braces may be missing."""
    old = _parsed(text, file)
    imported = Imported()
    root = PurePosixPath(_text(old, "root", file) or "/")
    flat = _flat(old, file)
    for name, value in flat.items():
        if name in NO_COUNTERPART:
            imported.lost[name] = NO_COUNTERPART[name]
        elif name in _TAKEN:
            _TAKEN[name](imported, value, root, file)
        else:
            known = [*NO_COUNTERPART, *_TAKEN]
            guess = did_you_mean(name, known).strip()
            imported.warnings.append(f"there is no key {name!r}{f'. {guess}' if guess else ''}")
    return imported


def _parsed(text: str, file: str) -> dict[str, Any]:
    plain = _STRING_OR_COMMENT.sub(lambda found: found[1] or "", text)
    try:
        bare = not plain.lstrip().startswith(("{", "["))
        value = json.loads("{" + plain.rstrip().rstrip(",") + "}" if bare else plain)
    except json.JSONDecodeError as error:
        raise InputInvalid(
            f"is no JSON: {error.msg}",
            remedy="Check quotation marks and commas; comments begin with #",
            place=Place(file, error.lineno),
        ) from None
    if not isinstance(value, dict):
        raise InputInvalid("holds no settings", remedy="Write names and values", place=Place(file))
    return value


def _flat(old: Mapping[str, Any], file: str) -> dict[str, Any]:
    """The keys with those of the sockets among them."""
    flat = {name: value for name, value in old.items() if name != SOCKETS}
    sockets = old.get(SOCKETS, {})
    if not isinstance(sockets, dict):
        raise _unusable(SOCKETS, sockets, "a mapping", file)
    return flat | {f"{SOCKETS}.{name}": value for name, value in sockets.items()}


def _text(old: Mapping[str, Any], name: str, file: str) -> str:
    value = old.get(name, "")
    if not isinstance(value, str):
        raise _unusable(name, value, "a text", file)
    return value


def _unusable(name: str, value: object, wanted: str, file: str) -> InputInvalid:
    return InputInvalid(
        f"{name} is {json.dumps(value, ensure_ascii=False)[:80]}, not {wanted}",
        remedy=f"Write {wanted}, or take the key out",
        place=Place(file),
        field=name,
    )


def _log(imported: Imported, value: Any, root: PurePosixPath, file: str) -> None:
    if not isinstance(value, str) or not value:
        raise _unusable("server_log_path", value, "a path", file)
    imported.put("server_log_path", "logs.server_file", str(root / value))


def _folders(imported: Imported, value: Any, root: PurePosixPath, file: str) -> None:
    if not isinstance(value, list) or not all(isinstance(one, str) and ":" not in one for one in value):
        raise _unusable("visible_folders", value, "a list of folders without colons", file)
    imported.put("visible_folders", "nodes.paths", ":".join(str(root / one) for one in value))


def _root(imported: Imported, value: Any, root: PurePosixPath, file: str) -> None:  # noqa: ARG001  as the others
    imported.lost["root"] = "paths begin with it now; TENUTO_HOME names tenuto's own directory"


def _port(imported: Imported, value: Any, root: PurePosixPath, file: str) -> None:  # noqa: ARG001  as the others
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= HIGHEST_PORT:
        raise _unusable(f"{SOCKETS}.data_port", value, "a port", file)
    imported.put(f"{SOCKETS}.data_port", "serving.port", value)


_TAKEN: dict[str, Callable[[Imported, Any, PurePosixPath, str], None]] = {
    "server_log_path": _log,
    "visible_folders": _folders,
    "root": _root,
    f"{SOCKETS}.data_port": _port,
}
