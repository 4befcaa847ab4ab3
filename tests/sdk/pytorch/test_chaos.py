"""One training run, disturbed at random again and again, ends with the weights of the undisturbed one."""

from __future__ import annotations

import os
import random
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.sdk.pytorch.stage import Nursery, Stage, run_alone
from tests.sdk.pytorch.weights import farthest, times_seen

_MOST = 4


class Mischief:
    """What can happen to a group."""

    def __init__(self, stage: Stage, seed: int) -> None:
        self._stage = stage
        self._chance = random.Random(seed)

    def happen(self) -> None:
        acts = [self._resize, self._resize_twice, self._move]
        acts += [self._kill, self._kill, self._kill_first, self._kill_a_newcomer, self._kill_during_a_rescale]
        self._chance.choice(acts)()
        self._stage.until_trained_by(len(self._stage.wanted), 1)

    def _resize(self) -> None:
        self._stage.want(self._chance.randint(1, _MOST))

    def _resize_twice(self) -> None:
        self._resize()
        self._wait_a_little()
        self._resize()

    def _move(self) -> None:
        leave = self._chance.sample(self._stage.wanted, self._chance.randint(1, len(self._stage.wanted)))
        self._stage.want(len(self._stage.wanted), without=tuple(leave))

    def _kill(self) -> None:
        self._die(self._chance.choice(self._stage.memberships[-1].workers))
        self._resize()

    def _kill_first(self) -> None:
        self._die(self._stage.memberships[-1].workers[0])
        self._resize()

    def _kill_a_newcomer(self) -> None:
        for newcomer in self._stage.want(min(_MOST, len(self._stage.wanted) + 1)):
            self._wait_a_little()
            self._die(newcomer)
        self._resize()

    def _kill_during_a_rescale(self) -> None:
        self._resize()
        self._wait_a_little()
        self._die(self._chance.choice(self._stage.alive))
        self._resize()

    def _die(self, victim: str) -> None:
        """Somebody with state survives: the loss of all is another story."""
        stage = self._stage
        trained = [
            w for w in stage.alive if (status := stage.actors[w].status) is not None and status.generation
        ]
        if trained not in ([], [victim]) and stage.actors[victim].is_alive:
            stage.kill(victim)
            stage.until(lambda: not stage.actors[victim].is_alive)

    def _wait_a_little(self) -> None:
        for _ in range(self._chance.randint(0, 100)):
            self._stage.pump_once()


def disturb(stage: Stage, seed: int, times: int) -> None:
    mischief = Mischief(stage, seed)
    stage.want(2)
    stage.until_trained_by(2)
    for _ in range(times):
        mischief.happen()
    stage.until_all_left()


def grown(moments: list[dict[str, Any]]) -> float:
    """The most memory a worker ever had, against what it had after a third of its life; 1 for a short one."""
    return float(moments[-1]["memory"] / moments[len(moments) // 3]["memory"]) if len(moments) > 100 else 1.0


def check(stage: Stage, undisturbed: dict[str, Any]) -> None:
    assert farthest(stage.final(), undisturbed) < 1e-6
    assert set(stage.exit_codes().values()) <= {0, 137, 143}
    by_worker = defaultdict(list)
    for moment in stage.moments():
        by_worker[moment["worker"]].append(moment)
    for moments in by_worker.values():
        steps = [moment["step"] for moment in moments]
        assert steps == sorted(steps), "a step counter went back"
        assert len({moment["pid"] for moment in moments}) == 1
        assert grown(moments) < 1.2, "memory is not flat"
        # 3 connections to others, each known twice, and at most one group that is being closed
        assert max(moment["descriptors"] for moment in moments) - min(m["descriptors"] for m in moments) < 40
        assert max(moment["threads"] for moment in moments) < 16


def test_twenty_random_rescales_and_kills_lose_and_repeat_no_sample(
    nursery: Nursery, set_stage: Callable[..., Stage], tmp_path: Path
) -> None:
    sizes = {"SAMPLES": "48", "BATCH": "12", "STEPS": "400"}
    undisturbed = run_alone(nursery, tmp_path / "alone", MODEL_SEED="5", **sizes)
    seed = int(os.environ.get("SEED", "20"))

    with set_stage(**sizes) as stage:
        disturb(stage, seed, 20)

        check(stage, undisturbed)
        assert times_seen(stage.final()) == {100}


@pytest.mark.chaos
def test_hundreds_of_random_rescales_and_kills_lose_and_repeat_no_sample(
    nursery: Nursery, set_stage: Callable[..., Stage], tmp_path: Path
) -> None:
    times = int(os.environ.get("KILLS", "200"))
    sizes = {"SAMPLES": "48", "BATCH": "12", "STEPS": str(20 * times)}
    undisturbed = run_alone(nursery, tmp_path / "alone", MODEL_SEED="5", **sizes)
    seed = int(os.environ.get("SEED", "0"))

    with set_stage(**sizes) as stage:
        disturb(stage, seed, times)

        check(stage, undisturbed)
        assert times_seen(stage.final()) == {5 * times}
