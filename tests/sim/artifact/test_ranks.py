"""Placement: where jobs are put, biggest first, on nodes in the reference's order."""

from __future__ import annotations

import numpy as np

from tenuto.model.cluster import Cluster
from tenuto.sim.artifact.overhead import costs_of
from tenuto.sim.artifact.queues import append
from tenuto.sim.artifact.ranks import Groups, groups_of, place_by_size, place_in_order, release_jobs
from tenuto.sim.artifact.state import JOB, Rows, queue_for, rules_for


class Floor:
    """A cluster on which lists of sizes are placed, each after the release of the previous one."""

    def __init__(self, cluster: Cluster) -> None:
        self.rules = rules_for(cluster, 60, refresh=True)
        self.groups: Groups = groups_of(cluster)
        self.rows: Rows = np.zeros(64, dtype=JOB)
        self.rows["event"] = np.inf
        self.queue = queue_for(64)

    def placed(self, *sizes: int, sorted_by_size: bool = True) -> list[int]:
        """Release everything, place jobs of these sizes, return their first GPUs; -1 where no room was left."""
        release_jobs(self.rules, self.rows, self.queue, self.groups, 0.0)
        self.queue.size[0] = 0
        self.rows["gpus"][: len(sizes)] = sizes
        self.rows["rank"] = -1
        for job in range(len(sizes)):
            append(self.queue, job)
        if sorted_by_size:
            place_by_size(self.rules, self.rows, self.queue, self.groups)
        else:
            place_in_order(self.rules, self.rows, self.queue, self.groups)
        return [int(rank) for rank in self.rows["rank"][: len(sizes)]]


def test_large_jobs_take_whole_nodes_and_small_ones_share() -> None:
    floor = Floor(Cluster.regular("four", nodes=4, slots=8))

    assert floor.placed(16, 8, 4, 2, 2) == [0, 16, 24, 28, 30]


def test_a_small_job_prefers_the_hole_of_its_own_size() -> None:
    floor = Floor(Cluster.regular("two", nodes=2, slots=8))

    # The 4 leaves a hole of 4; the first 1 goes there and leaves 3, so the next one fits a hole of class 1.
    assert floor.placed(8, 4, 1, 1) == [0, 8, 12, 13]


def test_everything_is_packed_afresh_at_every_event() -> None:
    floor = Floor(Cluster.regular("two", nodes=2, slots=8))

    assert floor.placed(8, 8) == [0, 8]
    assert floor.placed(4, 4, 8) == [8, 12, 0]


def test_of_two_nodes_with_one_number_the_one_that_was_not_used_comes_first() -> None:
    floor = Floor(Cluster.regular("switches", switches=2, nodes=2, slots=8))

    assert floor.placed(8) == [0]
    assert floor.placed(8, 8) == [16, 0]
    # Both namesakes were released, the one of the second switch first.
    assert floor.placed(8, 8, 8) == [16, 0, 8]


def test_a_job_over_two_switches_begins_at_the_lower_rank() -> None:
    floor = Floor(Cluster.regular("switches", switches=2, nodes=2, slots=8))

    assert floor.placed(8) == [0]
    assert floor.placed(16) == [0]


def test_jobs_placed_in_any_order_may_find_no_room() -> None:
    floor = Floor(Cluster.regular("two", nodes=2, slots=2))

    assert floor.placed(1, 2, 2, sorted_by_size=False) == [0, 2, -1]


def test_the_costs_of_scaling_are_the_reference_s() -> None:
    small, large = costs_of(128), costs_of(256)

    assert small.fresh[0].tolist() == [4, 6, 8, 10, 12, 14, 16]
    assert small.fresh[1].tolist() == [31, 33, 35, 37, 39, 41, 43]
    assert large.fresh[0].tolist() == [9, 11, 13, 15, 17, 19, 21]
    assert large.fresh[1].tolist() == [56, 58, 60, 62, 64, 66, 68]
    assert (small.cached, large.cached) == (2, 7)
