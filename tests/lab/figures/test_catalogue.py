"""The table of figures: settings and published values."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tenuto.lab.figures import published
from tenuto.lab.figures.catalogue import FIGURES
from tenuto.lab.figures.looks import LOOKS
from tenuto.lab.figures.sources import CHECKSUMS, GeneratedTrace, PublicTrace, write_generated
from tenuto.sim.read_cluster import load_cluster
from tenuto.sim.read_trace import read_trace

TABLES = {name: table for name, table in vars(published).items() if name.isupper() and name != "SHARES"}


def test_the_figures_are_those_that_can_be_simulated() -> None:
    assert list(FIGURES) == ["6a", "6b", "7a", "7b", "8a", "8b", "9", "10", "11"]


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_has_looks_for_its_policies_and_a_checksum_for_its_public_traces(name: str) -> None:
    figure = FIGURES[name]

    assert set(figure.policies) <= set(LOOKS)
    assert {g.trace.name for g in figure.groups if isinstance(g.trace, PublicTrace)} <= set(CHECKSUMS)
    # Whoever looks the same in one picture cannot be told apart.
    assert len({(LOOKS[p].colour, LOOKS[p].hatch) for p in figure.policies}) == len(figure.policies)


@pytest.mark.parametrize(
    ("name", "places", "slots"),
    [
        ("6a", 1, [32]),
        ("8a", 1, [64]),
        ("8b", 11, [512, 512, 512, 1024, 512, 512, 1024, 1024, 1024, 256, 32]),
        ("9", 3, [64, 128, 256]),
        ("11", 9, [64] * 9),
    ],
)
def test_clusters_are_the_papers(name: str, places: int, slots: list[int]) -> None:
    groups = FIGURES[name].groups

    assert len(groups) == places
    assert [load_cluster(group.cluster).total for group in groups] == slots


@pytest.mark.parametrize(
    ("name", "compat", "solved_by"),
    [("8a", None, "chronus"), ("8a", "artifact", "chronus-greedy"), ("8b", None, "chronus-greedy")],
)
def test_chronus_is_solved_as_the_trace_and_the_semantics_ask(
    name: str, compat: str | None, solved_by: str
) -> None:
    wanted = FIGURES[name].wanted(compat, frozenset())

    assert [policy for policy in wanted if policy.startswith("chronus")] == [solved_by]
    assert solved_by not in FIGURES[name].wanted(compat, frozenset({"chronus"}))


def test_philly_runs_where_its_published_bars_belong() -> None:
    (philly,) = (group for group in FIGURES["8b"].groups if group.place == "Philly")

    assert philly.cluster == "n4g8"


def test_the_trace_of_figure_10_is_the_authors_to_the_byte(tmp_path: Path) -> None:
    trace = FIGURES["10"].groups[0].trace
    assert isinstance(trace, GeneratedTrace)

    content = write_generated(trace, tmp_path).read_bytes()

    assert hashlib.md5(content, usedforsecurity=False).hexdigest() == "989c168b3dffcb5038beec233de96431"


def test_the_traces_of_figure_11_differ_in_their_wishes_only(tmp_path: Path) -> None:
    traces = []
    for group in FIGURES["11"].groups:
        assert isinstance(group.trace, GeneratedTrace)
        traces.append(read_trace(write_generated(group.trace, tmp_path)))

    assert all(trace.models == traces[0].models for trace in traces)
    assert all((trace.steps == traces[0].steps).all() for trace in traces)
    shares = [trace.best_effort.mean() for trace in traces]
    assert shares == pytest.approx([k / 10 for k in range(1, 10)], abs=0.1)


def test_a_figure_never_shows_what_was_left_of_another_draw(tmp_path: Path) -> None:
    trace = FIGURES["10"].groups[0].trace
    assert isinstance(trace, GeneratedTrace)
    path = write_generated(trace, tmp_path)
    drawn = path.read_bytes()
    path.write_text("of another version")

    write_generated(trace, tmp_path)

    assert path.read_bytes() == drawn


@pytest.mark.parametrize("table", TABLES)
def test_published_tables_are_full(table: str) -> None:
    values = TABLES[table]
    policies = {policy for policy, _ in values}
    places = {place for _, place in values}

    assert len(values) == len(policies) * len(places)
    assert "elasticflow" in policies
    assert all(0 < value < 2 for value in values.values())


@pytest.mark.parametrize(
    ("table", "place", "jobs", "met"),
    [
        (published.TESTBED_25, "25 jobs", 25, [2, 6, 8, 7, 10, 8, 16]),
        (published.TESTBED_195, "195 jobs", 195, [17, 41, 89, 76, 80, 130]),
        (published.POLLUX_WORKLOAD, "195 jobs", 195, [23, 18, 56, 61, 51, 102, 142]),
    ],
    ids=["6a", "6b", "8a"],
)
def test_published_ratios_are_whole_jobs(
    table: published.Published, place: str, jobs: int, met: list[int]
) -> None:
    counts = [value * jobs for (_, where), value in table.items() if where == place]

    assert [round(count) for count in counts] == met
    assert counts == pytest.approx(met, abs=0.5)


@pytest.mark.parametrize("name", ["6a", "6b", "8a", "8b", "9"])
def test_every_bar_of_the_paper_has_its_place(name: str) -> None:
    figure = FIGURES[name]
    table = figure.tabulate.published  # type: ignore[attr-defined]

    ours = {(p.removesuffix("-greedy"), group.place) for p in figure.policies for group in figure.groups}

    assert set(table) == ours
