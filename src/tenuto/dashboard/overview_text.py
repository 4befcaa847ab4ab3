"""What stands on the overview, in words and figures. Pure: answers of the server as HTML; everything is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tenuto.dashboard.attention import Concern
from tenuto.dashboard.slot_map import Holder, SlotUse
from tenuto.dashboard.wording import job_path, link, moment
from tenuto.wire.overview import OverviewOut


def slots(use: SlotUse, nodes: int) -> str:
    """How many are used, of those that jobs can have."""
    away = f', <span class="t-warn">{use.unusable} not usable</span>' if use.unusable else ""
    count = "1 node" if nodes == 1 else f"{nodes} nodes"
    return (
        f'<div class="t-figure">{use.used} of {use.used + use.free}</div><div>used, {use.free} free{away}</div>'
        f'<div class="t-muted">{link("/nodes", count)}</div>'
    )


def promises(told: OverviewOut) -> str:
    """How they stand."""
    standing = told.promises
    risk = "t-warn" if standing.at_risk else ""
    broken = "t-bad" if standing.broken else ""
    return (
        f'<div class="t-figure">{standing.holds} <small>{link("/timeline", "holding")}</small></div>'
        f'<div><span class="{risk}">{standing.at_risk}</span> {link("#attention", "at risk")}</div>'
        f"<div>{standing.kept} {link('/jobs?state=succeeded', 'kept')}, "
        f'<span class="{broken}">{standing.broken}</span> '
        f'{link("#attention", "broken")} <span class="t-muted">within a day</span></div>'
    )


def queue(told: OverviewOut) -> str:
    """Who waits, and until when."""
    line, running = told.queue, told.cluster.jobs.get("running", 0)
    figure = (
        f'<div class="t-figure">{line.waiting} <small>{link("/jobs?state=queued", "waiting")}</small></div>'
    )
    runs = f"<div>{running} {link('/jobs?state=running', 'running')}</div>"
    if not line.waiting:
        return f'{figure}{runs}<div class="t-muted">{link("/submit", "Submit a job")}</div>'
    if line.next_start is None:
        return f'{figure}{runs}<div class="t-muted">until when cannot be foreseen</div>'
    return (
        f'{figure}{runs}<div class="t-muted">next start {moment(line.next_start)}, '
        f"all started {moment(line.empty_at, none='nobody knows when')}</div>"
    )


def policy(told: OverviewOut) -> str:
    """By which rules rounds decide, and whether they do."""
    controller = told.cluster.controller
    tone = "t-good" if controller.state == "deciding" else "t-warn"
    draining = ' <span class="t-warn">draining</span>' if told.cluster.draining else ""
    return (
        f'<div class="t-figure t-word">{escape(told.cluster.policy)}</div>'
        f'<div>controller <span class="{tone}">{escape(controller.state)}</span>{draining}</div>'
        f'<div class="t-muted">{link("/whatif", "What if it were another?")}</div>'
    )


def legend(holders: Sequence[Holder]) -> str:
    """Whose colours these are."""
    return '<div class="t-legend">' + "".join(
        f'<span><i class="t-swatch" style="background:{one.colour}"></i>{link(one.path, one.name)} '
        f'<span class="t-muted">{one.slots}</span></span>'
        for one in holders
    ) + "</div>"  # fmt: skip


def attention(found: Sequence[Concern], jobs: int) -> str:
    """Who needs somebody; `jobs` is how many there ever were."""
    if not jobs:
        return f'<div class="t-empty">No job yet. {link("/submit", "Submit the first one")}</div>'
    if not found:
        return '<div class="t-empty">Nothing: promises hold, GPUs are used, and nothing failed within a day.</div>'
    return '<div class="t-events">' + "".join(
        f'<div class="t-event"><div>{link(job_path(one.id), one.name)} '
        f'<span class="t-{one.tone}">{one.why}</span></div></div>'
        for one in found
    ) + "</div>"  # fmt: skip
