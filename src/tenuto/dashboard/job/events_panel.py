"""What happened to a job, with the phases of its rescales; and every start of a worker."""

from __future__ import annotations

from tenuto.client.asynchronous import AsyncClient
from tenuto.dashboard.frame import card
from tenuto.dashboard.job.facts import attempt_rows
from tenuto.dashboard.job.happenings import event_rows
from tenuto.dashboard.job.metrics_panel import Events, newest_attempts
from tenuto.dashboard.job.widgets import NODE_CELL, fill, table, time_cell
from tenuto.wire.replies import JobOut

MOST_STARTS = 200
EVENTS = {"at": "When", "kind": "What", "why": "Why", "actor": "By", "node": "Node"}
STARTS = {
    "worker": "Worker", "node": "Node", "slot": "Slot", "pid": "Pid", "started": "Started", "ended": "Ended",
    "end": "How it ended",
}  # fmt: skip
_KIND = (
    '<q-icon :name="props.row.icon" size="16px" class="q-mr-xs" aria-hidden="true" />'
    "<span>{{ props.row.what }}</span>"
)
_WHY = '<span v-html="props.row.why"></span><div v-html="props.row.phases"></div>'


class Happened:
    """Drawn at every event of the job."""

    def __init__(self, ask: AsyncClient, events: Events) -> None:
        self._ask = ask
        self._events = events
        with card("Events"):
            slots = {"at": time_cell("at"), "kind": _KIND, "why": _WHY}
            self._table = table("Events", EVENTS, slots, wide=("actor", "node"), pagination=25)
        with card("Starts of workers"):
            slots = {"node": NODE_CELL, "started": time_cell("started"), "ended": time_cell("ended")}
            self._starts = table(
                "Starts of workers", STARTS, slots, wide=("slot", "pid", "ended"), pagination=25
            )
        for made in (self._table, self._starts):
            made.props[":rows-per-page-options"] = "[25, 50, 100]"

    async def draw(self, job: JobOut) -> None:
        """Ask and fill the tables."""
        fill(self._table, event_rows(await self._events()))
        fill(self._starts, attempt_rows((await newest_attempts(self._ask, job.id))[-MOST_STARTS:]))
