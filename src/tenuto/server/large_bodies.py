"""Parse and validate large request bodies in a thread, so that the event loop goes on answering other clients.

FastAPI parses and validates JSON bodies on the event loop. For a small body that is cheaper than a thread; a body of a
megabyte with Python validators takes long enough that heartbeats of nodes would wait for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from anyio import CapacityLimiter
from anyio.lowlevel import RunVar
from anyio.to_thread import run_sync
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from tenuto.wire.problems import MAX_PROBLEMS

LARGE_BODY_BYTES = 16 << 10
"""A larger body is validated in a thread."""
MAX_THREADS = 2
"""Bodies that are validated at the same time: it is work for the processor, and other requests need threads, too."""

_threads: RunVar[CapacityLimiter] = RunVar("threads for large bodies")


class BodyRoute(APIRoute):
    """A route with one JSON body. Routers whose routes take bodies use it as their `route_class`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler, given a request whose `json()` may be validated already."""
        handle = super().get_route_handler()
        if self.body_field is None:
            return handle
        validate = partial(self.body_field.validate, values={}, loc=("body",))

        async def handle_large(request: Request) -> Response:
            try:
                return await handle(_LargeBodyRequest(request, validate))
            except _BodyInvalid as invalid:
                raise RequestValidationError(invalid.problems) from None

        return handle_large


class _BodyInvalid(HTTPException):
    """Carries what validation found through FastAPI, which lets only this family of exceptions leave `json()`."""

    def __init__(self, problems: list[Any]) -> None:
        super().__init__(422)
        self.problems = problems


class _LargeBodyRequest(Request):
    """A request whose `json()` returns the validated model if the body is large.

    FastAPI validates what `json()` returns: pydantic takes a model as it is, without validating its fields again, and
    runs only the model's own `after` validators. These must be cheap.
    """

    def __init__(self, request: Request, validate: Callable[[Any], tuple[Any, list[Any]]]) -> None:
        super().__init__(request.scope, request.receive)
        self._validate = validate

    async def json(self) -> Any:
        """The body's value. Raises JSONDecodeError, or `_BodyInvalid` with the first problems."""
        body = await self.body()
        if len(body) <= LARGE_BODY_BYTES:
            return await super().json()
        value, problems = await run_sync(self._read, body, limiter=_limiter())
        if problems:
            raise _BodyInvalid(problems)
        return value

    def _read(self, body: bytes) -> tuple[Any, list[Any]]:
        value, problems = self._validate(json.loads(body))
        return value, problems[:MAX_PROBLEMS]


def _limiter() -> CapacityLimiter:
    try:
        return _threads.get()
    except LookupError:
        limiter = CapacityLimiter(MAX_THREADS)
        _threads.set(limiter)
        return limiter
