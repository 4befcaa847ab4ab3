"""A sample as a line, there and back."""

from __future__ import annotations

import json

import pytest

from tenuto.monitor.lines import decode, encode
from tenuto.wire import codec
from tenuto.wire.sample import DiskSample, GpuProcess, GpuSample, NetSample, NodeSample

FULL = NodeSample(
    at=1_700_000_000.125,
    cpu=12.5,
    cores=(25.0, None),
    load=0.5,
    ram_used=1,
    ram_total=2,
    swap_used=0,
    swap_total=0,
    disks=(DiskSample(path="/데이터", used=1, total=2, read=3.0, written=4.0),),
    nets=(NetSample(id="eth0", bandwidth=1e9, received=1.0, sent=2.0),),
    gpus=(
        GpuSample(index=0, name="Test GPU", processes=(GpuProcess(pid=7, name="학습", job="j", worker="w"),)),
        GpuSample(index=1, lost=True),
        GpuSample(index=2, processes=()),
    ),
    gpu_problem='a "quoted"\nline',
    driver="580",
)


@pytest.mark.parametrize("sample", [FULL, NodeSample(at=1.0)])
def test_a_sample_comes_back_as_it_was(sample: NodeSample) -> None:
    line = encode(sample)

    assert decode(line) == sample
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")


@pytest.mark.parametrize("sample", [FULL, NodeSample(at=1.0)])
def test_a_line_is_what_everybody_else_writes_of_a_sample(sample: NodeSample) -> None:
    assert json.loads(encode(sample)) == json.loads(codec.encode(sample))
    assert codec.decode(NodeSample, encode(sample)) == sample


def test_fields_of_another_version_are_left_aside_and_missing_ones_unknown() -> None:
    line = b'{"at": 1.0, "humour": "dry", "gpus": [{"index": 0, "colour": "green"}]}'

    assert decode(line) == NodeSample(at=1.0, gpus=(GpuSample(index=0),))


@pytest.mark.parametrize("line", [b"", b"no sample", b"[1]", b"{}", b'{"at": 1.0, "gpus": [1]}', b"\xff"])
def test_anything_else_is_no_sample(line: bytes) -> None:
    with pytest.raises(ValueError):
        decode(line)


def test_a_name_that_is_no_text_harms_nobody() -> None:
    path = b"/mnt/\xff".decode(errors="surrogateescape")

    assert decode(encode(NodeSample(at=1.0, disks=(DiskSample(path=path),)))).disks[0].path == "/mnt/?"
