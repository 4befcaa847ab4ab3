"""Workers that die, hang or fall behind in the middle of training: the others lose no sample."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.sdk.pytorch.stage import Nursery, Stage, run_alone
from tests.sdk.pytorch.weights import farthest, times_seen

from tenuto.wire import records

Build = Callable[..., Stage]


def test_the_others_go_on_from_memory_when_one_of_three_is_killed(
    set_stage: Build, nursery: Nursery, tmp_path: Path
) -> None:
    undisturbed = run_alone(nursery, tmp_path / "alone", MODEL_SEED="5", STEPS="80", OPTIMIZER="adam")

    with set_stage(STEPS="80", OPTIMIZER="adam") as stage:
        stage.want(3)
        stage.until_trained_by(3, 10)
        stage.kill(stage.wanted[1])
        stage.until(lambda: len(stage.memberships[-1].members) == 2)
        stage.until_all_left()

        assert farthest(stage.final(), undisturbed) < 1e-6
        assert stage.memberships[-1].why == "loss"
        assert sorted(stage.exit_codes().values(), key=str) == [0, 0, 137]
        assert "1 worker lost" in stage.final()["sentence"]


def test_the_first_member_and_its_store_can_be_lost(set_stage: Build) -> None:
    with set_stage(STEPS="80") as stage:
        stage.want(3)
        for _ in range(2):
            stage.until_step(stage.step + 5)
            first = stage.memberships[-1].workers[0]
            stage.kill(first)
            stage.until(lambda first=first: first not in stage.memberships[-1].workers)  # type: ignore[misc]
        stage.until_all_left()

        assert times_seen(stage.final()) == {10}


def test_one_that_did_not_get_the_last_update_gets_it_from_one_that_did(
    set_stage: Build, nursery: Nursery, tmp_path: Path
) -> None:
    undisturbed = run_alone(nursery, tmp_path / "alone", MODEL_SEED="5", STEPS="80", OPTIMIZER="adam")

    with set_stage(STEPS="80", OPTIMIZER="adam") as stage:
        (ahead,) = stage.want(1)
        stage.until_trained_by(1)
        (behind,) = stage.want(2, DEAF_AT="40")
        stage.until_trained_by(2)
        stage.want(3, DIE_AFTER_BACKWARD="40")
        stage.until_trained_by(3)
        assert stage.step < 40
        stage.until_all_left()

        assert farthest(stage.final(), undisturbed) < 1e-6
        assert stage.memberships[-1].workers == (ahead, behind)
        steps = [moment["step"] for moment in stage.moments() if moment["worker"] == behind]
        assert 40 in steps and steps[-1] == 79
        (told,) = [record for record in stage.told(records.RESCALE) if record["why"] == "loss"]
        assert told["moved_bytes"] > 0


def test_a_newcomer_killed_in_mid_transfer_harms_nobody(set_stage: Build) -> None:
    with set_stage(STEPS="80") as stage:
        stage.want(2)
        stage.until_trained_by(2)
        (dying,) = stage.want(3, DIE_IN_TRANSFER="1")
        stage.until(lambda: not stage.actors[dying].is_alive)
        assert (stage.home / "died").exists()
        stage.until(lambda: len(stage.memberships[-1].members) == 2)
        stage.until_all_left()

        assert times_seen(stage.final()) == {10}
        assert stage.exit_codes()[dying] == 137


def test_a_worker_that_hangs_is_evicted_and_the_others_go_on(set_stage: Build) -> None:
    with set_stage(STEPS="40") as stage:
        stage.want(3)
        stage.until_trained_by(3)
        hanging = stage.wanted[1]
        stage.halt(hanging)
        stage.limit = 1 << 40
        stage.until(lambda: stage.evicted == [hanging], train=False)
        stage.until_all_left()

        assert times_seen(stage.final()) == {5}


def test_a_lone_hiccup_of_the_network_strands_nobody(set_stage: Build) -> None:
    with set_stage(STEPS="80") as stage:
        stage.want(2, DEAF_AT="10")
        stage.until_all_left()

        assert times_seen(stage.final()) == {10}
        assert len(stage.memberships) == 2
        assert set(stage.memberships[0].workers) == set(stage.memberships[1].workers)


def test_if_nobody_survives_training_goes_on_from_the_last_checkpoint(
    set_stage: Build, nursery: Nursery, tmp_path: Path
) -> None:
    undisturbed = run_alone(nursery, tmp_path / "alone", MODEL_SEED="5", STEPS="80", OPTIMIZER="adam")

    with set_stage(STEPS="80", OPTIMIZER="adam", EVERY="10") as stage:
        stage.want(2)
        stage.until_trained_by(2)
        stage.until_step(25)
        stage.until(lambda: (stage.home / "checkpoints" / "step-000000000020").exists(), train=False)
        for worker in stage.wanted:
            stage.kill(worker)
        stage.until(lambda: not stage.alive)
        stage.want(2)
        stage.until_all_left()

        assert farthest(stage.final(), undisturbed) < 1e-6
        later = [moment["step"] for moment in stage.moments() if moment["worker"] == stage.wanted[0]]
        assert later[0] == 20


def test_when_all_are_to_leave_the_step_they_agreed_on_is_kept_and_another_job_goes_on_from_it(
    nursery: Nursery, tmp_path: Path
) -> None:
    undisturbed = run_alone(nursery, tmp_path / "alone", MODEL_SEED="5", STEPS="80", OPTIMIZER="adam")
    kept = {"TENUTO_CHECKPOINT_DIR": str(tmp_path / "kept"), "STEPS": "80", "OPTIMIZER": "adam"}

    with Stage(tmp_path / "one", nursery, environ={"MODEL_SEED": "5", **kept}) as stage:
        stage.want(3)
        stage.until_trained_by(3, 10)
        stage.want(0)
        stage.until(lambda: not stage.alive)
        assert set(stage.exit_codes().values()) == {143}
        (told,) = stage.told(records.CHECKPOINT)
    with Stage(tmp_path / "other", nursery, environ={"MODEL_SEED": "6", **kept}) as stage:
        stage.want(2)
        stage.until_all_left()

        assert min(moment["step"] for moment in stage.moments()) == told["step"]
        assert farthest(stage.final(), undisturbed) < 1e-6
