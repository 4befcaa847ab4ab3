"""A platform that has lived through a trace, for stories about its past."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import NamedTuple

import pytest
from tests.builders import AJob
from tests.live.lockstep import Live, some_jobs, without_deadlines
from tests.server.serving import Served, a_server


class Lived(NamedTuple):
    """What was asked for, and what there is now."""

    jobs: list[AJob]
    served: Served
    live: Live


def played(served: Served, jobs: list[AJob], policy: str) -> Live:
    """Let a platform live through a trace."""
    live = Live(served, jobs, policy)
    with closing(live.stage.client):
        live.play()
    return live


@pytest.fixture(scope="session")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lived]:
    """Twenty-five jobs under elasticflow, some without a deadline, some declined."""
    jobs = without_deadlines(some_jobs(25, seed=2), every=6)
    with a_server(tmp_path_factory.mktemp("lived")) as served:
        yield Lived(jobs, served, played(served, jobs, "elasticflow"))
