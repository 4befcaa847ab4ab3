"""Where lines are posted, and with what words: InfluxDB 1.x has databases and passwords, 2.x buckets and tokens."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlencode, urlsplit, urlunsplit

from tenuto.monitor.influx.answers import Answer, Verdict
from tenuto.settings import Influx

_LET_IN = ("401", "403")
_NOT_THERE = "404"
_PRECISION = "precision=ms"


class SecretUnusable(Exception):
    """The file with the password or the token cannot be used; says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """One place that takes lines."""

    write: str
    """Where lines are posted, without any secret."""
    shown: str
    """How people are told of it."""
    create: str
    """How to make what is not there."""
    admit: str
    """How to be let in."""
    user: str = ""
    password: str = field(default="", repr=False)
    """Only if it stood in the URL."""
    secret_file: str = ""
    by_token: bool = False

    def headers(self) -> dict[str, str]:
        """With the secret, which is read every time, so that it can be changed while a server runs."""
        secret = _read(self.secret_file) if self.secret_file else self.password
        if self.by_token:
            return {"Authorization": f"Token {secret}"} if secret else {}
        if not self.user:
            return {}
        return {"Authorization": "Basic " + b64encode(f"{self.user}:{secret}".encode()).decode()}

    def remedy(self, verdict: Verdict) -> str:
        """What to do about an answer; empty if waiting is all."""
        if verdict.why.startswith(_LET_IN):
            return self.admit
        if verdict.why.startswith(_NOT_THERE):
            return self.create
        return "look at influx.url and influx.secret_file" if verdict.answer is Answer.CLOSED else ""


def address_of(influx: Influx) -> Address:
    """The place that settings name."""
    parts = urlsplit(influx.url)
    host = parts.netloc.rpartition("@")[2]
    bare = urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
    if influx.bucket:
        wanted = {"org": influx.org, "bucket": influx.bucket}
        return Address(
            write=f"{bare}/api/v2/write?{_query(wanted)}",
            shown=f"the bucket {influx.bucket!r} at {bare}",
            create=f"create it (influx bucket create --name {influx.bucket} --retention 30d) or name another one in "
            "influx.bucket; InfluxDB 1.x has no buckets: leave it out there",
            admit="put a token that may write to it into the file that influx.secret_file names",
            secret_file=influx.secret_file,
            by_token=True,
        )
    return Address(
        write=f"{bare}/write?{_query({'db': influx.database})}",
        shown=f"the database {influx.database!r} at {bare}",
        create=f"create it (influx -execute 'CREATE DATABASE \"{influx.database}\" WITH DURATION 30d') or name another "
        "one in influx.database; InfluxDB 2.x has buckets: name one in influx.bucket",
        admit="name a user who may write in influx.user, and the file with the password in influx.secret_file",
        user=influx.user or unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        secret_file=influx.secret_file,
    )


def _query(wanted: dict[str, str]) -> str:
    return f"{urlencode({name: value for name, value in wanted.items() if value})}&{_PRECISION}"


def _read(path: str) -> str:
    try:
        secret = Path(path).expanduser().read_text(encoding="utf-8").strip()
    except OSError as error:
        raise SecretUnusable(f"{path} cannot be read ({error.strerror})") from None
    except ValueError:
        raise SecretUnusable(f"{path} is no text") from None
    if not secret or not secret.isprintable():
        raise SecretUnusable(f"{path} has no secret in one line")
    return secret
