"""`tenuto open`: the page in a browser, without a token to be pasted."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tenuto.cli.connect import JsonOption, ServerOption, connect
from tenuto.cli.printing import console, print_json, say

EXAMPLES = "Examples: tenuto open · tenuto open --print"


def open_page(
    only_print: Annotated[
        bool, typer.Option("--print", help="Print the address instead of opening a browser.")
    ] = False,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Open the page in a browser, logged in.

    The address logs a browser in once, within a minute; it then stays logged in for thirty days.
    """
    with connect(server) as client:
        told = client.page()
        url = client.address[0] + told["path"]
    if as_json:
        print_json({"url": url, "seconds": told["seconds"]})
        return
    if only_print or not _opened(url):
        console().print(url, markup=False, soft_wrap=True)


def _opened(url: str) -> bool:
    import webbrowser  # few need it

    if not sys.stdout.isatty():
        return False
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    say("Opening the page in your browser.")
    return browser.open(url)
