"""The page that Prometheus reads, in its own text format or in OpenMetrics, packed if that is wished."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass

from prometheus_client import Metric, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST as OPENMETRICS_TYPE
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.registry import Collector

from tenuto.monitor.prometheus.counts import Counts
from tenuto.monitor.prometheus.gauges import Present, sheet_of

QUICKLY = 1
"""gzip's level: a page shrinks to a tenth of itself at any."""
_END = b"# EOF\n"
"""Of OpenMetrics."""


@dataclass(frozen=True, slots=True)
class Form:
    """How a page is written."""

    openmetrics: bool = False
    packed: bool = False

    @classmethod
    def asked_for(cls, accept: str, accept_encoding: str) -> Form:
        """What a client's headers ask for."""
        return cls(
            openmetrics=_names(accept, "application/openmetrics-text"), packed=_names(accept_encoding, "gzip")
        )

    @property
    def content_type(self) -> str:
        """As a header says it."""
        return OPENMETRICS_TYPE if self.openmetrics else CONTENT_TYPE_PLAIN_0_0_4


def _names(header: str, wanted: str) -> bool:
    """Whether a header names a value, and not only to refuse it."""
    for part in header.lower().split(","):
        name, *parameters = (word.strip() for word in part.split(";"))
        if name == wanted:
            return not any(one in ("q=0", "q=0.0", "q=0.00", "q=0.000") for one in parameters)
    return False


class _Counted(Collector):
    """What was counted, and the process itself."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        """All families."""
        for metric in self._counts.registry.collect():
            # When a counter began tells nothing that the process' start does not, and would double the page.
            metric.samples = [one for one in metric.samples if not one.name.endswith("_created")]
            yield metric
        yield from ProcessCollector(registry=None).collect()


def written(counts: Counts, present: Present, form: Form) -> bytes:
    """The page."""
    generate = generate_openmetrics if form.openmetrics else generate_latest
    counted = generate(_Counted(counts)).removesuffix(_END)
    body = counted + sheet_of(present).text(openmetrics=form.openmetrics).encode(errors="replace")
    if form.openmetrics:
        body += _END
    return gzip.compress(body, QUICKLY, mtime=0) if form.packed else body
