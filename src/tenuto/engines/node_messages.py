"""Messages of the node protocol: reading bodies, and the one error shape of the platform."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import ValidationError

from tenuto.errors import InputInvalid, TenutoError
from tenuto.wire.codec import decode, encode
from tenuto.wire.sample import NodeSample
from tenuto.wire.worker import WorkerId

T = TypeVar("T")
LARGE_BODY_BYTES = 16 << 10
"""A larger message is read in a thread."""


class NodeRoute(APIRoute):
    """A route whose refusals have the platform's error shape, whatever app it is part of."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Answer errors of the platform and of validation with a response."""
        handle = super().get_route_handler()

        async def handle_errors(request: Request) -> Response:
            try:
                return await handle(request)
            except TenutoError as error:
                return _refusal(error)
            except RequestValidationError as error:
                return _refusal(_invalid(error.errors()[0]))

        return handle_errors


async def read_soon(kind: type[T], body: bytes) -> T:
    """Read a message; a large one in a thread, so that other nodes are answered meanwhile."""
    if len(body) > LARGE_BODY_BYTES:
        return await run_in_threadpool(read_message, kind, body)
    return read_message(kind, body)


def read_message(kind: type[T], body: bytes) -> T:
    """Read a message. Raises InputInvalid with its first problem."""
    try:
        return decode(kind, body)
    except ValidationError as error:
        raise _invalid(error.errors()[0]) from error


def worker_named(text: str) -> WorkerId:
    """The worker of a log; its parts become names of files, so none may lead elsewhere."""
    try:
        worker = WorkerId.parse(text)
    except ValueError:
        worker = None
    if worker is None or not all(_plain(part) for part in (worker.job, worker.role)):
        raise InputInvalid(
            f"{text!r} names no worker", remedy="Write JOB.GENERATION.ROLE.RANK", field="worker"
        )
    return worker


def _plain(name: str) -> bool:
    return bool(name) and not name.startswith(".") and not set(name) & {"/", "\0"}


def _invalid(first: Any) -> InputInvalid:
    field = ".".join(str(part) for part in first["loc"])
    return InputInvalid(
        f"{field or 'the body'}: {first['msg']}", remedy="See the node protocol", field=field or None
    )


def _refusal(error: TenutoError) -> Response:
    shape = {
        "code": error.code,
        "message": getattr(error, "problem", str(error)),
        "remedy": error.remedy,
        "field": error.field,
    }
    return JSONResponse(shape, status_code=error.http_status)


def json_response(value: object) -> Response:
    """A response with a message as JSON."""
    return Response(encode(value), media_type="application/json")


def whole_numbers(sample: NodeSample) -> Iterator[int]:
    """Those of a sample that are known; JSON has them of any length."""
    found = [sample.ram_used, sample.ram_total, sample.swap_used, sample.swap_total]
    for disk in sample.disks:
        found += (disk.used, disk.total)
    for gpu in sample.gpus:
        found += (gpu.index, gpu.memory_used, gpu.memory_total)
        found += (process.memory for process in gpu.processes or ())
    return (number for number in found if number is not None)
