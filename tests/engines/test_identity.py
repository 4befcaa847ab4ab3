"""A process is told from another one that has its pid later."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace

from tenuto.engines.identity import ProcessIdentity


def test_a_process_knows_itself() -> None:
    me = ProcessIdentity.of(os.getpid())

    assert me is not None
    assert me.alive()
    assert ProcessIdentity.of(os.getpid()) == me


def test_another_process_with_the_same_pid_is_another_process() -> None:
    me = ProcessIdentity.of(os.getpid())
    assert me is not None

    assert not replace(me, started="another boot:1").alive()


def test_a_process_that_has_ended_is_gone_though_nobody_has_asked_for_its_exit_code() -> None:
    with subprocess.Popen(["/bin/sh", "-c", "read line"], stdin=subprocess.PIPE) as child:
        there = ProcessIdentity.of(child.pid)
        assert there is not None
        assert there.alive()

        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended; its exit code stays unclaimed

        assert not there.alive()
        assert ProcessIdentity.of(child.pid) is None


def test_nobody_has_a_pid_that_was_never_given() -> None:
    assert ProcessIdentity.of(2**22 + 1) is None
