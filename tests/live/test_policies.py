"""All policies can be chosen, and none can bring the platform down."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import pytest
from tests.live.platform import Platform

from tenuto.model.phase import Phase
from tenuto.policy.registry import POLICIES

P = Phase


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_can_be_chosen_while_jobs_run(policy: str) -> None:
    here = Platform()
    job = here.submit(steps=100.0, max_workers=2)
    here.set_policy(policy, start_cost=0.0, rescale_cost=0.0)
    other = here.submit("inny", steps=100.0, max_workers=2)
    for _ in range(6):
        here.pass_time(30.0)

    for one in (job, other):
        assert here.phase(one) in (P.RUNNING, P.QUEUED)
        if here.workers(one):
            here.exit(one)
            assert here.phase(one) is P.SUCCEEDED
    assert not here.events(kind="policy")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("raise ZeroDivisionError('nic')", "ZeroDivisionError: nic"),
        ("raise SystemExit('koniec')", "SystemExit: koniec"),
        ("return 7", "returned 7 and not a Decision"),
        ("return Decision(np.full(len(snap), 99), {}, np.inf)", "gave 198 of 4 slots"),
    ],
)
def test_a_policy_that_fails_leaves_all_jobs_as_they_are(body: str, told: str, tmp_path: Path) -> None:
    here = Platform()
    job = here.submit()
    bad = tmp_path / "zła.py"
    bad.write_text(
        f"import numpy as np\nfrom tenuto.model.plan import Decision\n\n\ndef decide(snap):\n    {body}\n",
        encoding="utf-8",
    )
    here.set_policy(str(bad))
    waits = here.submit("czeka")

    assert (here.phase(job), here.job(job).generation, here.phase(waits)) == (P.RUNNING, 1, P.SUBMITTED)
    (event,) = here.events(kind="policy")
    assert told in event.reason
    here.pass_time(100.0)
    here.exit(job)
    assert here.phase(job) is P.SUCCEEDED, "what happens is still noticed"
    assert len(here.events(kind="policy")) == 1

    here.set_policy("elasticflow")
    here.pass_time(60.0)
    assert here.phase(waits) is P.RUNNING


@pytest.mark.parametrize("name", ["elastikflow", "/nowhere/policy.py"])
def test_a_policy_that_does_not_exist_is_told_and_changes_nothing(name: str) -> None:
    here = Platform()
    job = here.submit()
    here.set_policy(name)
    here.settle()

    assert here.phase(job) is P.RUNNING
    assert len(here.events(kind="policy")) == 1


def test_a_policy_that_fails_is_asked_again_later_and_later(tmp_path: Path) -> None:
    here = Platform()
    bad = tmp_path / "bad.py"
    bad.write_text("ASKED = []\n\n\ndef decide(snap):\n    ASKED.append(snap.now)\n    raise ValueError\n")
    here.set_policy(str(bad))
    for _ in range(32):
        here.pass_time(0.5)

    asked = sys.modules[str(bad)].ASKED
    assert [later - earlier for earlier, later in pairwise(asked)] == [1.0, 2.0, 4.0, 8.0]


def test_settings_of_a_policy_are_heeded() -> None:
    here = Platform(policy="gandiva", settings={"quantum": 5.0}, start_cost=0.0)
    jobs = [here.submit(f"작업 {k}", min_workers=4, preferred=4) for k in range(2)]
    ran = set()
    for _ in range(4):
        here.pass_time(5.0)
        ran |= {job for job in jobs if here.workers(job)}

    assert ran == set(jobs)
