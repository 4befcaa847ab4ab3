"""What is said between supervisors and server comes back from JSON as it was."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tenuto.model.node import Slot
from tenuto.wire.codec import decode, encode
from tenuto.wire.node import Hello, Orders, Report
from tenuto.wire.worker import ExitReason, WorkerId, WorkerOrder, WorkerSeen, WorkerState

WORKER = WorkerId("j-모델", 3, "파라미터", 0)


@pytest.mark.parametrize(
    "value",
    [
        Hello(node="węzeł", session="s", slots=(Slot(device="0", kind="A100"),), address="::1", version="1"),
        Report(
            node="węzeł",
            session="s",
            ports=(29500,),
            workers=(
                WorkerSeen(
                    id=WORKER,
                    node="węzeł",
                    state=WorkerState.EXITED,
                    exit_code=137,
                    reason=ExitReason.OUT_OF_MEMORY,
                    data={"loss": 0.1},
                ),
            ),
        ),
        Orders(
            term=2,
            version=9,
            workers=(WorkerOrder(id=WORKER, node="węzeł", slot=None, argv=("a b",), env={"空": ""}),),
        ),
    ],
)
def test_a_value_comes_back_as_it_was(value: Hello | Report | Orders) -> None:
    assert decode(type(value), encode(value)) == value


def test_what_is_no_such_value_is_refused() -> None:
    with pytest.raises(ValidationError):
        decode(Orders, b'{"term": "now"}')


def test_the_name_of_a_worker_is_read_as_it_was_written() -> None:
    assert WorkerId.parse(str(WORKER)) == WORKER
