"""The server's own log: one line for each entry, in a file that is set aside when it is large, and without secrets."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Iterable
from datetime import datetime
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

from tenuto.cli.home import PRIVATE_FILE, Home
from tenuto.errors import InputInvalid, Place
from tenuto.settings import Logs
from tenuto.terminal_text import safe_json, safe_line

ABOUT = ("actor", "job", "node")
"""What an entry may name besides its message."""
_NOISY = ("uvicorn", "uvicorn.error", "httpx", "alembic")
_PASSWORD = re.compile(r"(://[^/\s:@]*):[^/\s@]*@")
_BEARER = re.compile(r"(?i)(bearer\s+)[\w.~+/=-]+")
_HIDDEN = "[secret]"


def log_file(logs: Logs, home: Home) -> Path:
    """Where the server writes its log."""
    return Path(logs.server_file).expanduser().absolute() if logs.server_file else home.server_log


def begin_log(logs: Logs, home: Home, secrets: Iterable[str] = ()) -> Path:
    """Log to the file from now on, and to standard error unless that is the same; returns the file."""
    path, form = log_file(logs, home), _form(logs, secrets)
    try:
        to_file = ServerLog(path, logs)
    except OSError as error:
        raise InputInvalid(
            f"the server's log cannot be written ({error.strerror})",
            remedy="Name another file in the setting logs.server_file",
            place=Place(str(path)),
        ) from None
    handlers: list[logging.Handler] = [to_file]
    if not to_file.is_standard_error:
        handlers.append(logging.StreamHandler(sys.stderr))
    for handler in handlers:
        handler.setFormatter(form)
    logging.basicConfig(level=logs.server_level.upper(), handlers=handlers, force=True)
    for name in _NOISY:
        logging.getLogger(name).setLevel(logging.WARNING)
    return path


class ServerLog(RotatingFileHandler):
    """A file that only its owner reads. A server in the background has it as its standard error, too."""

    def __init__(self, path: Path, logs: Logs) -> None:
        super().__init__(path, maxBytes=logs.server_bytes, backupCount=logs.server_files, encoding="utf-8")
        self.is_standard_error = _same_file(self._descriptor, 2)

    def _open(self) -> TextIOWrapper:
        def private(path: str, flags: int) -> int:
            return os.open(path, flags, PRIVATE_FILE)

        return TextIOWrapper(open(self.baseFilename, "ab", opener=private), encoding="utf-8")

    def shouldRollover(self, record: logging.LogRecord) -> bool:  # noqa: ARG002, N802
        """Whether the file is full. What an entry would add is not looked at: it would have to be written twice."""
        assert self.stream is not None
        return bool(self.maxBytes) and self.stream.tell() >= self.maxBytes

    def doRollover(self) -> None:  # noqa: N802  as the standard library calls it
        """Begin a new file; what the interpreter itself has to complain of follows it there."""
        super().doRollover()
        if self.is_standard_error:
            os.dup2(self._descriptor, 2)

    @property
    def _descriptor(self) -> int:
        assert self.stream is not None
        return self.stream.fileno()


def _same_file(one: int, other: int) -> bool:
    try:
        return os.path.samestat(os.fstat(one), os.fstat(other))
    except OSError:
        return False


def _form(logs: Logs, secrets: Iterable[str]) -> logging.Formatter:
    kept = tuple(secret for secret in secrets if secret)
    return AsJson(kept) if logs.server_format == "json" else AsText(kept)


class AsText(logging.Formatter):
    """`2026-11-16 13:30:49 INFO live: message actor=alice job=4f21`; what follows an entry is indented."""

    def __init__(self, secrets: tuple[str, ...] = ()) -> None:
        super().__init__()
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        """The entry as lines, of which the first is the entry and the others its traceback."""
        at = datetime.fromtimestamp(record.created)
        about = "".join(f" {name}={told}" for name, told in _about(record).items())
        told = self._clean(f"{_part(record)}: {record.getMessage()}{about}")
        line = f"{at.isoformat(' ', 'seconds')} {record.levelname} {told}"
        trace = "".join(f"\n    {self._clean(one)}" for one in _trace(self, record).splitlines())
        return line + trace

    def _clean(self, text: str) -> str:
        return safe_line(without_secrets(text, self._secrets))


class AsJson(logging.Formatter):
    """The same as one JSON object in one line."""

    def __init__(self, secrets: tuple[str, ...] = ()) -> None:
        super().__init__()
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        """The entry as JSON."""
        entry: dict[str, str] = {
            "at": datetime.fromtimestamp(record.created).astimezone().isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "part": _part(record),
            "message": record.getMessage(),
            **_about(record),
        }
        if trace := _trace(self, record):
            entry["trace"] = trace
        clean = {name: without_secrets(told, self._secrets) for name, told in entry.items()}
        return safe_json(json.dumps(clean, ensure_ascii=False))


def without_secrets(text: str, secrets: Iterable[str] = ()) -> str:
    """The text, but tokens and passwords are hidden, wherever they come from."""
    for secret in secrets:
        text = text.replace(secret, _HIDDEN)
    if "://" in text:  # most entries have neither, and to look for both takes longer than all the rest
        text = _PASSWORD.sub(rf"\1:{_HIDDEN}@", text)
    return _BEARER.sub(rf"\1{_HIDDEN}", text) if "bearer" in text.lower() else text


def _about(record: logging.LogRecord) -> dict[str, str]:
    named = {name: str(getattr(record, name, "") or "") for name in ABOUT}
    return {name: told for name, told in named.items() if told}


def _part(record: logging.LogRecord) -> str:
    return record.name.removeprefix("tenuto.")


def _trace(form: logging.Formatter, record: logging.LogRecord) -> str:
    return form.formatException(record.exc_info) if record.exc_info else ""
