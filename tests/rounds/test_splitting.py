"""Placements that may split a job: packed, spread, or by lot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from tests.builders import AJob, a_job, a_snapshot

from tenuto.model.columns import Ints
from tenuto.model.plan import Decision
from tenuto.model.snapshot import IDLE, Placement, Rules
from tenuto.rounds.placement import place

THREE = {1: 1.0, 3: 3.0, 4: 4.0}


def placed(
    jobs: Sequence[AJob],
    sizes: Sequence[int],
    placement: Placement,
    *,
    nodes: Sequence[int] = (4, 4, 4),
    seed: int = 0,
    lost: Sequence[int] = (),
) -> Ints:
    snap = a_snapshot(jobs=jobs, nodes=nodes, rules=Rules(placement=placement, seed=seed), lost=lost)
    return place(snap, Decision(np.array(sizes, dtype=np.int64), {}, np.inf))


def parts(layout: Ints, number: int) -> list[int]:
    return [int(np.count_nonzero(layout[first : first + 4] == number)) for first in (0, 4, 8)]


def test_packing_fills_the_fullest_node_first() -> None:
    layout = placed([a_job(on=[4], curve=THREE), a_job(curve=THREE)], [1, 4], Placement.PACK)

    assert parts(layout, 1) == [1, 3, 0]


def test_spreading_goes_to_the_emptiest_node_first() -> None:
    layout = placed([a_job(on=[4, 5, 6], curve=THREE), a_job(curve=THREE)], [3, 4], Placement.SPREAD)

    assert parts(layout, 1) == [2, 0, 2]


def test_lots_are_drawn_from_the_seed_alone() -> None:
    jobs = [a_job(curve=THREE) for _ in range(3)]
    layouts = [placed(jobs, [3, 3, 3], Placement.RANDOM, seed=seed).tolist() for seed in range(8)]

    assert layouts[3] == placed(jobs, [3, 3, 3], Placement.RANDOM, seed=3).tolist()
    assert len({tuple(layout) for layout in layouts}) > 1


@pytest.mark.parametrize("placement", [Placement.PACK, Placement.SPREAD, Placement.RANDOM])
def test_who_keeps_its_size_is_never_moved(placement: Placement) -> None:
    jobs = [a_job(on=[1, 5, 9], curve=THREE), a_job(on=[0, 2, 3], curve=THREE), a_job(curve=THREE)]

    layout = placed(jobs, [3, 4, 4], placement)

    assert np.flatnonzero(layout == 0).tolist() == [1, 5, 9]
    assert [int(np.count_nonzero(layout == number)) for number in (1, 2)] == [4, 4]


@pytest.mark.parametrize("placement", [Placement.PACK, Placement.SPREAD, Placement.RANDOM])
def test_odd_sizes_fill_the_cluster_to_the_last_slot_but_not_the_lost_node(placement: Placement) -> None:
    layout = placed([a_job(curve=THREE) for _ in range(3)], [3, 1, 4], placement, lost=[1])

    assert np.count_nonzero(layout == IDLE) == 0
    assert parts(layout, 0)[1] == parts(layout, 1)[1] == parts(layout, 2)[1] == 0


def test_if_nothing_changes_the_layout_stays() -> None:
    layout = placed([a_job(on=[0, 4, 8], curve=THREE)], [3], Placement.PACK)

    assert np.flatnonzero(layout == 0).tolist() == [0, 4, 8]
