"""What if: a change in thought, and what it would do to every promise and every ETA. Nothing is changed."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

from nicegui import ui
from starlette.requests import Request

from tenuto.client.asynchronous import AsyncClient
from tenuto.dashboard.acting import tell_trouble
from tenuto.dashboard.answers import fact_rows, told_plan
from tenuto.dashboard.frame import card, empty, frame
from tenuto.dashboard.job_text import blamed, without_zone, written_in
from tenuto.dashboard.live import Live
from tenuto.dashboard.site import Site
from tenuto.dashboard.thought import Thought, thought_in
from tenuto.dashboard.thought_acts import Acts
from tenuto.dashboard.thought_form import Around, ThoughtForm
from tenuto.dashboard.whatif_text import facts, headline, row_of
from tenuto.dashboard.wording import moment
from tenuto.errors import InputInvalid, TenutoError
from tenuto.wire.job_file import WrittenJob
from tenuto.wire.overview import OverviewOut
from tenuto.wire.questions import WhatIfOut

MOST_NAMED = 500
"""Nodes and jobs that can be chosen from a list."""
CHANGES = ("scaled", "phase", "verdict", "promise", "changed", "submitted", "node", "policy")
"""Events after which the answer would be another one."""
WIDE = {"classes": "t-wide", "headerClasses": "t-wide"}
COLUMNS: list[dict[str, Any]] = [
    {"name": "name", "label": "Job", "field": "name", "align": "left"},
    {"name": "effect", "label": "Effect", "field": "effect", "align": "left"},
    {"name": "promise", "label": "Promise", "field": "promise", "align": "left", **WIDE},
    {"name": "before", "label": "Done before", "field": "before", "align": "left", **WIDE},
    {"name": "after", "label": "Done after", "field": "after", "align": "left"},
    {"name": "moved", "label": "By", "field": "moved", "align": "right"},
]
_FINISH = """<q-td :props="props"><template v-if="props.row.{0}">
    <time v-if="props.row.{0}.at" :datetime="props.row.{0}.at"></time>
    <span v-else-if="props.row.{0}.later_than" class="t-muted">later than
      <time :datetime="props.row.{0}.later_than"></time></span><span v-else class="t-muted">not foreseen</span>
    </template></q-td>"""
SLOTS = {
    "name": """<q-td :props="props" class="t-name"><a :href="props.row.href">{{ props.row.name }}</a>
        <div class="t-muted t-small">{{ props.row.state }}</div></q-td>""",
    "effect": """<q-td :props="props"><b :class="'t-' + props.row.tone">{{ props.row.effect }}</b></q-td>""",
    "promise": """<q-td :props="props">{{ props.row.promise }} <time v-if="props.row.promised"
        :datetime="props.row.promised" class="t-small"></time></q-td>""",
    "before": _FINISH.replace("{0}", "before"),
    "after": _FINISH.replace("{0}", "after"),
    "moved": """<q-td :props="props"><span :class="'t-' + props.row.tone">{{ props.row.moved }}</span></q-td>""",
}


def add(site: Site) -> None:
    """Put the page on the site."""

    @ui.page("/whatif", response_timeout=20)
    async def whatif(request: Request) -> None:
        ask = site.ask(request)
        live = Live(site.news)
        here = await site.once("what there is", lambda: _there_is(ask), 5.0)
        policy = await site.once("policy", ask.policy, 5.0)
        around = Around(
            nodes=[node.name for node in here.nodes if node.state != "offline"],
            jobs={job.id: f"{job.name} ({job.id})" for job in here.jobs},
            policy=policy.name,
            policies=policy.known,
        )
        with frame("What if", "/whatif", request.state.visitor.user):
            page = WhatIf(ask, around, thought_in(request.query_params.multi_items()))
        live.part(page.mark_old, wants=lambda event: event.kind in CHANGES, least=2.0)
        await page.begin()


async def _there_is(ask: AsyncClient) -> OverviewOut:
    return await ask.overview(nodes=MOST_NAMED, jobs=MOST_NAMED, gpus=0)


async def _zoned(when: str) -> str:
    local = without_zone(when)
    if local is None:
        return when
    told: str = await ui.run_javascript(f"new Date({json.dumps(local)}).toISOString()", timeout=10.0)
    return told


class WhatIf:
    """The question and its answer."""

    def __init__(self, ask: AsyncClient, around: Around, thought: Thought) -> None:
        self._ask, self._thought = ask, thought
        self._acts = Acts(ask)
        self._as_of: ui.html | None = None
        with ui.row().classes("w-full gap-4 items-start t-halves"):
            with card("What is to be different"):
                self._form = ThoughtForm(around, thought, self.ask)
                self._trouble = ui.label().classes("t-bad").props("role=alert")
                with ui.row().classes("gap-2"):
                    self._button = ui.button("What would happen?", on_click=self.ask)
                    self._button.props("unelevated no-caps")
                    ui.button("Clear", on_click=self._clear).props("flat no-caps")
            self._answer = ui.column().classes("t-side gap-4")
            self._answer.props('role=region aria-label="Answer" aria-live=polite')
        self._show_nothing()

    async def begin(self) -> None:
        """Answer the question that the address asks."""
        if self._thought:
            await self._answer_to(self._thought)

    async def ask(self) -> None:
        """Ask what the form says; the address asks the same, for others."""
        thought = await self._in_this_zone(self._form.value)
        ui.navigate.history.replace(thought.address())
        await self._answer_to(thought)

    async def _answer_to(self, thought: Thought) -> None:
        """Show the answer; what cannot be asked is told below the form."""
        self._trouble.set_text("")
        self._button.props("loading")
        try:
            job = written_in(thought.job).checked() if thought.job else None
            asked = thought.query(None if job is None else job.values)
            begun = time.perf_counter()
            told = await self._told(asked, job)
            self._show(told, time.perf_counter() - begun, thought, job)
        except InputInvalid as error:
            self._trouble.set_text(str(error))
        except TenutoError as error:
            tell_trouble(str(error))
        finally:
            self._button.props(remove="loading")

    async def _told(self, asked: dict[str, Any], job: WrittenJob | None) -> WhatIfOut:
        try:
            return await self._ask.whatif(**asked)
        except InputInvalid as error:
            if job is None or not (error.field or "").startswith("add.0"):
                raise
            about = (error.field or "").removeprefix("add.0.")
            problem = error.problem.removeprefix("add.0.")
            raise blamed(job, InputInvalid(problem, remedy=error.remedy, field=about)) from None

    async def _in_this_zone(self, thought: Thought) -> Thought:
        """Dates without a zone are meant in the visitor's."""
        deadlines = [(ref, await _zoned(when)) for ref, when in thought.deadlines]
        return replace(thought, deadlines=tuple(deadlines))

    async def mark_old(self) -> None:
        """Something has happened: the answer is that of a moment ago."""
        if self._as_of is not None:
            self._as_of.classes(replace="t-warn").set_content("Things have changed since then; ask again.")
            self._as_of = None

    def _clear(self) -> None:
        self._form.clear()
        self._trouble.set_text("")
        self._show_nothing()
        ui.navigate.history.replace(Thought().address())

    def _show_nothing(self) -> None:
        self._answer.clear()
        self._as_of = None
        with self._answer, card():
            empty(
                "Say what is to be different, or press one of the buttons. It is worked out on the live state, and "
                "nothing is changed by it."
            )

    def _show(self, told: WhatIfOut, seconds: float, thought: Thought, job: WrittenJob | None) -> None:
        self._answer.clear()
        tone, gist = headline(told)
        with self._answer:
            with card("What would happen"):
                ui.label(gist).classes(f"t-figure t-word t-{tone}")
                ui.html(fact_rows(facts(told, seconds).items()), sanitize=False)
                self._as_of = ui.html(f"As of {moment(told.as_of)}.", sanitize=False).classes("t-muted")
                with ui.row().classes("gap-2"):
                    self._acts.add_for(thought, job)
            for planned in told.added:
                answer = told_plan(planned, "steps")
                with card(f"The answer to {planned.name}"):
                    ui.label(answer.headline).classes(f"t-figure t-word t-{answer.tone}")
                    ui.html(answer.reason, sanitize=False)
                    ui.html(fact_rows(answer.facts.items()), sanitize=False)
            if told.jobs:
                self._show_jobs(told)

    def _show_jobs(self, told: WhatIfOut) -> None:
        with card("Jobs"):
            table = ui.table(
                columns=COLUMNS, rows=[row_of(one) for one in told.jobs], row_key="id", pagination=25
            )
            table.props("flat dense wrap-cells").classes("w-full")
            for name, template in SLOTS.items():
                table.add_slot(f"body-cell-{name}", template)
            if told.more:
                ui.label(f"and {told.more:,} more").classes("t-muted")
