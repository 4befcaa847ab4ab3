"""Why a job is as it is, as HTML. Pure."""

from __future__ import annotations

from html import escape

from tenuto.dashboard.wording import job_path, link, moment, sentence
from tenuto.wire.questions import ExplainOut, HolderOut, RemedyOut


def explained(found: ExplainOut) -> str:
    """HTML of an explanation."""
    parts = ["".join(f"<p>{sentence(one)}</p>" for one in found.sentences)]
    if found.in_the_way:
        parts.append("<h3>In the way</h3><ul>" + "".join(map(_holder, found.in_the_way)) + "</ul>")
    if found.remedies:
        parts.append("<h3>What would help</h3><ul>" + "".join(map(_remedy, found.remedies)) + "</ul>")
    parts.append(f'<p class="t-muted">As of {moment(found.as_of)}.</p>')
    return f'<div class="t-words">{"".join(parts)}</div>'


def _holder(one: HolderOut) -> str:
    slots = "1 slot" if one.slots == 1 else f"{one.slots} slots"
    promised = "" if one.promised is None else f", promised {moment(one.promised)}"
    until = "" if one.finish is None else f", done {moment(one.finish)}"
    return f"<li>{link(job_path(one.id), one.name)} has {slots}{promised}{until}</li>"


def _remedy(one: RemedyOut) -> str:
    command = f"<br><code>{escape(one.command)}</code>" if one.command else ""
    return f"<li>{sentence(one.sentence)}{command}</li>"
