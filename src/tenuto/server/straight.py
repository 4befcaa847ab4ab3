"""The straight way for submissions: a job that is right needs a check and a place in the next commit.

They come in thousands, and the framework's own way through routes and dependencies costs more than all that one needs.
Whatever is not plainly right takes the usual way from its beginning, so that there is one place that refuses.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tenuto.errors import TenutoError
from tenuto.server.errors import error_response
from tenuto.server.jobs import submitted
from tenuto.server.large_bodies import LARGE_BODY_BYTES
from tenuto.wire.api import JobIn


class StraightToTheStore:
    """Answers `POST` of a job; lets everything else pass. Stands behind the doors, which know who asks."""

    def __init__(self, app: ASGIApp, path: str) -> None:
        self.app = app
        self.path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Submit what is right."""
        if not self._is_submission(scope):
            return await self.app(scope, receive, send)
        messages = await _whole(receive)
        job = _job_in(messages)
        if job is None:
            return await self.app(scope, _repeating(messages, receive), send)
        key = Headers(scope=scope).get("idempotency-key")
        try:
            shown = await submitted(scope["app"].state.platform, scope["state"]["token"].user, job, key)
        except TenutoError as error:
            return await error_response(error)(scope, receive, send)
        answer = Response(shown.model_dump_json(), status_code=201, media_type="application/json")
        return await answer(scope, receive, send)

    def _is_submission(self, scope: Scope) -> bool:
        if scope["type"] != "http" or scope["path"] != self.path or scope["method"] != "POST":
            return False
        headers = Headers(scope=scope)
        # A body without a length may turn out to be too large, which the usual way knows how to tell.
        # A large one is validated in a thread there.
        length = headers.get("content-length", "")
        plain = headers.get("content-type") == "application/json" and length.isascii() and length.isdigit()
        return plain and int(length) <= LARGE_BODY_BYTES and len(headers.getlist("idempotency-key")) <= 1


async def _whole(receive: Receive) -> Sequence[Message]:
    """All messages of a body, or those until the client went away."""
    messages = [await receive()]
    while messages[-1]["type"] == "http.request" and messages[-1].get("more_body"):
        messages.append(await receive())
    return messages


def _job_in(messages: Sequence[Message]) -> JobIn | None:
    if messages[-1]["type"] != "http.request":
        return None
    try:
        return JobIn.model_validate(json.loads(b"".join(message.get("body", b"") for message in messages)))
    except (ValueError, RecursionError):
        return None


def _repeating(messages: Sequence[Message], receive: Receive) -> Receive:
    """What was read already, and then what follows."""
    again = iter(messages)

    async def next_message() -> Message:
        return next(again, None) or await receive()

    return next_message
