"""Plays, performed: by the thread that asks, or by an event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, aclosing
from typing import Any

import httpx

from tenuto.client.ask import Give, Line, Open, Pause, Play, Read, Send, Step, opened
from tenuto.errors import TenutoError


class _Course:
    """How far a play is: what came of the last step leads to the next."""

    def __init__(self, play: Play[Any]) -> None:
        self._play = play
        self._result: Any = None
        self._trouble: Exception | None = None

    def next(self) -> Step | None:
        """The next step; None at the end of the play."""
        result, trouble = self._result, self._trouble
        self._result = self._trouble = None
        try:
            return self._play.send(result) if trouble is None else self._play.throw(trouble)
        except StopIteration:
            return None

    def came(self, result: Any) -> None:
        """Of the last step came this."""
        self._result = result

    def failed(self, trouble: Exception) -> None:
        """The last step failed."""
        self._trouble = trouble


def given(play: Play[Any]) -> Play[None]:
    """A play that gives its result."""
    yield Give((yield from play))


class Performer:
    """Performs plays in the thread that asks."""

    def __init__(self, line: Line, transport: httpx.BaseTransport | None = None) -> None:
        self._line = line
        self._transport = transport
        self._http = httpx.Client(**line.options(), transport=transport)

    def close(self) -> None:
        """Let go of the connection."""
        self._http.close()

    def one(self, play: Play[Any]) -> Any:
        """What a play results in."""
        return next(self.each(given(play)))

    def each(self, play: Play[None]) -> Iterator[Any]:
        """What a play gives, one by one."""
        course = _Course(play)
        with ExitStack() as streams:
            while (step := course.next()) is not None:
                if isinstance(step, Give):
                    yield step.value
                    continue
                try:
                    course.came(self._perform(step, streams))
                except (httpx.TransportError, TenutoError) as trouble:
                    course.failed(trouble)

    def _perform(self, step: Step, streams: ExitStack) -> Any:
        if isinstance(step, Send):
            return self._http.request(**step.ask.request())
        if isinstance(step, Open):
            streams.close()
            answer = streams.enter_context(self._http.stream(**step.ask.request()))
            if not answer.is_success:
                answer.read()
                opened(answer)
            return answer.iter_bytes()
        if isinstance(step, Read):
            return next(step.source, b"")
        if isinstance(step, Pause):
            time.sleep(step.seconds)
            if self._line.has_moved():
                streams.close()
                self.close()
                self._http = httpx.Client(**self._line.options(), transport=self._transport)
        return None


class _Streams:
    """The stream that a play reads from. Whoever closes it while another does waits until that is done.

    A generator that nobody reads any more is closed by the event loop some time later, and so perhaps while its
    client is closed.
    """

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self._closing = asyncio.Lock()

    async def open(self, stream: AbstractAsyncContextManager[httpx.Response]) -> httpx.Response:
        """Begin to read from this one."""
        return await self._stack.enter_async_context(stream)

    async def close(self) -> None:
        """Let go of it, if there is one."""
        async with self._closing:
            await self._stack.aclose()


class AsyncPerformer:
    """Performs plays in an event loop."""

    def __init__(self, line: Line, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._line = line
        self._transport = transport
        self._http = httpx.AsyncClient(**line.options(), transport=transport)
        self._open: set[_Streams] = set()

    async def close(self) -> None:
        """Let go of the connections, also of those whose reader has turned away."""
        for streams in tuple(self._open):
            await streams.close()
        await self._http.aclose()

    async def one(self, play: Play[Any]) -> Any:
        """What a play results in."""
        async with aclosing(self.each(given(play))) as values:
            return await anext(values)

    async def each(self, play: Play[None]) -> AsyncGenerator[Any, None]:
        """What a play gives, one by one."""
        course, streams = _Course(play), _Streams()
        self._open.add(streams)
        try:
            while (step := course.next()) is not None:
                if isinstance(step, Give):
                    yield step.value
                    continue
                try:
                    course.came(await self._perform(step, streams))
                except (httpx.TransportError, TenutoError) as trouble:
                    course.failed(trouble)
        finally:
            await streams.close()
            self._open.discard(streams)

    async def _perform(self, step: Step, streams: _Streams) -> Any:
        if isinstance(step, Send):
            return await self._http.request(**step.ask.request())
        if isinstance(step, Open):
            await streams.close()
            answer = await streams.open(self._http.stream(**step.ask.request()))
            if not answer.is_success:
                await answer.aread()
                opened(answer)
            return answer.aiter_bytes()
        if isinstance(step, Read):
            return await anext(step.source, b"")
        if isinstance(step, Pause):
            await asyncio.sleep(step.seconds)
            if self._line.has_moved():
                await streams.close()
                # Other tasks ask meanwhile: let none of them find a closed door.
                left, self._http = (
                    self._http,
                    httpx.AsyncClient(**self._line.options(), transport=self._transport),
                )
                await left.aclose()
        return None
