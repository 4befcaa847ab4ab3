"""Since when each GPU has not been used, from nothing but the samples."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tenuto.monitor.usage import GpuUse, GpuUses
from tenuto.wire.sample import GpuSample, NodeSample

NODE = "узел"


def told(*used: float | None, first: float = 100.0, every: float = 1.0) -> list[NodeSample]:
    """Samples of one GPU, one after the other."""
    return [
        NodeSample(at=first + every * number, gpus=(GpuSample(index=3, utilisation=part),))
        for number, part in enumerate(used)
    ]


def after(samples: Sequence[NodeSample], period: float = 1.0) -> GpuUse | None:
    uses = GpuUses(below=5.0, period=period)
    uses.take(NODE, samples)
    return uses.of(NODE, "3")


def test_a_gpu_is_quiet_since_the_first_sample_that_tells_so() -> None:
    assert after(told(80.0, 4.9, 0.0, 1.0)) == GpuUse(at=103.0, quiet_since=101.0, used_at=100.0)


def test_a_gpu_in_use_is_not_quiet() -> None:
    assert after(told(0.0, 0.0, 5.0)) == GpuUse(at=102.0, quiet_since=None, used_at=102.0)


def test_what_is_unknown_ends_the_quiet_and_is_no_use() -> None:
    assert after(told(0.0, 0.0, None)) == GpuUse(at=102.0)
    assert after(told(0.0, None, 0.0)) == GpuUse(at=102.0, quiet_since=102.0)


@pytest.mark.parametrize(
    ("every", "period", "since"), [(29.0, 1.0, 100.0), (31.0, 1.0, 131.0), (31.0, 10.0, 100.0)]
)
def test_nobody_knows_what_was_in_a_long_silence(every: float, period: float, since: float) -> None:
    use = after(told(0.0, 0.0, every=every), period)

    assert use is not None
    assert use.quiet_since == since


def test_samples_that_come_twice_change_nothing() -> None:
    uses = GpuUses(below=5.0, period=1.0)
    samples = told(0.0, 60.0, 0.0, 0.0)
    uses.take(NODE, samples)
    before = uses.of(NODE, "3")

    uses.take(NODE, samples[:2])
    uses.take(NODE, [NodeSample(at=100.5)])

    assert uses.of(NODE, "3") == before


def test_a_clock_that_was_far_ahead_and_was_set_right_keeps_nothing_from_being_heard() -> None:
    uses = GpuUses(below=5.0, period=1.0)
    uses.take(NODE, told(0.0, first=1e9))

    uses.take(NODE, told(70.0, 0.0))

    assert uses.of(NODE, "3") == GpuUse(at=101.0, quiet_since=101.0, used_at=100.0)


def test_a_gpu_that_is_not_told_of_any_more_is_unknown() -> None:
    uses = GpuUses(below=5.0, period=1.0)
    uses.take(NODE, [*told(0.0), NodeSample(at=101.0)])

    assert uses.of(NODE, "3") is None
    assert uses.of("другой", "3") is None


def test_a_node_that_is_forgotten_takes_no_room() -> None:
    uses = GpuUses(below=5.0, period=1.0)
    uses.take(NODE, told(0.0))

    uses.forget(NODE)

    assert uses.of(NODE, "3") is None
