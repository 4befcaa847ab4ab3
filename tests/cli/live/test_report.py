"""`tenuto report`: what became of promises and forecasts, in a few lines."""

from __future__ import annotations

import time

from tests.cli.live.site import Site, as_json, ok, tenuto

from tenuto.model.job import ANSWERED, STARTED, Foretold
from tenuto.model.phase import Phase, PromiseState


def test_promises_and_forecasts_are_told_in_sentences(site: Site) -> None:
    end = time.time() - 3600.0
    told = [
        Foretold(
            moment=moment,
            at=end - 900.0,
            finish=end - 120.0,
            late=end + 60.0,
            estimate=end,
            situation="runs/free/given",
        )
        for moment in (ANSWERED, STARTED)
    ]
    site.add_job(
        "k1", "훈련", phase=Phase.SUCCEEDED, ended_at=end, promise=PromiseState.KEPT, foretold=tuple(told)
    )
    site.add_job(
        "k2",
        "Żółw",
        phase=Phase.SUCCEEDED,
        ended_at=end,
        promise=PromiseState.BROKEN,
        breach="a node or its workers were lost (2 times)",
    )
    site.add_job("k3", "늦음", phase=Phase.DECLINED, why="deadline_infeasible", ended_at=end)

    printed = ok("report")

    assert "2 succeeded" in printed
    assert "1 kept, 1 broken, 0 withdrawn; 0 open" in printed
    assert "1 x a node or its workers were lost: Żółw (k2)" in printed
    assert "1 x deadline infeasible: 늦음 (k3)" in printed
    assert (
        printed.count("P50 held in 0% of 1 job, P90 held in 100%; off by 2 min, 2 min late on average") == 2
    )


def test_a_platform_without_a_past_says_so(site: Site) -> None:
    printed = ok("report")

    assert "no job" in printed
    assert printed.count("no job of which an end was foretold has succeeded") == 2


def test_json_is_what_the_server_says(site: Site) -> None:
    site.add_job("k1", phase=Phase.SUCCEEDED, ended_at=time.time() - 10 * 86_400.0)

    assert as_json("report")["ended"] == {}
    assert as_json("report", "--since", "30d")["ended"] == {"succeeded": 1}


def test_a_time_that_nobody_understands_is_refused(site: Site) -> None:
    refused = tenuto("report", "--since", "yesterday-ish")

    assert refused.exit_code == 2
