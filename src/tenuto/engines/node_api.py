"""The server's end of the protocol between supervisors and server (`wire.node`), over the local engine.

Every answer that is not a success has the one error shape of the platform, so that a supervisor can tell its
operator in a sentence what is the matter.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from time import monotonic, time
from typing import Annotated, Protocol, TypeVar

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from tenuto.engines.local import LocalEngine
from tenuto.engines.node_access import (
    NodeAuthority,
    NotYours,
    check_credential,
    check_join_token,
    check_protocol,
    secret_of,
)
from tenuto.engines.node_limits import LAST_MOMENT, bounded, check_hello, check_name
from tenuto.engines.node_messages import (
    NodeRoute,
    json_response,
    read_message,
    read_soon,
    whole_numbers,
    worker_named,
)
from tenuto.engines.node_uploads import BodyReader, SampleQueue
from tenuto.engines.questions import Questions
from tenuto.errors import InputInvalid
from tenuto.request_rate import (
    REQUESTS_AT_ONCE,
    REQUESTS_PER_SECOND,
    UPLOADS_AT_ONCE,
    UPLOADS_PER_SECOND,
    RequestRate,
)
from tenuto.settings import Settings
from tenuto.wire.node import (
    LOG_CHUNK,
    PREFIX,
    PROBE,
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
from tenuto.wire.worker import WorkerId

log = logging.getLogger("tenuto.nodes")

T = TypeVar("T")
SMALL_BYTES = 4096
"""Bytes of a body that holds hardly more than a name."""
ANSWER_BYTES = 256 << 10
"""Bytes of the largest answer to a question."""
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
        route_class=NodeRoute,
        include_in_schema=False,
        dependencies=[Depends(check_protocol)],
    )
    requests = RequestRate(REQUESTS_PER_SECOND, REQUESTS_AT_ONCE, monotonic)
    uploads = RequestRate(UPLOADS_PER_SECOND, UPLOADS_AT_ONCE, monotonic)
    may_join = [Depends(check_join_token(authority))]
    joined = [Depends(check_credential(authority, requests))]
    uploading = [Depends(check_credential(authority, uploads))]
    router.post("/join", dependencies=may_join)(desk.join)
    router.post("/renew", dependencies=joined)(desk.renew)
    router.post("/hello", dependencies=joined)(desk.hello)
    router.post("/report", dependencies=joined)(desk.report)
    router.get("/orders", dependencies=joined)(desk.orders)
    router.put("/logs/{worker:path}", dependencies=uploading)(desk.logs)
    router.post("/samples", dependencies=uploading)(desk.samples)
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
        join = read_message(Join, await self._body(request, SMALL_BYTES))
        check_name(join.node)
        credential = await run_in_threadpool(self._authority.join, join.node)
        return json_response(Joined(credential=credential))

    async def renew(self, request: Request) -> Response:
        """A node replaces its credential."""
        renew = read_message(Renew, await self._body(request, SMALL_BYTES))
        caller = self._checked(request, renew.node)
        self._engine.heard(renew.node, renew.session)
        if caller.leave:
            raise NotYours(
                f"node {caller.node} was removed", code="not_your_node", remedy="Let it join again"
            )
        credential = await run_in_threadpool(self._authority.renew, caller.node, secret_of(request))
        return json_response(Joined(credential=credential))

    async def hello(self, request: Request) -> Response:
        """A supervisor introduces itself."""
        hello = await read_soon(Hello, await self._body(request, self._largest))
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
        return json_response(replace(self._welcome, renew=caller.renew and not caller.leave))

    async def report(self, request: Request) -> Response:
        """A supervisor tells all it sees."""
        report = await read_soon(Report, await self._body(request, self._largest))
        caller = self._checked(request, report.node)
        self._engine.heard(report.node, report.session)
        report = await self._own_workers(bounded(report))
        version = self._engine.report(report)
        return json_response(Acknowledged(version=version, renew=caller.renew and not caller.leave))

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

    def _checked(self, request: Request, node: str) -> Admitted:
        """The caller, which must be this node."""
        caller: Admitted = request.state.node
        if node != caller.node:
            raise NotYours(
                f"this credential is that of node {caller.node}, not of {node[:100]!r}",
                code="not_your_node",
                remedy="Each node uses the credential in its own directory",
            )
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
                    return json_response(orders)
        return json_response(look())

    async def logs(
        self,
        request: Request,
        worker: str,
        node: str,
        session: str,
        offset: Annotated[int, Query(ge=0, lt=LARGEST)],
    ) -> Response:
        """Keep a piece of a worker's output."""
        self._checked(request, node)
        whose = worker_named(worker)
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
        return json_response(Stored(next=await run_in_threadpool(self._logs.append, whose, offset, data)))

    async def samples(self, request: Request) -> Response:
        """Take in what a node's sampler has seen.

        Few at a time, and of the others a few of each node wait: whatever keeps the history from taking samples in,
        there are threads left for everything else, and no node takes the turn of another. An upload that has not come
        wholly does not wait for a turn. Supervisors keep what was not taken.
        """
        if self._samples is None:
            return json_response(Sampled(kept=None))
        body = await self._body(request, SAMPLES)
        async with self._sample_queue.turn(request.state.node.node, len(body)):
            told = await run_in_threadpool(read_message, Samples, body)
            self._checked(request, told.node)
            return json_response(await run_in_threadpool(self._take, self._samples, told))

    def _take(self, sink: SampleSink, told: Samples) -> Sampled:
        self._engine.heard(told.node, told.session)
        moments = [sample.at for sample in told.samples]
        moments += [moment for gap in told.gaps for moment in (gap.since, gap.until)]
        if not all(0 <= moment < LAST_MOMENT for moment in moments):
            raise InputInvalid("a sample's moment is none", remedy="Send Unix seconds", field="samples.at")
        if not all(abs(number) < LARGEST for sample in told.samples for number in whole_numbers(sample)):
            raise InputInvalid("a number is too large", remedy="Send less than 2^63", field="samples")
        return sink.take(told)

    async def answers(self, request: Request) -> Response:
        """A node says how it finds itself."""
        answer = await read_soon(Answer, await self._body(request, ANSWER_BYTES))
        self._checked(request, answer.node)
        self._engine.heard(answer.node, answer.session)
        self._questions.answer(answer)
        return json_response(Acknowledged(version=0))

    async def probe(self, request: Request, give: Annotated[int, Query(ge=0, le=PROBE)] = 0) -> Response:
        """Take what comes and give as much as is wanted: the supervisor has a watch in its hand."""
        await self._body(request, PROBE)
        headers = {TIME: f"{time():.6f}"}
        return Response(bytes(give), media_type="application/octet-stream", headers=headers)


def _newer(orders: Orders, term: int, known: int) -> bool:
    if orders.question is not None:
        return True
    return orders.term > 0 and (orders.term, orders.version) != (term, known)
