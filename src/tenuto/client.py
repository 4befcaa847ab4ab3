"""The REST API as plain calls: one method per endpoint, our own errors, and no request that counts twice.

What is read comes as the JSON that the server sent (`wire.api` says what is in it), so that an older client shows
what a newer server tells. A request that never reached the server is repeated for as long as `patience` says; one
whose answer was lost only if a repetition does no harm.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

import tenuto
from tenuto.errors import (
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

Json = dict[str, Any]
PREFIX = "/api/v1"
LONG_POLL = 20.0
"""Seconds that the server may keep a question open until there is something to say."""
_TIMEOUT = httpx.Timeout(30.0, connect=5.0)
_FORESIGHT = httpx.Timeout(600.0, connect=5.0)
"""For wishes that the server looks ahead for: the first time on a machine it compiles what it needs for that."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0
_NO_WRITES = "store_unavailable"
"""The code of `store.base.StoreUnavailable`."""
_BY_STATUS: dict[int, type[Told]] = {401: NotAllowed, 403: NotAllowed, 404: NotFound, 409: Conflict}


class Client:
    """A server's API. Safe to use from one thread at a time."""

    def __init__(
        self,
        url: str,
        token: str,
        transport: httpx.BaseTransport | None = None,
        *,
        patience: float = 2.0,
        find_again: Callable[[], tuple[str, str]] | None = None,
    ) -> None:
        self.patience = patience
        """Seconds for which a server that does not answer is tried again."""
        self._transport = transport
        self._find_again = find_again
        self._open(url, token)

    def _open(self, url: str, token: str) -> None:
        self.address = (url, token)
        local = urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")
        self._http = httpx.Client(
            base_url=url.rstrip("/"),
            headers={
                "Authorization": f"Bearer {token}",
                "User-Agent": f"tenuto/{tenuto.__version__}",
            },
            timeout=_TIMEOUT,
            transport=self._transport,
            trust_env=not local,  # a proxy is no way to this machine
            verify=urlsplit(url).scheme == "https",  # certificates take longer to load than an answer
        )

    def close(self) -> None:
        """Let go of the connection."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # jobs

    def submit(self, job: Mapping[str, Any], *, key: str = "") -> Json:
        """Hand in a job; the same key never makes two jobs."""
        return self._make("/jobs", job, key)

    def jobs(self, **query: Any) -> Json:
        """One page of jobs, newest first: `{items, next}`."""
        return self._get("/jobs", query)

    def job(self, ref: str, *, wait: str | None = None, timeout: float = LONG_POLL) -> Json:
        """One job, at once or when `wait` (`verdict`, `end`) has come or the time is up."""
        query = {} if wait is None else {"wait": wait, "timeout": timeout}
        return self._get(f"/jobs/{_part(ref)}", query, timeout=timeout + 10)

    def change(self, ref: str, wishes: Mapping[str, Any]) -> Json:
        """Change deadline, priority, after, name or labels."""
        return self._ask("PATCH", f"/jobs/{_part(ref)}", body=wishes, again=True, timeout=_FORESIGHT)

    def scale(self, ref: str, wish: Mapping[str, Any]) -> Json:
        """Pin a job's size, or release it; a difference is not asked for twice."""
        again = "delta" not in wish
        return self._ask("POST", f"/jobs/{_part(ref)}/scale", body=wish, again=again, timeout=_FORESIGHT)

    def act(self, ref: str, verb: str) -> Json:
        """`pause`, `resume` or `cancel` a job."""
        return self._ask("POST", f"/jobs/{_part(ref)}/{verb}")

    def resubmit(self, ref: str, edit: Mapping[str, Any] | None = None, *, key: str = "") -> Json:
        """Hand in a job again, as it was or with some keys changed."""
        return self._make(f"/jobs/{_part(ref)}/resubmit", {} if edit is None else {"edit": edit}, key)

    def delete(self, ref: str, *, cascade: bool = False) -> Json:
        """Forget a job, and with `cascade` those that wait for it."""
        return self._ask("DELETE", f"/jobs/{_part(ref)}", query={"cascade": cascade})

    def logs(self, ref: str, **query: Any) -> Json:
        """A piece of what one worker printed."""
        return self._get(f"/jobs/{_part(ref)}/logs", query)

    def metrics(self, ref: str, **query: Any) -> Json:
        """One page of what a job's workers tell of their steps, by step."""
        return self._get(f"/jobs/{_part(ref)}/metrics", query)

    def add_metrics(self, ref: str, told: Mapping[str, Any]) -> Json:
        """Hand in records of a worker; what was handed in before is not stored again."""
        return self._ask("POST", f"/jobs/{_part(ref)}/metrics", body=told, again=True)

    def add_to_curve(self, ref: str, curve: Mapping[int, float], kind: str) -> Json:
        """Have speeds remembered that were measured with a job."""
        sizes = {str(size): rate for size, rate in curve.items()}
        return self._ask("POST", f"/jobs/{_part(ref)}/curve", body={"curve": sizes, "kind": kind})

    def attempts(self, ref: str, **query: Any) -> Json:
        """One page of the starts of a job's workers."""
        return self._get(f"/jobs/{_part(ref)}/attempts", query)

    def hosts(self, ref: str) -> Json:
        """The job's allocation as lines `host:slots`."""
        return self._get(f"/jobs/{_part(ref)}/hosts")

    # everything else

    def events(self, **query: Any) -> Json:
        """One page of events, oldest first."""
        return self._get("/events", query)

    def nodes(self) -> Json:
        """All nodes."""
        return self._get("/nodes")

    def drain(self, node: str) -> Json:
        """Let a node keep no worker and get none."""
        return self._ask("POST", f"/nodes/{_part(node)}/drain", again=True)

    def undrain(self, node: str) -> Json:
        """Let a node be used again."""
        return self._ask("POST", f"/nodes/{_part(node)}/undrain", again=True)

    def remove_node(self, node: str) -> Json:
        """Forget a node; its supervisor stops everything and ends."""
        return self._ask("DELETE", f"/nodes/{_part(node)}")

    def policy(self) -> Json:
        """The policy in force and its settings."""
        return self._get("/policy")

    def set_policy(self, wish: Mapping[str, Any]) -> Json:
        """Put another policy or other settings in force."""
        return self._ask("PUT", "/policy", body=wish, again=True, timeout=_FORESIGHT)

    def curves(self) -> Json:
        """The curves that runs have left behind."""
        return self._get("/curves")

    def cluster(self) -> Json:
        """How the whole is doing."""
        return self._get("/cluster")

    def down(self) -> Json:
        """Ask the platform to drain and stop."""
        return self._ask("POST", "/down", again=True)

    # how it is asked

    def _get(self, path: str, query: Mapping[str, Any] | None = None, timeout: float | None = None) -> Json:
        return self._ask("GET", path, query=query, timeout=timeout, again=True)

    def _make(self, path: str, body: Mapping[str, Any], key: str) -> Json:
        headers = {"Idempotency-Key": key or uuid.uuid4().hex}
        return self._ask("POST", path, body=body, headers=headers, again=True)

    def _ask(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        again: bool = False,
        **options: Any,
    ) -> Json:
        """Ask until there is an answer, the patience is over, or a repetition might do something twice."""
        given = {name: value for name, value in (query or {}).items() if value not in (None, "", [], ())}
        if options.get("timeout") is None:
            options.pop("timeout", None)
        until, pause = time.monotonic() + self.patience, _FIRST_PAUSE
        while True:
            try:
                answer = self._http.request(method, PREFIX + path, params=given, json=body, **options)
                return _opened(answer)
            except httpx.TransportError as lost:
                if not (again or isinstance(lost, httpx.ConnectError | httpx.ConnectTimeout)):
                    raise _lost(self.address[0]) from lost
                if time.monotonic() + pause > until:
                    raise _nobody(self.address[0]) from lost
            except TenutoError as refusal:
                if refusal.code != _NO_WRITES or time.monotonic() + pause > until:
                    raise
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
            self._look_again()

    def _look_again(self) -> None:
        """A server that was started anew may have another address."""
        if self._find_again is None:
            return
        try:
            found = self._find_again()
        except Unreachable:
            return
        if found != self.address:
            self.close()
            self._open(*found)


def _part(text: str) -> str:
    return quote(text, safe="")


def _opened(answer: httpx.Response) -> Json:
    """The value that was sent, or the error that was meant."""
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
    remedy, field, code = str(told.get("remedy") or ""), told.get("field"), str(told.get("code") or "")
    if code == _NO_WRITES:
        from tenuto.store.base import StoreUnavailable  # few clients ever need the store's values

        return StoreUnavailable(problem, code=code, remedy=remedy)
    if code == Declined.code:
        return Declined(problem, code=code, remedy=remedy, field=field)
    if status in (400, 413, 422):
        return InputInvalid(problem, remedy=remedy or "Change it and try again", field=field)
    if not code:
        return ServerFailed(problem, remedy="Is this the address of a tenuto server?")
    return _BY_STATUS.get(status, ServerFailed)(problem, code=code, remedy=remedy, field=field)


def _nobody(url: str) -> Unreachable:
    return Unreachable(f"no server answers at {url}", remedy="Start one with: tenuto up")


def _lost(url: str) -> Unreachable:
    return Unreachable(
        f"the connection to {url} was lost before the answer came",
        code="answer_lost",
        remedy="It may have been done: look with tenuto show before you try again",
    )
