"""A server must listen soon: what only forecasts need is loaded when somebody asks for one."""

from __future__ import annotations

import subprocess
import sys


def test_the_server_starts_without_compiled_kernels_and_columns() -> None:
    program = (
        "import sys, tenuto.server.app\n"
        "heavy = {'numba', 'numpy', 'matplotlib', 'tenuto.sim', 'tenuto.policy', 'tenuto.engines', 'tenuto.live'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
