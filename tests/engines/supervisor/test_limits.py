"""How the memory of a worker and all that it started is counted."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from tenuto.engines.supervisor.limits import over_limit
from tenuto.engines.supervisor.shim.processes import children_by_parent, descendants

MEBIBYTE = 1 << 20
THREE_WITH_THE_SAME_64_MIB = """
import os, subprocess, sys
program = '''
import os, sys
shared = bytearray(64 << 20)
for _ in range(2):
    if os.fork() == 0:
        break
os.write(1, b"ready" + bytes([10]))
sys.stdin.read()
'''
subprocess.run([sys.executable, "-c", program])
"""


@pytest.fixture
def family() -> Iterator[int]:
    """The pid of a process below which three others share their memory."""
    command = [sys.executable, "-c", THREE_WITH_THE_SAME_64_MIB]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for _ in range(3):
            assert process.stdout.readline() == b"ready\n"
        yield process.pid
        process.communicate()


def test_memory_that_processes_share_is_counted_once(family: int) -> None:
    assert len(descendants(family)) == 3
    assert over_limit(family, 150 * MEBIBYTE, children_by_parent()) is None


def test_who_is_over_the_limit_is_told_how_far(family: int) -> None:
    message = over_limit(family, 50 * MEBIBYTE, children_by_parent())

    assert message is not None
    assert message.startswith("it used ")
    assert message.endswith("; its limit is 50 MiB")
    assert 64 <= int(message.split()[2]) < 150


def test_a_worker_that_is_gone_uses_nothing() -> None:
    assert over_limit(2**22 + 1, 1, children_by_parent()) is None
