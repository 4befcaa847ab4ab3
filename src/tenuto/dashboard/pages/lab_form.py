"""The form of the laboratory: a trace, policies, a cluster, and by which rules."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from nicegui import ui
from nicegui.events import UploadEventArguments

from tenuto.dashboard.acting import tell_trouble
from tenuto.dashboard.frame import card
from tenuto.dashboard.lab.inputs import Inputs
from tenuto.dashboard.lab.offers import (
    MOST_BYTES,
    NAMED,
    OF_THE_TIME,
    OWN,
    PAST,
    PLACEMENTS,
    PROFILES,
    SEMANTICS,
    UPLOAD,
    Offers,
    Wish,
)
from tenuto.dashboard.lab.runs import LabRuns
from tenuto.dashboard.wording import size
from tenuto.errors import TenutoError

_CLUSTERS = {NAMED: "by its name", OWN: "our nodes"}
_USUAL = ("elasticflow", "edf")


class LabForm:
    """What is asked for, until it is begun."""

    def __init__(self, runs: LabRuns, offers: Offers, inputs: Inputs, user: str) -> None:
        self._runs = runs
        self._offers = offers
        self._inputs = inputs
        self._user = user
        usable = {policy.name for policy in offers.policies if not policy.lack}
        self._wish = Wish(trace=offers.traces[0].name, policies={name for name in _USUAL if name in usable})
        with card("Replay a trace"):
            with ui.row().classes("w-full items-start gap-4"):
                self._build_trace()
                self._build_cluster()
            self._build_policies()
            self._build_rules()
            with ui.row().classes("items-center gap-3"):
                self._start = ui.button("Start", icon="play_arrow", on_click=self._begin).props("no-caps")
                self._busy = ui.label("Checking…").classes("t-muted")
                self._busy.set_visibility(False)
            self._trouble = ui.label().classes("t-bad").props("role=alert").style("white-space: pre-wrap")
        self._another_trace()
        self._complain("")

    def _build_trace(self) -> None:
        library = {entry.name: f"{entry.name} ({entry.jobs:,} jobs)" for entry in self._offers.traces}
        with ui.column().classes("gap-2"):
            choice = ui.select({**library, **PAST, UPLOAD: "A CSV file of yours"}, label="Trace").classes(
                "w-64"
            )
            choice.set_value(self._wish.trace)
            choice.bind_value_to(self._wish, "trace").on_value_change(self._another_trace)
            self._file = ui.upload(
                label="CSV file",
                auto_upload=True,
                max_file_size=MOST_BYTES,
                on_upload=self._uploaded,
                on_rejected=lambda: tell_trouble(
                    f"Only a file of up to {MOST_BYTES // 1_000_000} MB is taken."
                ),
            )
            self._file.props('accept=".csv,.txt" flat bordered').classes("w-64")
            self._name = ui.label().classes("t-mono")

    def _build_cluster(self) -> None:
        with ui.column().classes("gap-2"):
            self._cluster = ui.select(_CLUSTERS, value=NAMED, label="Cluster").classes("w-64")
            self._cluster.bind_value_to(self._wish, "cluster")
        name = ui.input("Name of the cluster", value=self._wish.cluster_name).classes("w-52")
        name.props('hint="n16g8: 16 nodes of 8 slots"').bind_value_to(self._wish, "cluster_name")
        name.bind_visibility_from(self._cluster, "value", value=NAMED)

    def _build_policies(self) -> None:
        ui.label("Policies").classes("t-muted")
        with ui.row().classes("w-full gap-x-4 gap-y-0 items-center"):
            self._boxes = {}
            ui.button("All", on_click=lambda: self._mark(everybody=True)).props("flat dense no-caps")
            ui.button("None", on_click=lambda: self._mark(everybody=False)).props("flat dense no-caps")
            for policy in self._offers.policies:
                box = ui.checkbox(policy.name, value=policy.name in self._wish.policies)
                box.on_value_change(partial(self._picked, policy.name))
                box.tooltip(policy.lack or policy.about)
                box.set_enabled(not policy.lack)
                self._boxes[policy.name] = box
        for lack in dict.fromkeys(policy.lack for policy in self._offers.policies if policy.lack):
            ui.label(lack).classes("t-warn")

    def _build_rules(self) -> None:
        with ui.row().classes("w-full gap-4 items-center") as self._rules:
            placement = ui.select(list(PLACEMENTS), value=self._wish.placement, label="Placement")
            placement.classes("w-36").bind_value_to(self._wish, "placement")
            slot = ui.number("Slot, seconds", value=self._wish.slot, min=0)
            slot.classes("w-36").bind_value_to(self._wish, "slot")
            profiles = ui.select(list(PROFILES), value=self._wish.profiles, label="Profiles")
            profiles.classes("w-36").bind_value_to(self._wish, "profiles")
            compat = ui.select(dict(SEMANTICS), value="", label="Semantics")
            compat.classes("w-52").bind_value_to(self._wish, "compat")
        self._as_in_force = ui.label(
            "Slot, margin, costs, placement and settings are those of the platform; what really happened "
            "stands beside."
        ).classes("t-muted")

    def _another_trace(self) -> None:
        """What can be chosen depends on the trace."""
        past = self._wish.is_past
        for part in (self._file, self._name):
            part.set_visibility(self._wish.trace == UPLOAD)
        self._rules.set_visibility(not past)
        self._as_in_force.set_visibility(past)
        clusters = {OF_THE_TIME: "the nodes of that time", **_CLUSTERS} if past else _CLUSTERS
        chosen = self._cluster.value if self._cluster.value in clusters else NAMED
        self._cluster.set_options(clusters, value=OF_THE_TIME if past else chosen)

    def _mark(self, *, everybody: bool) -> None:
        for policy in self._offers.policies:
            self._boxes[policy.name].set_value(everybody and not policy.lack)

    def _picked(self, name: str) -> None:
        change = self._wish.policies.add if self._boxes[name].value else self._wish.policies.discard
        change(name)

    def _uploaded(self, event: UploadEventArguments) -> None:
        self._inputs.uploaded = event.file
        self._wish.file = event.file.name
        self._file.reset()
        self._name.set_text(f"{event.file.name}, {size(event.file.size())}")

    def _complain(self, trouble: str) -> None:
        self._trouble.set_text(trouble)
        self._trouble.set_visibility(bool(trouble))

    async def _begin(self) -> None:
        self._complain("")
        self._start.disable()
        self._busy.set_visibility(True)
        try:
            wish = replace(self._wish, policies=set(self._wish.policies))
            order = wish.order(self._offers)
            fill = partial(self._inputs.fill, wish)
            run = await self._runs.begin(order, self._user, fill, title=wish.title, rules=wish.rules)
            ui.navigate.to(f"/lab/{run.id}")
        except TenutoError as error:
            self._complain(str(error))
        finally:
            self._busy.set_visibility(False)
            self._start.enable()
