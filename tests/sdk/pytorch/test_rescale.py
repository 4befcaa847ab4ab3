"""Groups that grow, shrink and move while they train: real processes, real gloo, exact arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.sdk.pytorch.stage import Nursery, Stage, run_alone
from tests.sdk.pytorch.weights import farthest, times_seen

from tenuto.wire import records

Build = Callable[..., Stage]


def test_growing_to_three_and_shrinking_to_two_gives_the_weights_of_a_run_of_one(
    set_stage: Build, nursery: Nursery, tmp_path: Path
) -> None:
    undisturbed = run_alone(nursery, tmp_path / "alone", MODEL_SEED="5", STEPS="300")

    with set_stage(STEPS="300") as stage:
        (first,) = stage.want(1)
        stage.until_trained_by(1, 20)
        stage.want(3)
        stage.until_trained_by(3, 20)
        stage.want(2)
        stage.until_trained_by(2, 20)
        stage.until_all_left()

        assert farthest(stage.final(), undisturbed) < 1e-6
        assert times_seen(stage.final()) == {37, 38}  # 300 steps of 12 are 37.5 times 96
        assert sorted(stage.exit_codes().values(), key=str) == [0, 0, 143]
        of_the_first = [moment for moment in stage.moments() if moment["worker"] == first]
        assert [moment["step"] for moment in of_the_first] == list(range(300))
        assert len({moment["pid"] for moment in of_the_first}) == 1
        assert [moment["world"] for moment in of_the_first if moment["step"] in (5, 299)] == [1, 2]
        assert stage.final()["sentence"].endswith("over 3 generations")
        assert stage.logs().splitlines() == [
            stage.final()["sentence"]
        ]  # no warning of torch's, nothing of ours


def test_every_change_is_told_with_its_phases(set_stage: Build) -> None:
    with set_stage(STEPS="90") as stage:
        stage.want(1)
        stage.until_trained_by(1)
        stage.want(2)
        stage.until_trained_by(2)
        stage.until_all_left()

        start, growth = stage.told(records.RESCALE)
        assert (start["why"], start["before"], start["after"], start["moved_bytes"]) == ("start", 0, 1, 0)
        assert (growth["why"], growth["before"], growth["after"], growth["source"]) == ("grow", 1, 2, 0)
        assert growth["moved_bytes"] > 0
        for phase in ("warm_up_ms", "agree_ms", "form_ms", "transfer_ms", "first_step_ms", "pause_ms"):
            assert growth[phase] >= 0


def test_shares_that_cannot_be_even_weigh_as_many_samples_as_they_have(
    set_stage: Build, nursery: Nursery, tmp_path: Path
) -> None:
    sizes = {"SAMPLES": "600", "BATCH": "256", "STEPS": "12"}  # the last batch of an epoch has 88
    undisturbed = run_alone(nursery, tmp_path / "alone", MODEL_SEED="5", **sizes)

    with set_stage(**sizes) as stage:
        stage.want(3)
        stage.until_all_left()

        assert farthest(stage.final(), undisturbed) < 1e-6


def test_in_single_precision_only_the_order_of_sums_makes_a_difference(
    set_stage: Build, nursery: Nursery, tmp_path: Path
) -> None:
    steps, batch = 40, 12
    sizes = {"KIND": "float32", "STEPS": str(steps), "BATCH": str(batch)}
    undisturbed = run_alone(nursery, tmp_path / "alone", MODEL_SEED="5", **sizes)
    # The gradient of a sample is below 4 here. Summing those of a batch in another order moves the mean by at most
    # batch x 2^-24 of that; each step adds the learning rate times it, and momentum 0.9 makes ten of each.
    rounding = steps * 0.05 * 10 * batch * 2**-24 * 4

    with set_stage(**sizes) as stage:
        stage.want(1)
        stage.until_trained_by(1, 4)
        stage.want(3)
        stage.until_trained_by(3, 4)
        lost = stage.wanted[0]
        stage.kill(lost)
        stage.want(2, without=(lost,))
        stage.until_trained_by(2, 4)
        stage.until_all_left()

        assert farthest(stage.final(), undisturbed) < rounding


def test_a_share_in_pieces_is_one_update(set_stage: Build, nursery: Nursery, tmp_path: Path) -> None:
    undisturbed = run_alone(nursery, tmp_path / "alone", MODEL_SEED="5", STEPS="40", OPTIMIZER="adam")

    with set_stage(STEPS="40", MOST="4", OPTIMIZER="adam") as stage:
        stage.want(1)
        stage.until_trained_by(1, 4)
        stage.want(2)
        stage.until_trained_by(2, 4)
        stage.until_all_left()

        assert farthest(stage.final(), undisturbed) < 1e-6


def test_more_workers_than_samples_in_a_batch_train_the_same(
    set_stage: Build, nursery: Nursery, tmp_path: Path
) -> None:
    sizes = {"SAMPLES": "20", "BATCH": "3", "STEPS": "28"}
    undisturbed = run_alone(nursery, tmp_path / "alone", MODEL_SEED="5", **sizes)

    with set_stage(**sizes) as stage:
        stage.want(4)
        stage.until_all_left()

        assert farthest(stage.final(), undisturbed) < 1e-6


def test_adam_and_the_schedule_go_with_the_model(set_stage: Build, nursery: Nursery, tmp_path: Path) -> None:
    undisturbed = run_alone(nursery, tmp_path / "alone", MODEL_SEED="5", STEPS="80", OPTIMIZER="adam")

    with set_stage(STEPS="80", OPTIMIZER="adam") as stage:
        stage.want(2)
        stage.until_trained_by(2, 5)
        stage.want(2, without=stage.wanted)  # everybody is replaced
        stage.until_trained_by(2, 5)
        stage.until_all_left()

        assert sorted(stage.exit_codes().values(), key=str) == [0, 0, 143, 143]
        assert farthest(stage.final(), undisturbed) < 1e-6


def test_a_rescale_to_the_same_size_changes_nothing(set_stage: Build) -> None:
    with set_stage(STEPS="60") as stage:
        stage.want(2)
        stage.until_trained_by(2)
        stage.want(2)
        stage.until_trained_by(2)
        stage.until_all_left()

        assert [membership.why for membership in stage.memberships] == ["start"]
        assert set(stage.exit_codes().values()) == {0}


def test_two_rescales_at_once_end_in_the_second(set_stage: Build) -> None:
    with set_stage(STEPS="120") as stage:
        stage.want(3)
        stage.until_trained_by(3)
        stage.want(2)
        stage.want(1)
        stage.until_trained_by(1)
        stage.want(2)
        stage.want(3)
        stage.until_trained_by(3)
        stage.until_all_left()

        assert times_seen(stage.final()) == {15}
        assert sorted(stage.exit_codes().values(), key=str) == [0, 0, 0, 143, 143]


def test_those_who_stay_do_not_wait_for_a_leaver_that_refuses_to_leave(set_stage: Build) -> None:
    with set_stage(STEPS="120") as stage:
        stage.want(1)
        stage.until_trained_by(1)
        (stubborn,) = stage.want(2, REFUSE_TO_LEAVE="1")
        stage.until_trained_by(2)
        stage.want(1)
        stage.until_trained_by(1, 5)
        assert stage.actors[stubborn].is_alive
        stage.limit = 1 << 40
        stage.until(lambda: stage.alive == [stubborn], train=False)
        stage.kill(stubborn)
        stage.until_all_left()

        assert times_seen(stage.final()) == {15}


def test_normalising_over_the_whole_batch_does_not_depend_on_the_size_either(
    set_stage: Build, nursery: Nursery, tmp_path: Path
) -> None:
    sizes = {"STEPS": "60", "BATCH": "10", "NORM": "1"}  # the last batch of an epoch has 6
    undisturbed = run_alone(nursery, tmp_path / "alone", MODEL_SEED="5", **sizes)

    with set_stage(**sizes) as stage:
        stage.want(1)
        stage.until_trained_by(1)
        stage.want(4)
        stage.until_trained_by(4)
        stage.kill(stage.wanted[2])
        stage.until_all_left()

        assert farthest(stage.final(), undisturbed) < 1e-6
