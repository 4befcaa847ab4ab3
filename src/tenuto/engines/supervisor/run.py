"""Runs the supervisor of one node until it is told to end: the program's and the command line's one entrance."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import tenuto
from tenuto.engines.inventory import LOOPBACK, find_slots, own_address
from tenuto.engines.supervisor.options import SupervisorOptions
from tenuto.engines.supervisor.records import Records
from tenuto.engines.supervisor.server import Server, find_url
from tenuto.engines.supervisor.supervise import Supervisor
from tenuto.engines.supervisor.warm.pool import WarmSettings
from tenuto.errors import InputInvalid
from tenuto.gpus_here import PATIENCE, DriverSilent
from tenuto.model.node import Slot
from tenuto.wire.credential_file import read_credential
from tenuto.wire.node import Hello

log = logging.getLogger(__name__)
_HURRY = 5.0
"""Seconds for a driver to answer in, while the server waits to hear of workers that an earlier supervisor started."""


def run(options: SupervisorOptions) -> int:
    """Supervise the node; returns the exit code. SIGTERM and SIGINT end it, and workers go on.

    Raises Conflict if another supervisor is at work in the directory or speaks for the node now, NotAllowed and
    others of tenuto.errors if the server does not want this node.
    """
    if not read_credential(options.directory) and (
        options.token_file is None or not options.token_file.is_file()
    ):
        raise InputInvalid(
            f"there is no token in {options.token_file}"
            if options.token_file
            else "a new node needs the token for joining",
            remedy="Copy node-token from the server's home there",
            field="token_file",
        )
    if not options.server and options.server_file is None:
        raise InputInvalid("it is not clear where the server is", remedy="Give its URL or a file with it")
    slots = None if options.slots is None else find_slots(options.slots)
    records = _open_records(options.directory)
    try:
        records.sign_in()
        hello = Hello(
            node=options.node,
            session=os.urandom(8).hex(),
            slots=slots or _slots_here(records),
            address=options.address or _address(options),
            version=tenuto.__version__,
            obeyed=records.state.term,
            labels=options.labels,
        )
        records.remember(session=hello.session, slots=hello.slots)
        supervisor = Supervisor(records, Server(options), hello, WarmSettings(modules=options.warm))
        with _ended_by_signals(supervisor):
            if supervisor.run():
                records.erase()
    finally:
        records.close()
    return 0


def _slots_here(records: Records) -> tuple[Slot, ...]:
    """What the node has to offer. If its driver is silent, what it had before: workers may be running on it."""
    before = records.state.slots
    try:
        return find_slots(patience=_HURRY if before else PATIENCE)
    except DriverSilent as error:
        if not before:
            raise
        log.warning("%s; the node goes on with the slots that it had", error)
        return before


def _open_records(directory: Path) -> Records:
    try:
        return Records(directory)
    except OSError as error:
        raise InputInvalid(
            f"the directory {directory} cannot be used: {error.strerror}", remedy="Give another", field="dir"
        ) from None


def _address(options: SupervisorOptions) -> str:
    try:
        return own_address(find_url(options))
    except (OSError, ValueError):
        return LOOPBACK  # a server whose address is read from a file is one of this machine


@contextmanager
def _ended_by_signals(supervisor: Supervisor) -> Iterator[None]:
    """Let the signals that end a program end this one; only the main thread can have them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, lambda *_: supervisor.end()) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
