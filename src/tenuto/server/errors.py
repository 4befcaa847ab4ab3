"""Every error leaves the server in one shape: `{code, message, remedy, field}`."""

from __future__ import annotations

import logging
import secrets
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketDisconnect

from tenuto.errors import Busy, TenutoError, Told
from tenuto.server.refusal_log import RefusalLog
from tenuto.wire.json_limits import MAX_DEPTH
from tenuto.wire.problems import MAX_PROBLEMS, Problem, invalid, problems_in
from tenuto.wire.replies import ErrorOut

log = logging.getLogger(__name__)
clients_log = logging.getLogger("tenuto.clients")
WEBSOCKET_REFUSED = 4401
"""The close code of a websocket that is not allowed; below 5000 applications choose their own."""
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_METHODS_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})

CODES = {
    "broken_json": (400, "The body is no JSON."),
    "broken_request": (400, "The request is not HTTP/1.1."),
    "host_not_known": (400, "The server listens on this machine only and was called by another name."),
    "not_allowed": (
        401,
        "There is no token, or it is not known here, or it is not for this part of the API.",
    ),
    "not_your_worker": (403, "A node spoke for a worker that was never ordered there."),
    "approval_pending": (403, "The node has joined and waits for an operator's approval."),
    "not_found": (404, "No job, node or page is called that."),
    "no_sample": (404, "Nothing was sampled of the node lately."),
    "wrong_method": (405, "The page exists; it takes other methods (header `Allow`)."),
    "too_slow": (
        408,
        "The headers or the body came too slowly (`serving.header_seconds`, `serving.body_rate`).",
    ),
    "conflict": (409, "It cannot be done as things stand."),
    "ambiguous": (409, "The beginning of an id fits several jobs."),
    "ended": (409, "The job has ended; `resubmit` makes a new one of it."),
    "running": (409, "The job holds slots; cancel or pause it first."),
    "not_paused": (409, "Only a paused job can be resumed."),
    "being_cancelled": (409, "The job is being cancelled."),
    "gap": (409, "Records before these are missing; the message tells which is wanted."),
    "unreadable": (
        409,
        "The record of the job or node is damaged, or of another version; it can be removed.",
    ),
    "key_reused": (409, "The same idempotency key came with another request."),
    "out_of_range": (409, "The job cannot have so many workers."),
    "not_enough_slots": (409, "There are not so many slots there."),
    "would_break_promises": (409, "Promises would be broken; `force` does it all the same."),
    "not_promisable": (409, "The new deadline cannot be promised; the message tells what can."),
    "own_token": (409, "It is the token of this request; `force` revokes it all the same."),
    "too_many_tokens": (409, "There are so many tokens that none is added."),
    "node_in_use": (409, "The node still has workers; drain it first."),
    "node_offline": (409, "The node is not heard of."),
    "too_large": (413, "The body is larger than the server takes."),
    "input_invalid": (422, "A field must be changed; `field` names it."),
    "headers_too_large": (431, "The headers are larger than the server takes (`serving.header_bytes`)."),
    "internal": (500, "Our mistake; the message holds a number that stands in the server's log."),
    "busy": (503, "Too many questions are being worked out; ask again in `Retry-After` seconds."),
    "too_many_connections": (503, "Too many connections are open; close some, or send a token on each."),
    "not_well": (503, "The server answers, but nobody decides."),
    "not_ready": (503, "The platform takes no work now: it starts, is drained, or its store is away."),
    "store_unavailable": (503, "The store takes no writes now; nothing was changed. Try again."),
}
"""Every code that the API uses, with its status and meaning. The documentation is compared with this table."""

_SHAPE = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorOut"}}}
RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {
        "description": ", ".join(code for code, (of, _) in CODES.items() if of == status),
        "content": _SHAPE,
    }
    for status in sorted({status for status, _ in CODES.values()})
}
"""What every operation may answer besides its result."""


def error_response(error: TenutoError) -> JSONResponse:
    """Tell an error to a client."""
    message = getattr(error, "problem", None) or str(error)
    body = ErrorOut(
        code=error.code,
        message=_sendable(message),
        remedy=_sendable(error.remedy),
        field=None if error.field is None else _sendable(error.field),
    )
    headers = {"WWW-Authenticate": "Bearer"} if error.http_status == 401 else None
    if isinstance(error, Busy):
        headers = {"Retry-After": str(error.retry_after)}
    return JSONResponse(body.model_dump(), status_code=error.http_status, headers=headers)


async def refuse(error: TenutoError, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request with an error; a websocket is closed before it is opened, which clients see as status 403."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": WEBSOCKET_REFUSED})
    else:
        await error_response(error)(scope, receive, send)


class Refused(Told):
    """A request that does not get as far as a resource."""

    def __init__(self, problem: str, *, code: str, remedy: str, field: str | None = None) -> None:
        super().__init__(problem, code=code, remedy=remedy, field=field)
        self.http_status = CODES[code][0]


def install(app: FastAPI) -> None:
    """Let the app answer every error in our shape."""
    app.add_exception_handler(TenutoError, _told)
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(HTTPException, _no_such_route)
    app.add_exception_handler(UnicodeEncodeError, _half_a_character)
    describe = app.openapi

    def described() -> dict[str, Any]:
        """Add the one shape of errors, to which every operation points; a model for each would slow every start."""
        schema = describe()
        schema["components"]["schemas"].setdefault("ErrorOut", ErrorOut.model_json_schema())
        return schema

    app.openapi = described  # type: ignore[method-assign]


async def _told(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, TenutoError)
    return error_response(error)


async def _not_valid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return error_response(_broken_json(first.get("ctx", {}).get("error", "")))
    if isinstance(first.get("input"), bytes) and first["loc"] == ("body",):
        return error_response(
            Refused(
                "the body is not declared as JSON",
                code="input_invalid",
                remedy="Send it with the header Content-Type: application/json",
            )
        )
    return error_response(invalid(_problems(request, error)))


async def _half_a_character(request: Request, error: Exception) -> JSONResponse:
    """Refuse a body with a lone surrogate, which JSON can hold and UTF-8 cannot.

    Fields that take any text refuse it by name. In a field that takes a few words only, pydantic raises this error
    instead of reporting it.
    """
    if request.method not in _METHODS_WITH_BODY:
        raise error
    return error_response(
        Refused(
            "half a character stands in the body (a lone surrogate)",
            code="input_invalid",
            remedy="Send UTF-8, and write characters beyond U+FFFF as whole pairs of escapes",
        )
    )


def _problems(request: Request, error: RequestValidationError) -> list[Problem]:
    """The problems, without saying whether a field stands in the body, the query or the path."""
    errors = [{**one, "loc": one["loc"][1:]} for one in error.errors()[:MAX_PROBLEMS]]
    return problems_in(errors, _model_of(request))


def _model_of(request: Request) -> type[BaseModel]:
    """What the route expects: the model of its body or its query, for suggestions."""
    dependant = getattr(request.scope.get("route"), "dependant", None)
    for parameter in (*getattr(dependant, "body_params", ()), *getattr(dependant, "query_params", ())):
        annotation = parameter.field_info.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            return annotation
    return BaseModel


def _broken_json(detail: object) -> Refused:
    told = f" ({detail})" if detail else ""
    return Refused(f"the body is no JSON{told}", code="broken_json", remedy="Send one JSON value in UTF-8")


async def _no_such_route(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    response = error_response(_as_told(request, error))
    if error.status_code == 405:
        response.headers["Allow"] = _allowed(request)
    return response


def _allowed(request: Request) -> str:
    """The methods of all routes of a path; the framework knows only those of the first."""
    methods = [method for method in _METHODS if _matches(request, method)]
    return ", ".join(methods) or "another method"


def _matches(request: Request, method: str) -> bool:
    scope = {**request.scope, "method": method}
    return any(route.matches(scope)[0] is Match.FULL for route in request.app.routes)


def _as_told(request: Request, error: HTTPException) -> Refused:
    if error.status_code == 404:
        remedy = "The pages are listed in /api/v1/openapi.json"
        return Refused(f"there is no page {request.url.path[:200]}", code="not_found", remedy=remedy)
    if error.status_code == 405:
        remedy = f"Use {_allowed(request)}"
        return Refused(f"{request.method} is not possible here", code="wrong_method", remedy=remedy)
    if error.status_code == 413:
        return body_too_large(str(error.detail))
    cause = error.__cause__
    if isinstance(cause, RecursionError | ValueError) and not isinstance(cause, UnicodeError):
        return Refused(
            "the body is JSON that cannot be read: it is nested too deeply, or a number has too many digits",
            code="input_invalid",
            remedy=f"Nest at most {MAX_DEPTH} levels, and write large integers as text",
        )
    return _broken_json("")


def body_too_large(limit: str) -> Refused:
    """A body beyond the limit."""
    return Refused(
        f"the body has more than {limit} bytes",
        code="too_large",
        remedy="Send less; put large data into files that the job reads",
    )


class Incidents:
    """The outermost handler of errors.

    An exception that was not foreseen is logged under a number, which the client gets. A client that goes away before
    its request is complete is no error of the server: it ends the handling of that request, and costs one line per
    address and minute, whichever route reads the body.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.aborted = RefusalLog(
            clients_log, event="%s went away before it was answered: %s", level=logging.INFO
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle the errors of one request or websocket."""
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        what = f"{scope.get('method', 'websocket')[:16]} {scope['path'][:100]}"
        try:
            await self.app(scope, _whole_body(scope, receive), watched)
        except (ClientDisconnect, WebSocketDisconnect):
            client = scope.get("client")
            self.aborted.note(str(client[0]) if client else "an unknown address", what)
        except Exception:
            if scope["type"] == "websocket":
                raise  # the HTTP server logs it and closes the websocket
            incident = secrets.token_hex(4)
            log.exception("incident %s: %s", incident, what)
            if begun:
                raise
            remedy = f"Look for incident {incident} in the server's log and report it"
            error = Refused(f"something went wrong here: incident {incident}", code="internal", remedy=remedy)
            await error_response(error)(scope, receive, send)


def _whole_body(scope: Scope, receive: Receive) -> Receive:
    """The messages of a request; raises ClientDisconnect if the client goes away in the middle of the body.

    Without it an application that does not look at the kind of a message takes half of a body for the whole.
    """
    headers = Headers(scope=scope)
    if headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers:
        return receive
    more = True

    async def receive_whole() -> Message:
        nonlocal more
        message = await receive()
        if message["type"] == "http.request":
            more = message.get("more_body", False)
        elif more and message["type"] == "http.disconnect":
            raise ClientDisconnect
        return message

    return receive_whole


def _sendable(text: str) -> str:
    """Text that can be written as UTF-8, whatever a client had sent."""
    return text.encode("utf-8", "replace").decode("utf-8")
