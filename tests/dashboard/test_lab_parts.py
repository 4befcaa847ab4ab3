"""What the laboratory's pages are made of: wishes, rows, charts."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from tenuto import plugins
from tenuto.dashboard.charts import GREY, PALETTE
from tenuto.dashboard.lab import charts
from tenuto.dashboard.lab import offers as offers_module
from tenuto.dashboard.lab.inputs import cluster_text, past_text
from tenuto.dashboard.lab.offers import (
    NAMED,
    OF_THE_TIME,
    OWN,
    UPLOAD,
    Offers,
    PolicyOffer,
    Wish,
    figure_order,
    kept_as,
    look_around,
)
from tenuto.dashboard.lab.record import Run, State
from tenuto.dashboard.lab.rows import numbers_of, remarks_on, result_rows, run_row, told_of
from tenuto.dashboard.wording import NONE
from tenuto.errors import InputInvalid
from tenuto.lab.as_it_was import NAME
from tenuto.lab.orders import FigureOrder, ReplayOrder

NOTHING: dict[str, Any] = {
    "deadline_jobs": 4, "admitted": 3, "declined": 1, "met": 3, "missed": 0, "ratio": 0.75, "mean_jct": 5000.0,
    "median_jct": 90.0, "makespan": None, "mean_efficiency": 0.5, "mean_allocated": 6.25,
}  # fmt: skip


def a_telling(name: str, **more: Any) -> dict[str, Any]:
    lines = {
        "allocated": [[0, 1], [7200, 2]],
        "submitted": [[0, 1]],
        "admitted": [[0, 1]],
        "jct": [[60, 0.5]],
    }
    return {"name": name, "row": {"policy": name, **NOTHING}, **lines, **more}


def a_run(**more: Any) -> Run:
    return Run(**{"id": "1", "title": "t", "figure": "", "user": "u", "created": 0.0, **more})


class TestWishes:
    def test_what_comes_with_tenuto_can_be_had(self) -> None:
        offers = look_around()

        assert {"demo-10", "lab-200"} <= {entry.name for entry in offers.traces}
        possible = {figure.name: figure.possible for figure in offers.figures}
        assert (possible["10"], possible["9"]) == (True, True)
        assert len(offers.policies) >= 11

    def test_what_must_be_installed_is_said(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for module in (offers_module, plugins):
            monkeypatch.setattr(module, "find_spec", lambda _: None)

        offers = look_around()

        assert "pip install 'tenuto[lab]'" in offers.drawing
        lacks = {policy.name: policy.lack for policy in offers.policies if policy.lack}
        assert "chronus" in lacks
        assert all("pip install 'tenuto[lab]'" in lack for lack in lacks.values())

    def test_a_wish_becomes_an_order(self) -> None:
        wish = Wish(trace="demo-10", policies={"fifo", "edf"}, cluster_name=" n1g8 ", compat="artifact")

        order = wish.order(look_around())

        assert order == ReplayOrder(
            trace="demo-10", policies=("edf", "fifo"), cluster="n1g8", compat="artifact"
        )
        assert (wish.title, wish.rules) == (
            "demo-10 on n1g8",
            "slot 60 s, placement buddy, profiles a100, the reference's semantics",
        )

    def test_everybody_is_all(self) -> None:
        offers = look_around()
        everybody = {policy.name for policy in offers.policies}

        assert Wish(trace="demo-10", policies=everybody).order(offers).policies == ("all",)

    def test_our_own_past_is_replayed_by_the_rules_of_the_platform(self) -> None:
        wish = Wish(trace="30d", policies={"themis"}, cluster=OF_THE_TIME, slot=None, compat="artifact")

        assert wish.order(look_around()) == ReplayOrder(trace="", policies=("themis",), cluster="")
        assert wish.title == "Our own last month on the nodes of that time"

    def test_files_are_named_as_ours(self) -> None:
        wish = Wish(trace=UPLOAD, policies={"fifo"}, cluster=OWN, file="내 추적.csv")

        order = wish.order(look_around())

        assert (order.trace, order.cluster) == ("inputs/내_추적.csv", "inputs/our-nodes.yaml")
        assert [kept_as(name) for name in ("../x.TXT", ".csv", "a.b")] == ["_x.txt", "trace.csv", "a.csv"]

    @pytest.mark.parametrize(
        ("more", "problem"),
        [
            ({"policies": set()}, "no policy"),
            ({"policies": {"../../own.py"}}, "no policy"),
            ({"trace": "/etc/passwd"}, "no trace"),
            ({"trace": UPLOAD}, "no file"),
            ({"cluster": NAMED, "cluster_name": "/etc/passwd"}, "is no cluster"),
            ({"slot": float("nan")}, "slot"),
            ({"slot": None}, "slot"),
        ],
    )
    def test_what_cannot_be_is_refused(self, more: dict[str, Any], problem: str) -> None:
        wish = Wish(**{"trace": "demo-10", "policies": {"fifo"}, **more})

        with pytest.raises(InputInvalid, match=problem):
            wish.order(look_around())

    def test_a_figure_goes_without_those_that_lack_something(self) -> None:
        offers = Offers((), (PolicyOffer("chronus", "", "needs highspy"),), (), "")

        order = figure_order("6a", "", without_pollux=True, offers=offers)

        assert order == FigureOrder(figure="6a", without=("chronus", "pollux"))
        lacking = Offers((), (PolicyOffer("gandiva", "", "needs luck"),), (), "")
        with pytest.raises(InputInvalid, match="relative to gandiva"):
            figure_order("11", "", without_pollux=True, offers=lacking)


class TestInputs:
    def test_the_past_is_told_oldest_first(self) -> None:
        told = json.loads(past_text(['{"id": "new"}', '{"id": "old"}'], '{"policy": "fifo"}'))

        assert told == {"time": {"policy": "fifo"}, "jobs": [{"id": "old"}, {"id": "new"}]}

    def test_our_nodes_are_a_cluster(self) -> None:
        told = yaml.safe_load(cluster_text({"노드": 4, "cpu-only": 0}))

        assert told == {"nodes": [{"slots": 4, "name": "노드"}]}
        with pytest.raises(InputInvalid, match="no node"):
            cluster_text({})


class TestRows:
    def test_numbers_are_written_as_the_command_does(self) -> None:
        [row] = result_rows([a_telling("edf")])

        assert (row["policy"], row["deadline_jobs"], row["ratio"], row["mean_allocated"]) == (
            *("edf", "4", "0.750", "6.2"),
        )
        assert (row["mean_jct"], row["median_jct"], row["makespan"]) == ("1h 23m", "1m 30s", NONE)

    def test_a_run_is_told_by_how_far_it_is(self) -> None:
        running = a_run(state=State.RUNNING, part=0.25, finished=1, cells=4)

        assert told_of(running) == "25%, 1 of 4 replays"
        assert told_of(a_run(state=State.DONE, started=10.0, ended=15.0)) == "done in 5s"
        assert told_of(a_run(state=State.INTERRUPTED)) == "interrupted"
        rows = [run_row(a_run(state=state)) for state in State]
        assert [row["live"] for row in rows] == [True, True, False, False, False, False]
        assert [row["stopped"] for row in rows] == [False, False, False, True, True, True]

    def test_what_is_not_as_it_was_is_said(self) -> None:
        past = {
            "guesses": {"paused": 2},
            "left_out": {"never_ran": 1},
            "nodes_changes": 2,
            "nodes_share": 0.5,
        }

        said = remarks_on(past)

        assert said[0].startswith("2 not quite as they were: without the pauses")
        assert said[1].startswith("1 left out: never ran")
        assert said[2].endswith("50% of the time")
        assert remarks_on({}) == []

    def test_the_numbers_of_a_figure_are_cut_short(self) -> None:
        rows, more = numbers_of(["series,value\n", *(f"edf,{n / 3}\n" for n in range(400))])

        assert (len(rows), more, rows[1]) == (300, True, {"series": "edf", "value": "0.333333"})


class TestCharts:
    def test_a_policy_has_one_colour_and_what_was_is_grey(self) -> None:
        tellings = [a_telling(NAME, allocated=[]), a_telling("edf"), a_telling("fifo")]

        grey, *others = charts.colours(tellings)

        assert (grey, others) == (GREY, list(PALETTE[:2]))
        slots = charts.allocated_chart(tellings, None)
        assert [one["name"] for one in slots["series"]] == ["edf", "fifo"]
        assert [one["itemStyle"]["color"] for one in slots["series"]] == others

    def test_the_time_is_that_of_the_trace_or_the_real_one(self) -> None:
        relative = charts.allocated_chart([a_telling("edf")], None)
        real = charts.allocated_chart([a_telling("edf")], 1000.0)

        assert (relative["xAxis"]["name"], relative["series"][0]["data"][-1]) == ("minutes", [120.0, 2])
        assert (real["xAxis"]["type"], real["series"][0]["data"][-1]) == ("time", [8_200_000, 2])

    def test_shares_are_percent(self) -> None:
        ratio, jct = charts.ratio_chart([a_telling("edf")]), charts.jct_chart([a_telling("edf")])

        assert ratio["series"][0]["data"][0]["value"] == 75.0
        assert jct["series"][0]["data"] == [[60.0, 50.0]]
        assert charts.admitted_chart([], None)["series"] == []
