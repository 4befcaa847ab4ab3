"""What a run needs from outside the laboratory, put into its directory: an upload, our nodes, our past."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from tenuto.client.asynchronous import AsyncClient
from tenuto.dashboard.lab.offers import MOST_BYTES, OWN, OWN_CLUSTER, UPLOAD, Wish, kept_as
from tenuto.errors import InputInvalid
from tenuto.lab.orders import PAST_JOBS

MOST_PAST = 20_000
"""Jobs of the past that are replayed, the newest."""


class Uploaded(Protocol):
    """A file that came from a browser."""

    name: str

    def size(self) -> int:
        """Its bytes."""
        ...

    async def save(self, path: str | Path) -> None:
        """Write it to a place."""
        ...


class Inputs:
    """The inputs of one visitor's wishes."""

    def __init__(self, ask: AsyncClient) -> None:
        self._ask = ask
        self.uploaded: Uploaded | None = None

    async def fill(self, wish: Wish, inputs: Path) -> None:
        """Write what the wish names."""
        if wish.trace == UPLOAD and self.uploaded is not None:
            if self.uploaded.size() > MOST_BYTES:
                raise InputInvalid(
                    f"the file is larger than {MOST_BYTES / 1e6:.0f} MB",
                    remedy="Add it on the server with tenuto trace add, and choose it by its name",
                )
            await self.uploaded.save(inputs / kept_as(self.uploaded.name))
        if wish.cluster == OWN:
            nodes = {node.name: node.total async for node in self._ask.nodes()}
            await asyncio.to_thread((inputs / OWN_CLUSTER).write_text, cluster_text(nodes), "utf-8")
        if wish.is_past:
            await self._write_past(wish.trace, inputs / PAST_JOBS)

    async def _write_past(self, since: str, path: Path) -> None:
        """As `tenuto history export` asks for it; what becomes of it is the laboratory's business."""
        jobs: list[str] = []
        async for job in self._ask.history(since=since):
            jobs.append(job.model_dump_json())
            if len(jobs) == MOST_PAST:
                break
        if not jobs:
            raise InputInvalid(
                "no job was submitted in that time", remedy="Choose a longer one, or another trace"
            )
        time = await self._ask.history_cluster(since=since)
        await asyncio.to_thread(path.write_text, past_text(jobs, time.model_dump_json()), "utf-8")


def past_text(newest_first: Sequence[str], time: str) -> str:
    """The past as an errand reads it, oldest first, from jobs that are JSON already."""
    jobs = ",\n".join(reversed(newest_first))
    return f'{{"time": {time},\n"jobs": [{jobs}]}}\n'


def cluster_text(slots: dict[str, int]) -> str:
    """Our nodes as a cluster; JSON is YAML, too."""
    nodes = [{"slots": count, "name": name} for name, count in slots.items() if count]
    if not nodes:
        raise InputInvalid("no node has joined", remedy="Name a cluster, for example n8g8")
    return json.dumps({"nodes": nodes}, ensure_ascii=False) + "\n"
