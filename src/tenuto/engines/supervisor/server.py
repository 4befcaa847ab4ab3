"""The server as a supervisor sees it: the requests of `wire.node`, and what its answers mean."""

from __future__ import annotations

import json
import logging
import ssl
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote, urlsplit

from pydantic import ValidationError

import tenuto
from tenuto.engines.listening_clock import ListeningClock
from tenuto.engines.supervisor.http import httpx
from tenuto.engines.supervisor.options import SupervisorOptions
from tenuto.errors import Conflict, NotAllowed, NotFound, Told
from tenuto.wire.codec import decode, encode
from tenuto.wire.credential_file import read_credential, write_credential
from tenuto.wire.node import (
    HEADER,
    PREFIX,
    PROTOCOL,
    TIME,
    Acknowledged,
    Answer,
    Hello,
    Join,
    Joined,
    Orders,
    Renew,
    Report,
    Sampled,
    Stored,
    Welcome,
)
from tenuto.wire.sample import Gap
from tenuto.wire.worker import WorkerId

log = logging.getLogger(__name__)
T = TypeVar("T")
JOBS = "/api/v1/jobs"
"""Where records go: the public interface, which takes the token of nodes too."""
LONG_POLL = 20.0
"""Seconds that the server may keep the question for orders open."""
_PATIENCE = 10.0
_CONNECT = 5.0


class Away(Exception):
    """No answer, or one that says: later. It is asked again."""

    def __init__(self, message: str, status: int | None = None) -> None:
        self.status = status
        """Of the answer, if the server gave one: then it may be this request that it cannot cope with."""
        super().__init__(message)


class ApprovalPending(Away):
    """An operator has to approve this node before it is listened to."""


class SayHello(Exception):
    """The server does not know us (any more)."""


class Superseded(Exception):
    """A later supervisor of the same name is listened to instead of us."""


class Refused(Exception):
    """The server does not want what we say; saying it again is no use."""

    def __init__(self, why: Told, status: int) -> None:
        self.why = why
        self.status = status
        super().__init__(str(why))


class Probe(NamedTuple):
    """How the way to the server was found."""

    seconds: float
    ahead: float
    """Seconds by which the server's clock is ahead of this machine's, give or take half of the other ones."""


class Server:
    """Safe to use from several threads."""

    def __init__(self, options: SupervisorOptions) -> None:
        self.clock = ListeningClock()
        """Counts the time in which this supervisor could have heard the server; the supervisor beats it."""
        self._heard = self.clock.read()
        self.greetings = 0
        """How often a server was greeted, counted before it hears of it: it may be another one each time."""
        self._options = options
        self._url = ""
        self._here = False
        self._credential = ""
        self._renewing = threading.Lock()
        self._http = _client(options.server)

    @property
    def silence(self) -> float:
        """Seconds for which the server could have been heard and was not, since it last answered or since the start.

        Time in which this supervisor itself was halted or starved does not count.
        """
        return self.clock.read() - self._heard

    @property
    def longest_pause(self) -> float:
        """Seconds between two attempts to reach it; asking on this machine disturbs nobody."""
        return 1.0 if self._here else 5.0

    def hello(self, hello: Hello) -> Welcome:
        """Introduce this node, with the address and the credential as they are written now; join if there is none."""
        self._look_up()
        self.greetings += 1
        welcome = self._ask(Welcome, "POST", "/hello", content=encode(hello))
        if welcome.renew:
            self._renew(self._credential)
        return welcome

    def report(self, report: Report) -> Acknowledged:
        """Tell all workers."""
        credential = self._credential
        acknowledged = self._ask(Acknowledged, "POST", "/report", content=encode(report))
        if acknowledged.renew:
            self._renew(credential)
        return acknowledged

    def orders(self, hello: Hello, known: Orders, asked: int = 0) -> Orders:
        """The orders, when they are not the known ones, bring a new question, or nothing happens for long."""
        query = {
            "node": hello.node,
            "session": hello.session,
            "term": known.term,
            "known": known.version,
            "asked": asked,
            "wait": LONG_POLL,
        }
        patience = httpx.Timeout(LONG_POLL + _PATIENCE, connect=_CONNECT)
        return self._ask(Orders, "GET", "/orders", params=query, timeout=patience)

    def answer(self, answer: Answer) -> None:
        """Say how this node finds itself."""
        self._ask(Acknowledged, "POST", "/answers", content=encode(answer))

    def probe(self, send: int = 0, give: int = 0) -> Probe:
        """Send and get so many bytes, and look at the watch."""
        query, began, begun = {"give": give}, time.time(), time.perf_counter()
        answer = self._request("POST", f"{PREFIX}/probe", params=query, content=bytes(send))
        if not answer.is_success or TIME not in answer.headers:
            raise Away(f"{self._url} does not answer a probe")
        seconds = time.perf_counter() - begun
        return Probe(seconds, float(answer.headers[TIME]) - (began + seconds / 2))

    def put_log(self, hello: Hello, worker: WorkerId, offset: int, data: bytes) -> int:
        """Hand over a piece of a log; returns the offset that is wanted next."""
        query = {"node": hello.node, "session": hello.session, "offset": offset}
        path = f"/logs/{quote(str(worker), safe='')}"
        return self._ask(Stored, "PUT", path, params=query, content=data).next

    def post_records(
        self, worker: WorkerId, teller: str, first: int, lines: Sequence[bytes], *, skip: bool
    ) -> int:
        """Hand over records from `seq` `first` on; returns the `seq` that is wanted next. None is a question."""
        told = {"worker": str(worker), "teller": teller, "first": first, "skip": skip}
        body = json.dumps(told).encode().removesuffix(b"}") + b', "records": [' + b",".join(lines) + b"]}"
        path = f"{JOBS}/{quote(worker.job, safe='')}/metrics"
        headers = {"Content-Type": "application/json"}
        return self._ask(Stored, "POST", path, prefix="", content=body, headers=headers).next

    def samples(self, hello: Hello, lines: Sequence[bytes], gaps: Sequence[Gap]) -> Sampled:
        """Hand over samples, each as the sampler has written it."""
        told = {"node": hello.node, "session": hello.session, "sent_at": time.time(), "gaps": gaps}
        head = json.dumps(told, default=asdict).encode().removesuffix(b"}")
        body = head + b', "samples": [' + b",".join(lines) + b"]}"
        return self._ask(Sampled, "POST", "/samples", content=body)

    def _look_up(self) -> None:
        try:
            url = find_url(self._options).rstrip("/")
        except (OSError, ValueError) as error:
            raise Away(f"the server's address cannot be read: {error}") from None
        if url != self._url:
            self._url, self._http, self._here = url, _client(url), _is_here(url)
        self._credential = read_credential(self._options.directory)
        if not self._credential:
            self._join()

    def _join(self) -> None:
        """Get a credential with the token for joining, and keep it: the server shows it only once."""
        self._credential = self._join_token()
        try:
            joined = self._ask(Joined, "POST", "/join", content=encode(Join(node=self._options.node)))
            self._keep(joined)
        except BaseException:
            self._credential = ""  # the token for joining is for nothing else
            raise

    def _join_token(self) -> str:
        if self._options.token_file is None:
            raise Away("this node has no credential, and no token with which to join")
        try:
            token = self._options.token_file.read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise Away(f"the token for joining cannot be read: {error}") from None
        if not token.isascii() or not token.isprintable():
            raise Refused(NotAllowed(f"what is in {self._options.token_file} is no token"), 401)
        return token

    def _renew(self, used: str) -> None:
        """Replace the credential that was used. If that fails, it goes on working, and the server says it again."""
        with self._renewing:
            if used != self._credential:
                return  # another thread has done it
            try:
                self._keep(
                    self._ask(Joined, "POST", "/renew", content=encode(Renew(node=self._options.node)))
                )
            except (Away, Refused) as trouble:
                log.warning("the credential could not be renewed: %s", trouble)

    def _keep(self, joined: Joined) -> None:
        try:
            write_credential(self._options.directory, joined.credential)
        except OSError as error:
            raise Away(f"the node's credential cannot be written down: {error}") from None
        self._credential = joined.credential

    def _ask(self, answer: type[T], method: str, path: str, *, prefix: str = PREFIX, **request: Any) -> T:
        response = self._request(method, f"{prefix}{path}", **request)
        if not response.is_success:
            self._understand(response)
        try:
            told = decode(answer, response.content)
        except ValidationError:
            raise Away(f"{self._url} gave an answer that is none of the node protocol's") from None
        self._heard = self.clock.read()
        return told

    def _request(self, method: str, path: str, **request: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self._credential}", **request.pop("headers", {})}
        try:
            return self._http.request(method, f"{self._url}{path}", headers=headers, **request)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Away(f"{self._url}: {error or type(error).__name__}") from None

    def _understand(self, response: httpx.Response) -> None:
        """Raise what a refusal means."""
        status, problem = response.status_code, _problem(response)
        if problem["code"] in ("say_hello", "superseded"):
            self._heard = self.clock.read()
            raise SayHello if problem["code"] == "say_hello" else Superseded
        if problem["code"] == "approval_pending":
            raise ApprovalPending(problem["message"])
        if status in (401, 403):
            why = NotAllowed(problem["message"], code=problem["code"], remedy=problem["remedy"])
            raise Refused(why, status)
        if status == 426:
            raise Refused(Conflict(problem["message"], code="protocol", remedy=problem["remedy"]), status)
        if status == 404:
            remedy = "Check the address, and that server and node have the same version of tenuto"
            raise Refused(
                NotFound(f"{self._url} is no tenuto server: {problem['message']}", remedy=remedy), status
            )
        if 400 <= status < 500 and status not in (408, 425, 429):
            raise Refused(
                Conflict(problem["message"], code=problem["code"], remedy=problem["remedy"]), status
            )
        raise Away(f"{self._url} answered {status}: {problem['message']}", status)


def find_url(options: SupervisorOptions) -> str:
    """Where the server is now. Raises OSError or ValueError if that cannot be read."""
    if options.server_file is None:
        return options.server
    told = json.loads(options.server_file.read_bytes())
    url = told.get("url") if isinstance(told, dict) else None
    if not isinstance(url, str):
        raise ValueError(f"{options.server_file} names no url")  # noqa: TRY004 - the value of a file
    return url


def _client(url: str) -> httpx.Client:
    plain = urlsplit(url).scheme != "https"  # certificates take long to load, so only if they are needed
    return httpx.Client(
        headers={HEADER: PROTOCOL, "User-Agent": f"tenuto/{tenuto.__version__}"},
        timeout=httpx.Timeout(_PATIENCE, connect=_CONNECT),
        trust_env=not _is_here(url),  # no proxy leads to this machine
        verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else ssl.create_default_context(),
    )


def _is_here(url: str) -> bool:
    return urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")


def _problem(response: httpx.Response) -> dict[str, str]:
    """The error as the platform tells it, or as much as can be made of something else."""
    try:
        told = response.json()
    except ValueError:
        told = None
    told = told if isinstance(told, dict) else {}
    return {
        "code": str(told.get("code") or ""),
        "message": str(told.get("message") or f"HTTP {response.status_code} {response.reason_phrase}").rstrip(
            "."
        ),
        "remedy": str(told.get("remedy") or ""),
    }
