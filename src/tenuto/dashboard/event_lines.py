"""What happened, as lines of a page: when, what, who did it and why, with links. Pure; everything is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

from tenuto.dashboard.event_words import actor, reason, told
from tenuto.dashboard.wording import job_path, link, moment, node_path, sentence
from tenuto.wire.replies import EventOut

_SOMEWHERE = frozenset({"worker", "loss", "hung", "problem"})
"""What happened to a job at one node; of other events of jobs it is only where they were told."""


def event_lines(events: Iterable[EventOut], names: Mapping[str, str], *, about: str = "") -> str:
    """HTML: a line for each event, the newest first; `about` is the node or job that need not be named."""
    newest_first = sorted(events, key=lambda event: -event.id)
    return f'<div class="t-events">{"".join(_line(event, names, about) for event in newest_first)}</div>'


def jobs_in(events: Iterable[EventOut]) -> set[str]:
    """The jobs that have to be named."""
    return {event.job for event in events if event.job}


def _line(event: EventOut, names: Mapping[str, str], about: str) -> str:
    whom, where = "", ""
    if event.job and event.job != about:
        whom = link(job_path(event.job), names.get(event.job) or event.job)
    if event.node and event.node != about:
        node = link(node_path(event.node), event.node)
        if not event.job:
            whom = node
        elif event.kind in _SOMEWHERE:
            where = f" on {node}"
    words = told(event) if whom else f"{told(event)[:1].upper()}{told(event)[1:]}"
    because = reason(event)
    why = f'<div class="t-muted">{sentence(because)}</div>' if because else ""
    return (
        f'<div class="t-event"><span class="t-when">{moment(event.at)}</span>'
        f"<div>{whom} {escape(words)}{where}{_by(event)}{why}</div></div>"
    )


def _by(event: EventOut) -> str:
    """Who did it, if it was somebody else than the job, the node, or the controller that looks after both."""
    who, _, name = event.actor.rpartition(":")
    if who == "worker" or event.actor == "controller" or (who == "node" and name == event.node):
        return ""
    told_by = link(node_path(name), name) if who == "node" else escape(actor(event))
    return f' <span class="t-muted">· {told_by}</span>'
