"""The cluster as one point of the history."""

from __future__ import annotations

from tests.monitor.prometheus.pages import NOW, a_job, a_node

from tenuto.model.node import NodeState
from tenuto.model.phase import Phase, PromiseState
from tenuto.model.series import Subject
from tenuto.monitor.facts import Facts, cluster_points


def test_a_point_of_the_cluster_counts_what_can_be_used() -> None:
    facts = Facts(
        at=NOW,
        jobs={Phase.RUNNING: 3, Phase.SUCCEEDED: 50},
        promises={PromiseState.AT_RISK: 2, PromiseState.BROKEN: 1},
        outcomes={PromiseState.KEPT: 40, PromiseState.BROKEN: 5},
        queue=7,
        nodes=[
            a_node("one", slots=8, used=6),
            a_node("둘", slots=4, used=3),
            a_node("away", state=NodeState.OFFLINE, slots=4, used=4),
            a_node("leaving", state=NodeState.DRAINING, slots=4),
        ],
    )

    points = cluster_points(facts)

    assert (points.subject, points.at) == (Subject("cluster"), [NOW])
    assert {name: value for name, [value] in points.values.items()} == {
        "slots": 12,
        "slots_used": 9,
        "nodes": 4,
        "nodes_online": 2,
        "queue": 7,
        "running": 3,
        "promises_kept": 40,
        "promises_at_risk": 2,
        "promises_broken": 5,
        "efficiency": 0.75,
    }


def test_a_cluster_without_slots_has_no_efficiency() -> None:
    assert cluster_points(Facts(at=NOW)).values["efficiency"] == [None]


def test_jobs_that_do_not_scale_in_proportion_make_a_cluster_less_efficient() -> None:
    running = Facts(
        at=NOW,
        nodes=[a_node("one", slots=8, used=6)],
        live=[a_job("k1", slots_lost=1.5), a_job("k2", slots_lost=0.5), a_job("no curve")],
    )

    assert cluster_points(running).values["efficiency"] == [0.5]
