"""One request and what becomes of it, without any input or output: sync and async clients differ in nothing else.

A *play* is a generator that yields steps (send this, wait so long, here is a value) and is sent what came of each;
who performs it (`client.sync`, `client.asynchronous`) needs no idea of what it is about. A request that never reached
the server is repeated for as long as `patience` says; one whose answer was lost only if a repetition does no harm.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx

import tenuto
from tenuto.errors import (
    Busy,
    Conflict,
    Declined,
    InputInvalid,
    NotAllowed,
    NotFound,
    ServerFailed,
    TenutoError,
    Told,
    Unreachable,
)

R = TypeVar("R")
Json = dict[str, Any]
PREFIX = "/api/v1"
TIMEOUT = httpx.Timeout(30.0, connect=5.0)
FORESIGHT = httpx.Timeout(600.0, connect=5.0)
"""For wishes that the server looks ahead for: the first time on a machine it compiles what it needs for that."""
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0
_TRY_AGAIN = ("store_unavailable", Busy.code)
"""The codes of answers that say: nothing was done, ask once more."""
_BY_STATUS: dict[int, type[Told]] = {401: NotAllowed, 403: NotAllowed, 404: NotFound, 409: Conflict}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One request."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    again: bool = False
    """Whether to ask twice does no harm."""
    timeout: httpx.Timeout | float | None = None

    def request(self) -> dict[str, Any]:
        """As httpx wants it."""
        given = {name: value for name, value in self.query.items() if value not in (None, "", [], ())}
        return {
            "method": self.method,
            "url": PREFIX + self.path,
            "params": given,
            "json": self.body,
            "headers": dict(self.headers),
            "timeout": TIMEOUT if self.timeout is None else self.timeout,
        }


@dataclass(frozen=True, slots=True)
class Send:
    """Send a request; the answer is the response."""

    ask: Ask


@dataclass(frozen=True, slots=True)
class Open:
    """Send a request whose answer does not end, in place of the one before; the answer is what to read from."""

    ask: Ask


@dataclass(frozen=True, slots=True)
class Read:
    """The next bytes of what was opened; none at its end."""

    source: Any


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait, and look whether the server is somewhere else by then."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Give:
    """Something for whoever asked."""

    value: Any


Step = Send | Open | Read | Pause | Give
Play = Generator[Step, Any, R]


class Line:
    """Where the server is and how patient we are with it: everything about a connection but its sockets."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        patience: float,
        find_again: Callable[[], tuple[str, str]] | None = None,
    ) -> None:
        self.address = (url, token)
        self.patience = patience
        """Seconds for which a server that does not answer is tried again."""
        self._find_again = find_again

    def options(self) -> dict[str, Any]:
        """As clients of httpx want it."""
        url, token = self.address
        if not (token.isascii() and token.isprintable()):
            raise NotAllowed(
                "the token holds characters that no token has",
                remedy="Copy it once more from the file token in the server's home",
            )
        local = urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")
        return {
            "base_url": url.rstrip("/"),
            "headers": {"Authorization": f"Bearer {token}", "User-Agent": f"tenuto/{tenuto.__version__}"},
            "timeout": TIMEOUT,
            "follow_redirects": False,  # the token would go along to another server
            "trust_env": not local,  # a proxy is no way to this machine
            "verify": urlsplit(url).scheme == "https",  # certificates take longer to load than an answer
        }

    def has_moved(self) -> bool:
        """Look where the server is now: one that was started anew may have another address."""
        before = self.address
        if self._find_again is not None:
            try:
                self.address = self._find_again()
            except Unreachable:
                return False
        return self.address != before


class Tries:
    """How long to go on after something went wrong."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self.begin_anew()

    def begin_anew(self) -> None:
        """It works again."""
        self._until = time.monotonic() + self._line.patience
        self._pause = FIRST_PAUSE

    def pause_after(self, trouble: Exception, *, again: bool) -> Pause:
        """What to wait before the next try. Raises if there shall be none."""
        over = time.monotonic() + self._pause > self._until
        if isinstance(trouble, httpx.TransportError):
            if not (again or isinstance(trouble, httpx.ConnectError | httpx.ConnectTimeout)):
                raise lost(self._line.address[0]) from trouble
            if over:
                raise nobody(self._line.address[0]) from trouble
        elif over or not (_passes(trouble) or (again and isinstance(trouble, Unreachable))):
            raise trouble
        pause, self._pause = self._pause, min(2 * self._pause, LONGEST_PAUSE)
        return Pause(pause)


def _passes(trouble: Exception) -> bool:
    """Whether the server has done nothing, and will soon."""
    return isinstance(trouble, TenutoError) and trouble.code in _TRY_AGAIN


def asked(line: Line, ask: Ask) -> Play[Any]:
    """Ask until there is an answer, the patience is over, or a repetition might do something twice."""
    tries = Tries(line)
    while True:
        try:
            return opened((yield Send(ask)))
        except (httpx.TransportError, TenutoError) as trouble:
            pause = tries.pause_after(trouble, again=ask.again)
        yield pause


def opened(answer: httpx.Response) -> Any:
    """The value that was sent, or the error that was meant."""
    if answer.has_redirect_location:
        raise ServerFailed(
            f"{answer.url} redirects to {answer.headers['Location']}; redirects are not followed, because the token "
            "belongs to the server that was named",
            remedy="If that is your server, name it by that address with --server or TENUTO_URL",
        )
    try:
        value = answer.json() if answer.content else {}
    except ValueError:
        value = None
    if answer.is_success and value is not None:
        return value
    raise error_of(answer.status_code, value if isinstance(value, dict) else {}, str(answer.url))


def error_of(status: int, told: Mapping[str, Any], url: str) -> TenutoError:
    """The error that a server's answer stands for."""
    problem = str(told.get("message") or f"{url} answered with HTTP status {status}").rstrip(".")
    remedy, field_, code = str(told.get("remedy") or ""), told.get("field"), str(told.get("code") or "")
    if code == "store_unavailable":
        from tenuto.store.base import StoreUnavailable  # few clients ever need the store's values

        return StoreUnavailable(problem, code=code, remedy=remedy)
    for kind in (Declined, Busy, Unreachable):  # a proxy says the last, before a server that is away
        if code == kind.code:
            return kind(problem, code=code, remedy=remedy, field=field_)
    if status in (400, 413, 422):
        return InputInvalid(problem, remedy=remedy or "Change it and try again", field=field_)
    if not code:
        return ServerFailed(problem, remedy="Is this the address of a tenuto server?")
    return _BY_STATUS.get(status, ServerFailed)(problem, code=code, remedy=remedy, field=field_)


def nobody(url: str) -> Unreachable:
    """Nothing answers."""
    return Unreachable(f"no server answers at {url}", remedy="Start one with: tenuto up")


def lost(url: str) -> Unreachable:
    """Something was asked, and nobody knows what became of it."""
    return Unreachable(
        f"the connection to {url} was lost before the answer came",
        code="answer_lost",
        remedy="It may have been done: look with tenuto show before you try again",
    )
