"""httpx without its command line, which would load rich, click and pygments: a sixth of the time to start."""

from __future__ import annotations

import sys

sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type] # "not installed", which httpx expects

import httpx  # noqa: E402

__all__ = ["httpx"]
