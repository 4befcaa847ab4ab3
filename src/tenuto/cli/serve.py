"""The composition root: store, engine, server and controller are made here, put together and taken apart again."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI

import tenuto
from tenuto.cli.beginning import Beginning, begin
from tenuto.cli.cluster_watch import ClusterWatch
from tenuto.cli.deciding import Decider, Deciding
from tenuto.cli.event_log import EventLog
from tenuto.cli.home import secret_in
from tenuto.cli.housekeeping import Household, Housekeeper
from tenuto.cli.listen import listening_socket, only_here, unix_socket, url_of
from tenuto.cli.local_nodes import anything_left, described, known_nodes
from tenuto.cli.monitoring import Monitoring
from tenuto.cli.plan import Listening, Plan
from tenuto.cli.retention import RetentionThread
from tenuto.cli.server_log import begin_log, log_file
from tenuto.cli.shadowing import Imagining, Shadowing
from tenuto.client.whereabouts import ServerFile, read_secret
from tenuto.dashboard.house import House, Inside
from tenuto.dashboard.visitors import Visitors
from tenuto.engines.keeper import Keeper, WayIn
from tenuto.engines.listening_clock import ListeningClock, beat_on_loop
from tenuto.engines.local import LocalEngine
from tenuto.engines.node_api import node_router
from tenuto.engines.questions import Questions
from tenuto.errors import Conflict
from tenuto.monitor.prometheus.counts import Counts
from tenuto.server.app import create_app
from tenuto.server.assignments import Assignments
from tenuto.server.auth import Gate
from tenuto.server.census import Census
from tenuto.server.http_protocol import ServerConfig
from tenuto.server.node_credentials import NodeCredentials
from tenuto.server.platform import Files
from tenuto.store.base import Store
from tenuto.store.logs import LogStore
from tenuto.store.open import open_store
from tenuto.store.sql import SqlStore
from tenuto.store.steps import StepStore

log = logging.getLogger("tenuto")

_PATIENCE = 2
"""Seconds for which requests that are under way may go on after the server was told to end."""
_SECRETS = ("TENUTO_INFLUX_URL", "TENUTO_STORE", "TENUTO_STORE_URL", "TENUTO_TOKEN")
"""Variables that workers must not inherit."""


def serve(plan: Plan, announce: Callable[[Listening], None]) -> None:
    """Serve until told to end; `announce` is called as soon as requests are answered."""
    for name in _SECRETS:
        os.environ.pop(name, None)
    plan.home.prepare()
    with plan.home.locked(), closing(_open_store(plan)) as store:
        beginning, home = begin(store, plan), plan.home
        secrets = filter(None, map(read_secret, (home.token, home.node_token)))
        begin_log(beginning.settings.logs, home, secrets)
        _Platform(plan, store, beginning).run(announce)


def _open_store(plan: Plan) -> Store:
    """The store that is meant; while something runs that another one knows, that one is meant."""
    url, last = plan.store_url, plan.home.server_file()
    if last and last.store not in ("", plan.store) and anything_left(plan.home):
        raise Conflict(
            f"{plan.home.path} has workers or supervisors that {last.store} knows",
            code="other_store",
            remedy="Name that store again with --store or TENUTO_STORE, or stop them with tenuto down first",
        )
    return open_store(url)


class _Platform:
    """Everything that works while a server runs."""

    def __init__(self, plan: Plan, store: Store, beginning: Beginning) -> None:
        self._plan = plan
        self._store = store
        self._settings = beginning.settings
        self._beginning = beginning
        self._log = log_file(self._settings.logs, plan.home)
        self._listening = ListeningClock()
        self._engine = LocalEngine(
            silence=self._settings.nodes.timeout,
            listened=self._listening.read,
            key=secret_in(plan.home.peer_key)[0].encode(),
        )
        self._beats: asyncio.Task[None] | None = None
        home = plan.home
        self._gate = Gate(store)
        self._credentials = NodeCredentials(
            *(store, self._gate, Assignments(store, self._engine.was_ordered)),
            *(self._settings.nodes, time.time),
        )
        way_in = WayIn(server_file=home.server, provide=self._credentials.provide)
        self._keeper = Keeper(beginning.local, way_in)
        names = [node.name for node in beginning.local]
        self._monitoring = Monitoring(self._settings, home.path, store)
        self._counts = Counts()
        self._deciding = Deciding(store, self._controller)
        self._shadowing = Shadowing(store, self._shadows)
        self._housekeeper = Housekeeper(
            Household(
                store,
                self._engine,
                self._keeper,
                local=names,
                unwanted=set(known_nodes(home)) - set(names),
                timeout=self._settings.nodes.timeout,
            ),
            end=self._end,
        )
        self._server: _Server | None = None

    def run(self, announce: Callable[[Listening], None]) -> None:
        """Listen, then begin everything else; at the end take it apart in the opposite order."""
        home, app = self._plan.home, self._app()
        with self._listen() as listening, ExitStack() as cleanup:
            sockets = [listening]
            if path := self._settings.serving.uds:
                sockets.append(cleanup.enter_context(unix_socket(Path(path))))
            told = Listening(
                url=url_of(listening),
                port=listening.getsockname()[1],
                pid=os.getpid(),
                home=home.path,
                nodes=described(self._beginning.local),
                token=self._beginning.new_token,
            )
            config = ServerConfig(
                app, self._settings.serving, log_config=None, timeout_graceful_shutdown=_PATIENCE
            )
            self._server = _Server(
                config, lambda: self._begin_work(told, announce, sockets), lambda: self._let_go(app)
            )
            cleanup.callback(home.write_server_file, self._server_file(told, None))
            events = EventLog(self._store, app.state.guests)
            events.start()
            cleanup.callback(events.stop)
            self._begin_retention(app, events, cleanup)
            cleanup.callback(self._monitoring.stop)
            cleanup.callback(self._cluster_watch.stop)
            cleanup.callback(self._census.stop)
            for part in (self._housekeeper.stop, self._keeper.stop_watching, self._shadowing.stop):
                cleanup.callback(part)
            cleanup.callback(self._deciding.stop)
            self._server.run(sockets=sockets)
        log.info(
            "ended; %s",
            "nothing runs any more" if self._housekeeper.done else "training goes on without the server",
        )
        if self._deciding.hangs_on or self._shadowing.hangs_on:
            # It compiles, and nothing else ends that. What is stored is whole at any moment.
            sys.stdout.flush()
            os._exit(0)

    def _begin_retention(self, app: FastAPI, events: EventLog, cleanup: ExitStack) -> None:
        """Remove what is too old or too much, but no event that was not counted and logged."""
        cursors = (lambda: app.state.glance.counted, lambda: events.written)
        retention = RetentionThread(app.state.platform, cursors, app.state.glance.now)
        app.state.pages.usage = lambda: retention.service.usage
        retention.start()
        cleanup.callback(retention.stop)

    def _listen(self) -> socket.socket:
        serving, last = self._settings.serving, self._plan.home.server_file()
        return listening_socket(serving.host, serving.port, last.port if last else None)

    def _app(self) -> FastAPI:
        home = self._plan.home
        logs = LogStore(home.logs, self._settings.logs.keep_bytes)
        steps = StepStore(home.records, self._settings.metrics.keep_bytes)

        questions = Questions()
        watch = self._monitoring
        router = node_router(self._engine, logs, self._credentials, self._settings, questions, watch)
        files = Files(logs, steps, self._log, watch.series, watch.latest)
        visitors = Visitors(self._store, secret_in(home.page_key)[0], time.time)
        app = create_app(self._store, files, self._settings, time.time, [router], gate=self._gate)
        app.state.assignments = self._credentials.assignments
        app.state.on_revoked = self._engine.dismiss
        app.state.tickets = visitors.ticket_for
        self._house = House(visitors, lambda: self._site(app), app.router.default)
        app.router.default = self._house
        app.state.questions = questions
        app.state.origins = self._beginning.origins
        app.state.trouble = lambda: self._deciding.trouble
        app.state.shadows = lambda: self._shadowing.shown
        self._watched(app)
        return app

    def _watched(self, app: FastAPI) -> None:
        """Let what is told to Prometheus be counted where it happens."""
        watch, self._counts = self._monitoring, app.state.platform.counts
        app.state.pages.pushing = lambda: None if watch.influx is None else watch.influx.health
        self._census = Census(app.state.platform)
        self._cluster_watch = ClusterWatch(app.state.glance.now, watch.series)
        if isinstance(self._store, SqlStore):
            self._store.timed = self._counts.committed

    def _begin_work(
        self, told: Listening, announce: Callable[[Listening], None], sockets: list[socket.socket]
    ) -> None:
        """The server answers: tell everybody, then start what takes longer."""
        self._beats = asyncio.get_running_loop().create_task(beat_on_loop(self._listening, sockets))
        self._plan.home.write_server_file(self._server_file(told, told.pid))
        if not only_here(self._settings.serving.host):
            log.warning(
                "%s can be reached from other machines, and tokens travel as plain text: "
                "put a proxy with TLS before it, or use it in a network that you trust",
                self._settings.serving.host,
            )
        log.info("tenuto %s listens at %s", tenuto.__version__, told.url)
        announce(told)
        self._keeper.start()
        self._deciding.start()
        self._monitoring.start()
        self._cluster_watch.start()
        self._census.start()
        self._shadowing.start()
        self._housekeeper.start()

    def _server_file(self, told: Listening, pid: int | None) -> ServerFile:
        return ServerFile(told.url, pid, told.port, self._plan.store, str(self._log))

    def _controller(self) -> Decider:
        from tenuto.live.controller import Controller  # numba and the policies: they take a second
        from tenuto.live.loop import Loop

        controller = Controller(
            self._store,
            self._engine,
            time.time,
            self._settings,
            holder=f"{socket.gethostname()}:{self._plan.home.path}",
            # The lock on the home says that nobody else works on the store in it.
            force=not self._settings.store.url,
            uses=self._monitoring.uses,
            onlooker=self._counts,
        )
        return Loop(controller, self._store, self._engine, time.time, self._counts)

    def _shadows(self) -> Imagining:
        from tenuto.live.shadow import Shadows  # as above

        return Shadows(self._store, time.time, self._settings.scheduling)

    def _site(self, app: FastAPI) -> Inside:
        from tenuto.dashboard.every_page import site_of  # NiceGUI: it takes a second

        return site_of(app, self._plan.home.lab)

    async def _let_go(self, app: FastAPI) -> None:
        """Send those home who wait for news, so that the end does not wait for them."""
        if self._beats is not None:
            self._beats.cancel()
        self._engine.close()
        app.state.platform.bell.close()
        await self._house.close()

    def _end(self) -> None:
        assert self._server is not None
        self._server.should_exit = True


class _Server(uvicorn.Server):
    """uvicorn, but its start and end are ours: a signal is an order, no error, and a second one is obeyed at once."""

    def __init__(
        self, config: ServerConfig, begun: Callable[[], None], ending: Callable[[], Awaitable[None]]
    ) -> None:
        super().__init__(config)
        self._begun = begun
        self._ending = ending

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer requests, and say so."""
        await super().startup(sockets)
        self._begun()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let nobody wait for us, and end."""
        await self._ending()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End in good order when told to."""
        before = {one: signal.signal(one, self._heed) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def _heed(self, number: int, _: Any) -> None:
        if self.should_exit:
            os._exit(128 + number)
        self.should_exit = True
        log.info("ending; training goes on")
