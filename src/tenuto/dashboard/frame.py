"""What all pages have in common: the head, the navigation, the keys."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape

from nicegui import Client, ui
from starlette.requests import Request
from starlette.responses import Response

import tenuto
from tenuto.errors import TenutoError


@dataclass(frozen=True, slots=True)
class Entry:
    """A page in the navigation."""

    path: str
    label: str
    icon: str
    key: str
    """Pressed after `g` it leads there."""


NAVIGATION = (
    Entry("/", "Overview", "dashboard", "o"),
    Entry("/timeline", "Timeline", "view_timeline", "t"),
    Entry("/jobs", "Jobs", "list_alt", "j"),
    Entry("/submit", "Submit", "add_circle_outline", "s"),
    Entry("/nodes", "Nodes", "dns", "n"),
    Entry("/whatif", "What if", "help_outline", "w"),
    Entry("/lab", "Lab", "science", "l"),
    Entry("/scaling", "Scaling log", "swap_vert", "c"),
)


@contextmanager
def frame(title: str, active: str, user: str) -> Iterator[None]:
    """Everything around a page; what is made inside is its content. `active` is the path of its entry."""
    ui.page_title(f"{title} · tenuto")
    ui.colors(primary="#0f766e", positive="#15803d", warning="#b45309", negative="#b42318", info="#1d4ed8")
    ui.add_head_html(
        '<link rel="stylesheet" href="/page/page.css"><script src="/page/page.js" defer></script>'
    )
    ui.add_body_html(_keys())
    drawer = (
        ui.left_drawer(value=False, bordered=True)
        .props("show-if-above width=200 breakpoint=900")
        .classes("p-0")
    )
    with drawer:
        ui.html(_links(active), sanitize=False).classes("w-full")
    with ui.header(elevated=False).classes("items-center py-2 px-3 gap-3"):
        ui.button(icon="menu", on_click=drawer.toggle).props('flat dense color=white aria-label="Navigation"')
        ui.html(
            '<a href="/" style="color:#fff;text-decoration:none;font-weight:700">tenuto</a>', sanitize=False
        )
        ui.label(title).classes("text-base ellipsis").style("max-width: 55vw")
        ui.space()
        ui.label(user).classes("t-wide opacity-80")
        ui.button(icon="contrast").props('flat dense color=white aria-label="Light or dark"').on(
            "click", js_handler="() => window.tenutoColours()"
        )
        ui.html(
            '<form method="post" action="/logout" style="display:flex">'
            '<button class="q-btn q-btn--flat" title="Log out" aria-label="Log out" '
            'style="color:#fff;cursor:pointer;background:none;border:0;padding:4px;justify-content:center">'
            '<i class="q-icon material-icons" aria-hidden="true">logout</i></button></form>',
            sanitize=False,
        )
    with ui.column().classes("t-page"):
        yield


@contextmanager
def card(title: str = "") -> Iterator[ui.card]:
    """A box with a title."""
    with ui.card().classes("t-card") as made:
        if title:
            ui.label(title).classes("t-title").props("role=heading aria-level=2")
        yield made


def empty(text: str, command: str = "") -> None:
    """Where there is nothing to show: why, and what to do next."""
    with ui.column().classes("t-empty w-full items-center gap-1"):
        ui.label(text)
        if command:
            ui.label(command).classes("t-mono")


def out_of_order(error: Exception) -> None:
    """In place of a page that could not be drawn: what is the matter, and what to do."""
    with frame("Out of order", "", ""), card():
        known = isinstance(error, TenutoError)
        empty(str(error) if known else "This page could not be drawn; the server's log tells why.")
        ui.html('<a class="t-link" href="">Try again</a>', sanitize=False).classes("self-center")


async def nowhere(request: Request, _: Exception) -> Response:
    """In place of a page that does not exist."""
    if request.url.path.startswith("/_nicegui"):
        return Response(status_code=404)
    with Client(ui.page(""), request=request) as client:
        with frame("Not found", "", ""), card():
            empty("There is no such page.")
            ui.html('<a class="t-link" href="/">To the overview</a>', sanitize=False).classes("self-center")
        return client.build_response(request, 404)


def _links(active: str) -> str:
    rows = "".join(
        f'<a href="{entry.path}" data-key="{entry.key}"{" aria-current=page" if entry.path == active else ""}>'
        f'<i class="q-icon material-icons" aria-hidden="true">{entry.icon}</i>{escape(entry.label)}</a>'
        for entry in NAVIGATION
    )
    version = f'<div class="t-muted" style="padding:16px;font-size:12px">tenuto {tenuto.__version__}</div>'
    return f'<nav class="t-nav" aria-label="Pages">{rows}</nav>{version}'


def _keys() -> str:
    goes = "".join(
        f"<tr><td><kbd>g</kbd><kbd>{entry.key}</kbd></td><td>{escape(entry.label)}</td></tr>"
        for entry in NAVIGATION
    )
    rest = "<tr><td><kbd>/</kbd></td><td>Search</td></tr><tr><td><kbd>?</kbd></td><td>These keys</td></tr>"
    return f'<dialog id="t-keys" aria-label="Keys"><table>{goes}{rest}</table></dialog>'
