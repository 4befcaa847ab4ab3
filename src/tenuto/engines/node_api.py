"""The server's end of the protocol between supervisors and server (`wire.node`), over the local engine.

Every answer that is not a success has the one error shape of the platform, so that a supervisor can tell its
operator in a sentence what is the matter.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from time import time
from typing import Annotated, Any, Protocol, TypeVar

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import ValidationError

from tenuto.client_connection import mark_authenticated
from tenuto.engines.local import LocalEngine
from tenuto.engines.node_limits import LAST_MOMENT, RequestRate, bounded, check_hello, check_name
from tenuto.engines.node_uploads import BodyReader, SampleQueue
from tenuto.engines.questions import Questions
from tenuto.errors import InputInvalid, NotAllowed, TenutoError, Told
from tenuto.settings import Settings
from tenuto.wire.codec import decode, encode
from tenuto.wire.node import (
    HEADER,
    LOG_CHUNK,
    PREFIX,
    PROBE,
    PROTOCOL,
    SAMPLES,
    TIME,
    Acknowledged,
    Admitted,
    Answer,
    Hello,
    Join,
    Joined,
    Orders,
    Renew,
    Report,
    Sampled,
    Samples,
    Stored,
    Welcome,
)
from tenuto.wire.sample import NodeSample
from tenuto.wire.worker import WorkerId

log = logging.getLogger("tenuto.nodes")

T = TypeVar("T")
SMALL_BYTES = 4096
"""Bytes of a body that holds hardly more than a name."""
ANSWER_BYTES = 256 << 10
"""Bytes of the largest answer to a question."""
LARGE_BODY_BYTES = 16 << 10
"""A larger message is read in a thread."""
LARGEST = 1 << 63
"""Whole numbers of samples are smaller; larger ones could not be made floats by those who tell them on."""
LONGEST_WAIT = 60.0
"""Seconds after which a supervisor is answered in any case: what lies between might forget a silent connection."""


class LogSink(Protocol):
    """Where the output of workers goes."""

    def append(self, worker: WorkerId, offset: int, data: bytes) -> int:
        """Keep what is new of `data`, which begins at `offset`; returns the offset that is wanted next."""
        ...


class SampleSink(Protocol):
    """Where the samples of nodes go."""

    def take(self, told: Samples) -> Sampled:
        """Have what a node's sampler has seen."""
        ...


class NodeAuthority(Protocol):
    """Knows which credential speaks for which node, and which workers were ordered there."""

    def remembered(self, secret: str) -> Admitted | None:
        """The node of a credential that was checked a moment ago; does not wait."""
        ...

    def admitted(self, secret: str) -> Admitted | None:
        """The node of a credential; None if it is not one. Raises StoreUnavailable, NotAllowed."""
        ...

    def may_join(self, secret: str) -> bool:
        """Whether this is the token for joining. Raises StoreUnavailable."""
        ...

    def join(self, node: str) -> str:
        """Issue a credential for a new node. Raises Conflict, StoreUnavailable."""
        ...

    def renew(self, node: str, secret: str) -> str:
        """Issue another credential for the node that has this one. Raises StoreUnavailable."""
        ...

    def was_assigned(self, node: str, worker: WorkerId) -> bool:
        """Whether the worker was ordered on the node, now or earlier. Raises StoreUnavailable."""
        ...


class NotYours(NotAllowed):
    """A node spoke for another node, or for a worker of another node."""

    http_status = 403


class ProtocolRefused(Told):
    """The supervisor speaks another version of the protocol."""

    code = "protocol"
    http_status = 426


def node_router(
    engine: LocalEngine,
    logs: LogSink,
    authority: NodeAuthority,
    settings: Settings,
    questions: Questions | None = None,
    samples: SampleSink | None = None,
) -> APIRouter:
    """The routes; `authority` checks credentials. Not part of the public API's description."""
    desk = _Desk(engine, logs, authority, settings, questions or Questions(), samples)
    router = APIRouter(
        prefix=PREFIX,
        route_class=_NodeRoute,
        include_in_schema=False,
        dependencies=[Depends(_check_protocol)],
    )
    may_join, joined = [Depends(_check_join(authority))], [Depends(_check_credential(authority))]
    router.post("/join", dependencies=may_join)(desk.join)
    router.post("/renew", dependencies=joined)(desk.renew)
    router.post("/hello", dependencies=joined)(desk.hello)
    router.post("/report", dependencies=joined)(desk.report)
    router.get("/orders", dependencies=joined)(desk.orders)
    router.put("/logs/{worker:path}", dependencies=joined)(desk.logs)
    router.post("/samples", dependencies=joined)(desk.samples)
    router.post("/answers", dependencies=joined)(desk.answers)
    router.post("/probe", dependencies=joined)(desk.probe)
    return router


class _Desk:
    """One method for each request."""

    def __init__(
        self,
        engine: LocalEngine,
        logs: LogSink,
        authority: NodeAuthority,
        settings: Settings,
        questions: Questions,
        samples: SampleSink | None,
    ) -> None:
        self._engine = engine
        self._questions = questions
        self._logs = logs
        self._authority = authority
        self._rate = RequestRate()
        self._strange: set[str] = set()
        """Nodes that reported a worker which was never ordered there: said once of each."""
        self._samples = samples
        self._largest = settings.serving.max_body
        self._bodies = BodyReader()
        self._sample_queue = SampleQueue()
        self._welcome = Welcome(
            heartbeat=settings.nodes.heartbeat,
            dead_man=settings.nodes.dead_man,
            spool_bytes=settings.logs.spool_bytes,
            sample_every=settings.monitor.period if samples is not None else 0.0,
            upload_every=settings.monitor.upload,
            inherit=settings.workers.inherit,
        )

    async def join(self, request: Request) -> Response:
        """A machine becomes a node: it has the token for joining, and gets a credential of its own."""
        join = _read(Join, await self._body(request, SMALL_BYTES))
        check_name(join.node)
        credential = await run_in_threadpool(self._authority.join, join.node)
        return _json(Joined(credential=credential))

    async def renew(self, request: Request) -> Response:
        """A node replaces its credential."""
        renew = _read(Renew, await self._body(request, SMALL_BYTES))
        caller = self._checked(request, renew.node)
        if caller.leave:
            raise NotYours(
                f"node {caller.node} was removed", code="not_your_node", remedy="Let it join again"
            )
        credential = await run_in_threadpool(self._authority.renew, caller.node, _secret(request))
        return _json(Joined(credential=credential))

    async def hello(self, request: Request) -> Response:
        """A supervisor introduces itself."""
        hello = await _read_soon(Hello, await self._body(request, self._largest))
        caller = self._checked(request, hello.node)
        check_hello(hello)
        self._engine.hello(hello)
        if caller.leave:
            self._engine.forget_node(hello.node)
        log.info(
            "its supervisor says hello from %s (tenuto %s)",
            *(hello.address, hello.version),
            extra={"actor": f"node:{hello.node}", "node": hello.node},
        )
        return _json(replace(self._welcome, renew=caller.renew and not caller.leave))

    async def report(self, request: Request) -> Response:
        """A supervisor tells all it sees."""
        report = await _read_soon(Report, await self._body(request, self._largest))
        caller = self._checked(request, report.node)
        self._engine.heard(report.node, report.session)
        report = await self._own_workers(bounded(report))
        version = self._engine.report(report)
        return _json(Acknowledged(version=version, renew=caller.renew and not caller.leave))

    async def _own_workers(self, report: Report) -> Report:
        """The report without workers that were never ordered on the node: nothing it says of them counts."""
        new = [worker.id for worker in report.workers if not self._engine.was_ordered(report.node, worker.id)]
        if not new:
            return report
        strange = await run_in_threadpool(self._not_assigned, report.node, new)
        if not strange:
            return report
        if report.node not in self._strange:
            self._strange.add(report.node)
            log.warning(
                "it reports %d workers that were never ordered there, such as %s; they are left out",
                *(len(strange), str(min(strange))[:200]),
                extra={"actor": f"node:{report.node}", "node": report.node},
            )
        workers = tuple(worker for worker in report.workers if worker.id not in strange)
        return replace(report, workers=workers)

    def _not_assigned(self, node: str, workers: Sequence[WorkerId]) -> set[WorkerId]:
        return {worker for worker in workers if not self._authority.was_assigned(node, worker)}

    async def _body(self, request: Request, most_bytes: int) -> bytes:
        """The whole body; those of machines that are about to join have a share together."""
        caller: Admitted | None = getattr(request.state, "node", None)
        return await self._bodies.read(request, most_bytes, caller.node if caller else "")

    def _checked(self, request: Request, node: str, *, counts: bool = True) -> Admitted:
        """The caller, who must speak for this node and not too often; uploads are limited by their size instead."""
        caller: Admitted = request.state.node
        if node != caller.node:
            raise NotYours(
                f"this credential is that of node {caller.node}, not of {node[:100]!r}",
                code="not_your_node",
                remedy="Each node uses the credential in its own directory",
            )
        if counts:
            self._rate.count(node)
        return caller

    async def orders(
        self,
        request: Request,
        node: str,
        session: str,
        term: int = 0,
        known: int = 0,
        asked: int | None = None,
        wait: Annotated[float, Query(ge=0)] = 20.0,
    ) -> Response:
        """Answer when there is something that the supervisor does not know, or when it has waited enough."""
        self._checked(request, node)
        loop, changed = asyncio.get_running_loop(), asyncio.Event()

        def ring() -> None:
            with suppress(RuntimeError):  # the loop has ended, and with it whoever waited
                loop.call_soon_threadsafe(changed.set)

        def look() -> Orders:
            orders = self._engine.orders(node, session)
            question = self._questions.for_node(node, asked)
            return orders if question is None else replace(orders, question=question)

        with ExitStack() as listening:
            listening.callback(self._engine.on_orders(node, session, ring))
            listening.callback(self._questions.on_question(ring))
            self._engine.heard(node, session)
            with suppress(TimeoutError):
                async with asyncio.timeout(min(wait, LONGEST_WAIT)):
                    while not _newer(orders := look(), term, known):
                        await changed.wait()
                        changed.clear()
                    return _json(orders)
        return _json(look())

    async def logs(
        self,
        request: Request,
        worker: str,
        node: str,
        session: str,
        offset: Annotated[int, Query(ge=0, lt=LARGEST)],
    ) -> Response:
        """Keep a piece of a worker's output."""
        self._checked(request, node, counts=False)
        whose = _worker(worker)
        self._engine.heard(node, session)
        if not self._engine.was_ordered(node, whose) and not await run_in_threadpool(
            self._authority.was_assigned, node, whose
        ):
            raise NotYours(
                f"worker {str(whose)[:200]} was never ordered on node {node}",
                code="not_your_worker",
                remedy="A node keeps only logs of workers that it was told to start",
            )
        data = await self._body(request, LOG_CHUNK)
        return _json(Stored(next=await run_in_threadpool(self._logs.append, whose, offset, data)))

    async def samples(self, request: Request) -> Response:
        """Take in what a node's sampler has seen.

        Few at a time, and of the others a few of each node wait: whatever keeps the history from taking samples in,
        there are threads left for everything else, and no node takes the turn of another. An upload that has not come
        wholly does not wait for a turn. Supervisors keep what was not taken.
        """
        if self._samples is None:
            return _json(Sampled(kept=None))
        body = await self._body(request, SAMPLES)
        async with self._sample_queue.turn(request.state.node.node, len(body)):
            told = await run_in_threadpool(_read, Samples, body)
            self._checked(request, told.node, counts=False)
            return _json(await run_in_threadpool(self._take, self._samples, told))

    def _take(self, sink: SampleSink, told: Samples) -> Sampled:
        self._engine.heard(told.node, told.session)
        moments = [sample.at for sample in told.samples]
        moments += [moment for gap in told.gaps for moment in (gap.since, gap.until)]
        if not all(0 <= moment < LAST_MOMENT for moment in moments):
            raise InputInvalid("a sample's moment is none", remedy="Send Unix seconds", field="samples.at")
        if not all(abs(number) < LARGEST for sample in told.samples for number in _whole_numbers(sample)):
            raise InputInvalid("a number is too large", remedy="Send less than 2^63", field="samples")
        return sink.take(told)

    async def answers(self, request: Request) -> Response:
        """A node says how it finds itself."""
        answer = await _read_soon(Answer, await self._body(request, ANSWER_BYTES))
        self._checked(request, answer.node)
        self._engine.heard(answer.node, answer.session)
        self._questions.answer(answer)
        return _json(Acknowledged(version=0))

    async def probe(self, request: Request, give: Annotated[int, Query(ge=0, le=PROBE)] = 0) -> Response:
        """Take what comes and give as much as is wanted: the supervisor has a watch in its hand."""
        await self._body(request, PROBE)
        headers = {TIME: f"{time():.6f}"}
        return Response(bytes(give), media_type="application/octet-stream", headers=headers)


def _newer(orders: Orders, term: int, known: int) -> bool:
    if orders.question is not None:
        return True
    return orders.term > 0 and (orders.term, orders.version) != (term, known)


class _NodeRoute(APIRoute):
    """A route whose refusals have the platform's error shape, whatever app it is part of."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def told(request: Request) -> Response:
            try:
                return await handle(request)
            except TenutoError as error:
                return _refusal(error)
            except RequestValidationError as error:
                return _refusal(_invalid(error.errors()[0]))

        return told


async def _check_protocol(request: Request) -> None:
    spoken = request.headers.get(HEADER, "")
    if spoken != PROTOCOL:
        raise ProtocolRefused(
            f"this server speaks version {PROTOCOL} of the node protocol, not {spoken[:20] or 'an unnamed one'}",
            remedy="Install the same version of tenuto on the node as on the server",
        )


def _check_join(authority: NodeAuthority) -> Callable[[Request], Coroutine[Any, Any, None]]:
    """What comes before a request to join: the token for joining, which is good for nothing else."""

    async def check(request: Request) -> None:
        secret = _secret(request)
        if not secret or not await run_in_threadpool(authority.may_join, secret):
            raise NotAllowed(
                "this is not the token with which nodes join",
                remedy="Start the supervisor with a copy of node-token from the server's home",
            )
        mark_authenticated(request.scope)

    return check


def _check_credential(authority: NodeAuthority) -> Callable[[Request], Coroutine[Any, Any, None]]:
    """What comes before every request but that to join: the credential, which determines the node.

    A credential that was checked a moment ago is not looked up again, and while the store is away those that were
    checked before are accepted: signs of life must not depend on it, or all nodes would count as lost afterwards.
    """

    async def check(request: Request) -> None:
        secret = _secret(request)
        caller = authority.remembered(secret) if secret else None
        if caller is None and secret:
            caller = await run_in_threadpool(authority.admitted, secret)
        if caller is None:
            raise NotAllowed(
                "the credential of the node is missing, unknown or revoked",
                remedy="Let the machine join again: delete the file credential in the supervisor's directory, "
                "and start it with a copy of node-token from the server's home",
            )
        mark_authenticated(request.scope)
        request.state.node = caller

    return check


def _secret(request: Request) -> str:
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


async def _read_soon(kind: type[T], body: bytes) -> T:
    """Read a message; a large one in a thread, so that other nodes are answered meanwhile."""
    if len(body) > LARGE_BODY_BYTES:
        return await run_in_threadpool(_read, kind, body)
    return _read(kind, body)


def _read(kind: type[T], body: bytes) -> T:
    try:
        return decode(kind, body)
    except ValidationError as error:
        raise _invalid(error.errors()[0]) from error


def _worker(text: str) -> WorkerId:
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


def _json(value: object) -> Response:
    return Response(encode(value), media_type="application/json")


def _whole_numbers(sample: NodeSample) -> Iterator[int]:
    """Those of a sample that are known; JSON has them of any length."""
    found = [sample.ram_used, sample.ram_total, sample.swap_used, sample.swap_total]
    for disk in sample.disks:
        found += (disk.used, disk.total)
    for gpu in sample.gpus:
        found += (gpu.index, gpu.memory_used, gpu.memory_total)
        found += (process.memory for process in gpu.processes or ())
    return (number for number in found if number is not None)
