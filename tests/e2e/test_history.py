"""The past of a real platform: exported, replayed as it is told, and decided along by shadows that survive a kill."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from tests.e2e.jobs import a_toy
from tests.e2e.platform import Platform, eventually

from tenuto.client.plain import PlainClient


def decided(client: PlainClient) -> Any:
    """The report, once every shadow has seen both jobs, and that one of them is done."""

    def look() -> Any:
        told = client.shadows()
        tallies = [told["really"], *(one["tally"] for one in told["shadows"])]
        seen = all(one is not None and one["jobs"] == 2 and one["finished"] for one in tallies)
        return told if seen else None

    return eventually(look, "every shadow has seen both jobs")


def test_a_week_is_exported_replayed_and_decided_along(
    platform: Platform, client: PlainClient, tmp_path: Path
) -> None:
    eventually(lambda: platform.decides, "the controller decides")
    platform.cli("policy", "shadow", "elasticflow,fifo")
    kept = client.submit(a_toy("obietnica", tmp_path, steps=50, deadline="+10m"))["id"]
    refused = client.submit(a_toy("nadzieja", tmp_path, steps=1_000_000, deadline="+1m"))["id"]
    platform.wait_for(kept, "succeeded")
    platform.wait_for(refused, "declined")

    told = decided(client)

    assert (told["in_force"], told["really"]["declined"], told["really"]["kept"]) == ("elasticflow", 1, 1)
    elasticflow, fifo = told["shadows"]
    assert (elasticflow["tally"]["declined"], fifo["tally"]["declined"]) == (1, 0)
    assert {one["name"] for one in fifo["differences"]} >= {"nadzieja"}
    assert "nadzieja" in platform.cli("policy", "shadow")

    out = tmp_path / "tydzień"
    about = platform.json("history", "export", "--since", "1d", "--out", str(out))
    assert (about["jobs"], about["slots"]) == (2, 12)
    ours, themis = platform.json(*shlex.split(about["command"])[1:])
    assert (ours["policy"], ours["declined"], ours["met"]) == ("elasticflow", 1, 1)
    assert (themis["policy"], themis["declined"]) == ("themis", 0)


def test_shadows_go_on_after_the_server_was_killed(platform: Platform) -> None:
    platform.kill()
    platform.up()

    with platform.client(patience=10.0) as client:
        told = decided(client)
        assert [one["policy"] for one in told["shadows"]] == ["elasticflow", "fifo"]
        assert client.set_shadows([])["shadows"] == []
