"""All pages on one site. Importing it loads NiceGUI."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI

from tenuto.dashboard.pages import (
    job,
    jobs,
    lab,
    node,
    nodes,
    overview,
    scaling,
    submit,
    timeline,
    whatif,
)
from tenuto.dashboard.site import Site


def site_of(api: FastAPI, directory: Path) -> Site:
    """The site over a server's app; runs of its laboratory lie in `directory`."""
    site = Site(api, api.state.platform, api.state.gate, directory)
    for page in (overview, timeline, jobs, submit, job, nodes, node, whatif, lab, scaling):
        page.add(site)
    return site
