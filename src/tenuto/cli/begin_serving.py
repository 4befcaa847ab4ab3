"""From a plan to a server as fast as possible: what a server imports is most of the time until it listens."""

from __future__ import annotations

import gc
from collections.abc import Callable

from tenuto.cli.plan import Listening, Plan


def begin_serving(plan: Plan, announce: Callable[[Listening], None]) -> None:
    """Serve until told to end."""
    # What is imported stays for ever; looking through it for garbage again and again takes a sixth of the time.
    gc.disable()
    try:
        from tenuto.cli.serve import serve
    finally:
        gc.freeze()
        gc.enable()
    serve(plan, announce)
