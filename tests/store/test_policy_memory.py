"""What a policy remembers survives a restart bit for bit, and nothing else can be smuggled in with it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from tests.builders import a_job, a_workload, a_world, as_usual
from tests.properties.checks import as_plain

from tenuto.model.plan import Decision
from tenuto.model.reservations import no_reservations
from tenuto.model.snapshot import Rules, Snapshot
from tenuto.policy.base import Policy
from tenuto.policy.registry import POLICIES
from tenuto.rounds.round import run_round
from tenuto.store.policy_memory import decode, encode

ELASTICFLOW = POLICIES["elasticflow"]
every_policy = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())


@dataclass(frozen=True)
class OfATest:
    """What a policy outside of tenuto might remember."""

    turns: dict[int, tuple[float, ...]]
    column: Any
    inner: OfATest | None = None


def decide(snap: Snapshot) -> Decision:
    raise NotImplementedError


MINE = Policy("mine", "A policy of this test.", decide, promises=False)


def through_json(value: Any, policy: Policy) -> Any:
    return decode(json.loads(json.dumps(encode(value), allow_nan=False)), policy)


@every_policy
def test_every_policy_goes_on_from_its_stored_memory_as_if_nothing_had_happened(policy: Policy) -> None:
    jobs = [
        a_job(
            arrived=10.0 * k, deadline=inf if k % 3 == 0 else 400.0 + 90.0 * k, left=120.0 + 40.0 * k, size=2
        )
        for k in range(9)
    ]
    world = a_world(a_workload(jobs=jobs, nodes=(4, 4)), cost=as_usual, rules=Rules(margin=0.1))
    remembered = 0
    while (due := world.next_event()) < inf:
        world.advance_to(due)
        known = run_round(world.snapshot(), policy)
        memory = world.memory

        world.memory = through_json(memory, policy)

        assert as_plain(world.memory) == as_plain(memory)
        again = run_round(world.snapshot(), policy)
        assert as_plain(again) == as_plain(known)
        remembered += memory is not None
        world.apply(again)
    assert remembered or policy.name in ("elasticflow-no-admission", "edf", "fifo")


def test_columns_keep_whether_they_may_be_written() -> None:
    fixed, loose = np.arange(3), np.zeros((2, 2), dtype=np.float32)
    fixed.setflags(write=False)

    first, second = through_json((fixed, loose), ELASTICFLOW)

    assert (first.flags.writeable, second.flags.writeable) == (False, True)
    assert (first.dtype, second.dtype, second.shape) == (np.int64, np.float32, (2, 2))


def test_numbers_that_json_does_not_know_come_back() -> None:
    values = (inf, -inf, nan, np.float64(1.5), np.int64(7), np.bool_(True), 2**70, "작업 任务 zadanie", None)

    back = through_json(values, ELASTICFLOW)

    assert str(back) == str(values)


def test_a_policy_of_another_package_may_remember_classes_of_its_own() -> None:
    memory = OfATest({1: (0.5, inf)}, np.arange(2), OfATest({}, None))

    assert as_plain(through_json(memory, MINE)) == as_plain(memory)
    assert through_json(memory, ELASTICFLOW) is None


def test_what_no_memory_should_hold_is_refused_when_it_is_stored() -> None:
    for value in (object(), {1, 2}, np.array([object()]), ELASTICFLOW):
        with pytest.raises(TypeError):
            encode(value)


@pytest.mark.parametrize(
    "value",
    [
        {"class": "os:system", "fields": {}},
        {"class": "tenuto.policy.base:Policy.tuned", "fields": {}},
        {"class": "tenuto.policy.base:replace", "fields": {}},
        {"class": "tenuto.model.reservations:Reservations", "fields": {"number": 1}},
        {"class": "tenuto.model.reservations:Gone", "fields": {}},
        {"class": "tenuto.policy.of_a_later_version:Memory", "fields": {}},
        {"class": "tenuto.policyholders:Memory", "fields": {}},
        {"column": "no base64!", "dtype": "<i8", "shape": [1], "frozen": True, "scalar": False},
        {"column": "AAAA", "dtype": "<i8", "shape": [1], "frozen": True, "scalar": False},
        {"column": "", "dtype": "|O", "shape": [0], "frozen": True, "scalar": False},
        {"column": "", "dtype": "<i8"},
        {"anything": 1},
        [1, 2],
    ],
)
def test_what_cannot_be_read_lets_the_policy_begin_anew(value: Any) -> None:
    assert decode(value, ELASTICFLOW) is None


def test_an_empty_memory_is_small() -> None:
    assert len(json.dumps(encode(no_reservations()))) < 1000
