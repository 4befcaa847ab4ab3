"""Whether the InfluxDB that settings name is there, knows its database, and lets us in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING

from tenuto.doctor.finding import Finding, Status
from tenuto.errors import TenutoError
from tenuto.settings import Influx

if TYPE_CHECKING:
    from tenuto.client.plain import PlainClient


def find_influx(client: PlainClient) -> Iterator[Finding]:
    """The database that the server's settings name; if they name none, there is nothing to tell."""
    try:
        rows = client.settings()["items"]
    except TenutoError:
        return  # the server has been found wanting already
    told = {row["name"].removeprefix("influx."): row["value"] for row in rows}
    influx = Influx(**{field.name: told[field.name] for field in fields(Influx) if field.name in told})
    if influx.url:
        yield _looked_at(influx)


def _looked_at(influx: Influx) -> Finding:
    """Post nothing at all, and see what it says to that."""
    from tenuto.monitor.influx.address import address_of  # httpx, for those who need it
    from tenuto.monitor.influx.answers import Answer
    from tenuto.monitor.influx.buffer import Batch
    from tenuto.monitor.influx.post import Post

    address = address_of(influx)
    post = Post(address)
    try:
        verdict = post(Batch.of(()))
    finally:
        post.close()
    if verdict.answer is Answer.TAKEN:
        return Finding(topic="influx", name="InfluxDB", told=f"{address.shown} takes numbers")
    return Finding(
        topic="influx",
        name="InfluxDB",
        status=Status.WARNING,  # the platform works, and keeps its own history
        told=f"{address.shown} takes nothing: {verdict.why}",
        remedy=address.remedy(verdict) or "Start it, or look at influx.url",
    )
