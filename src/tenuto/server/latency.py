"""How long requests take, by method and route. Every request passes here, so it does no more than it must."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tenuto.monitor.prometheus.counts import Counts

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
ELSEWHERE = "other"
"""The route of requests that lead nowhere, and the method of those that nobody knows."""


class Latency:
    """Counts each answer, and the time from a request to the beginning of its answer.

    A route is told by its template, such as `/api/v1/jobs/{ref}`: paths are without end.
    """

    def __init__(self, app: ASGIApp, counts: Counts, fixed: frozenset[str]) -> None:
        self.app = app
        self.counts = counts
        self.fixed = fixed
        """Paths that may be answered before a route is looked for, and are templates themselves."""
        self._seconds: dict[tuple[str, str], Callable[[float], None]] = {}
        self._answers: dict[tuple[str, str, int], Callable[[], None]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Look at the clock twice."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        begun = perf_counter()

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._note(scope, message["status"], perf_counter() - begun)
            await send(message)

        return await self.app(scope, receive, watched)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in METHODS else ELSEWHERE
        route = _template(scope) or (scope["path"] if scope["path"] in self.fixed else ELSEWHERE)
        if b"wait=" not in scope["query_string"]:  # who asks to wait gets what he asked for
            observe = self._seconds.get((method, route))
            if observe is None:
                observe = self.counts.request_duration.labels(method, route).observe
                self._seconds[method, route] = observe
            observe(seconds)
        count = self._answers.get((method, route, status))
        if count is None:
            count = self.counts.requests.labels(method, route, str(status)).inc
            self._answers[method, route, status] = count
        count()


def _template(scope: Scope) -> str | None:
    """The path of the route that was found. Newer FastAPIs tell the whole of it in a place of their own."""
    route = scope.get("fastapi", {}).get("effective_route_context") or scope.get("route")
    path: str | None = getattr(route, "path", None)
    return path
