"""Optimizers, schedulers and scalers stand still while a step must change nothing."""

from __future__ import annotations

import warnings

import pytest
import torch

from tenuto.sdk.pytorch.step import Step
from tenuto.sdk.pytorch.updates import guard, guard_optimizer


def a_parameter() -> torch.nn.Parameter:
    parameter = torch.nn.Parameter(torch.zeros(1))
    parameter.grad = torch.ones(1)
    return parameter


def test_an_aborted_step_changes_neither_weights_nor_the_schedule() -> None:
    parameter, step = a_parameter(), Step()
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    guard_optimizer(optimizer, step)
    guard(scheduler, ("step",), step)
    step.begin(1.0, is_last=True, is_first=True)
    step.abort()

    optimizer.step()
    scheduler.step()

    assert parameter.item() == 0 and optimizer.param_groups[0]["lr"] == 1.0
    step.is_aborted = False
    optimizer.step()
    scheduler.step()
    assert parameter.item() == -1 and optimizer.param_groups[0]["lr"] == 0.5


@pytest.mark.parametrize("is_zeroed_first", [True, False], ids=["before backward", "after the update"])
def test_the_pieces_of_a_share_are_gathered_wherever_a_loop_clears_gradients(is_zeroed_first: bool) -> None:
    parameter, step = torch.nn.Parameter(torch.zeros(1)), Step()
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    guard_optimizer(optimizer, step)

    for _ in range(2):
        for piece in range(3):
            step.begin(1.0, is_last=piece == 2, is_first=piece == 0)
            if is_zeroed_first:
                optimizer.zero_grad()
            if piece == 0:
                parameter.grad = None  # as the session does at the beginning of a step
            (parameter * 1.0).sum().backward()
            optimizer.step()
            if not is_zeroed_first:
                optimizer.zero_grad()

    assert parameter.item() == -6


def test_a_scheduler_may_be_made_before_or_after_and_its_state_stays_plain() -> None:
    parameter, step = a_parameter(), Step()
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    before = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    guard_optimizer(optimizer, step)
    after = torch.optim.lr_scheduler.MultiStepLR(optimizer, [5])
    guard(before, ("step",), step)
    plain = torch.optim.lr_scheduler.StepLR(torch.optim.SGD([a_parameter()], lr=1.0), 10)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.step()
        before.step()
        after.step()

    assert isinstance(before, torch.optim.lr_scheduler.StepLR)
    assert before.state_dict().keys() == plain.state_dict().keys()


def test_a_scaler_keeps_its_scale_in_an_aborted_step() -> None:
    parameter, step = a_parameter(), Step()
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=1)
    guard_optimizer(optimizer, step)
    guard(scaler, ("step", "update", "unscale_"), step)

    for is_aborted in (True, False):
        step.begin(1.0, is_last=True, is_first=True)
        step.is_aborted = is_aborted
        optimizer.zero_grad()
        scaler.scale((parameter * 1.0).sum()).backward()
        scaler.step(optimizer)
        scaler.update()

    assert parameter.item() == -1
    assert scaler.get_scale() == 8.0
