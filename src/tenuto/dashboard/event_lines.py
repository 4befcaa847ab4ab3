"""What happened, as lines of a page: when, what, who did it and why, with links. Pure; everything is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

from tenuto.dashboard.wording import job_path, link, moment, node_path, sentence
from tenuto.wire.replies import EventOut

_NODE_ACTOR = "node:"


def event_lines(events: Iterable[EventOut], names: Mapping[str, str], *, about: str = "") -> str:
    """HTML: a line for each event, the newest first; `about` is the node or job that need not be named."""
    newest_first = sorted(events, key=lambda event: -event.id)
    return f'<div class="t-events">{"".join(_line(event, names, about) for event in newest_first)}</div>'


def jobs_in(events: Iterable[EventOut]) -> set[str]:
    """The jobs that have to be named."""
    return {event.job for event in events if event.job}


def what(event: EventOut) -> str:
    """The gist of it in a few words, without whom it is about."""
    if event.before and event.after:
        return f"{event.kind}: {event.before} → {event.after}"
    told = event.after or event.before
    return f"{event.kind}: {told}" if told and told != event.kind else event.kind


def _line(event: EventOut, names: Mapping[str, str], about: str) -> str:
    whom = []
    if event.job and event.job != about:
        whom.append(link(job_path(event.job), names.get(event.job) or event.job))
    if event.node and event.node != about:
        whom.append(link(node_path(event.node), event.node))
    why = f'<div class="t-muted">{sentence(event.reason)}</div>' if event.reason else ""
    return (
        f'<div class="t-event"><span class="t-when">{moment(event.at)}</span>'
        f"<div>{' '.join(whom)} {escape(what(event))} "
        f'<span class="t-muted">by {_actor(event.actor)}</span>{why}</div></div>'
    )


def _actor(actor: str) -> str:
    if actor.startswith(_NODE_ACTOR):
        name = actor.removeprefix(_NODE_ACTOR)
        return link(node_path(name), name)
    return escape(actor)
