"""Training state from the memory of one worker into that of others, in few large messages and without pickle.

Each source has a chain of receivers: everyone passes on what it gets, message by message, so that the time hardly
depends on the number of receivers. Large tensors are sent from and received into the place where they live; the many
small ones travel together.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from tenuto.sdk.pytorch.packing import Tensors
from tenuto.sdk.pytorch.state import TrainingState

_LARGE = 1 << 20
"""Bytes from which a tensor travels on its own."""
_MESSAGE = 16 << 20
"""Bytes of a message, so that a chain has something to pass on early."""


@dataclass(frozen=True, slots=True)
class Link:
    """A member's place in a chain."""

    before: int | None
    """The rank that it receives from; None for a source."""
    after: int | None
    """The rank that it sends to; None for the last."""


def chains(has_state: Sequence[bool], steps: Sequence[int]) -> tuple[Link, ...]:
    """By rank. Sources are those with the newest state; the others are spread evenly over them."""
    newest = max((step for step, has in zip(steps, has_state, strict=True) if has), default=None)
    sources = [rank for rank, has in enumerate(has_state) if has and steps[rank] == newest]
    if not sources:
        raise ValueError("nobody has state")
    receivers = [rank for rank in range(len(steps)) if rank not in sources]
    links = [Link(None, None)] * len(steps)
    for number, source in enumerate(sources):
        chain = [source, *receivers[number :: len(sources)]]
        for place, rank in enumerate(chain):
            before = chain[place - 1] if place else None
            after = chain[place + 1] if place + 1 < len(chain) else None
            links[rank] = Link(before, after)
    return tuple(links)


def send(processes: dist.ProcessGroup, state: TrainingState, to: int) -> None:
    """To the next of the chain."""
    header = _to_bytes(state)
    small, messages = _plan(state.tensors)
    parts = [torch.tensor([header.numel()]), header, *_gathered(small), *messages]
    works = [processes.send([part], to, 0) for part in parts if part.numel()]
    for work in works:
        work.wait()


def receive(processes: dist.ProcessGroup, link: Link, into: Tensors) -> TrainingState:
    """From the one before, and on to the one after. Tensors of the same kind in `into` are written over."""
    assert link.before is not None
    chain = _Chain(processes, link)
    length = chain.pass_on(torch.zeros(1, dtype=torch.int64))
    header = chain.pass_on(torch.empty(int(length.item()), dtype=torch.uint8))
    told = json.loads(header.numpy().tobytes())
    tensors = {name: _place_for(kind, into.get(name)) for name, kind in told["tensors"].items()}
    small, messages = _plan(tensors)
    gathered = [torch.empty_like(part) for part in _gathered(small)]
    chain.pass_all_on([*gathered, *messages])
    _scatter(gathered, small)
    return TrainingState(tensors, told["facts"])


class _Chain:
    """Gets from one neighbour and gives to the other."""

    def __init__(self, processes: dist.ProcessGroup, link: Link) -> None:
        self._processes = processes
        self._link = link

    def pass_on(self, part: torch.Tensor) -> torch.Tensor:
        self.pass_all_on([part])
        return part

    def pass_all_on(self, parts: Iterable[torch.Tensor]) -> None:
        assert self._link.before is not None
        expected = deque(
            (part, self._processes.recv([part], self._link.before, 0)) for part in parts if part.numel()
        )
        sent: list[Any] = []
        while expected:
            part, work = expected.popleft()
            work.wait()
            if self._link.after is not None:
                sent.append(self._processes.send([part], self._link.after, 0))
        for work in sent:
            work.wait()


def _to_bytes(state: TrainingState) -> torch.Tensor:
    kinds = {
        name: [str(tensor.dtype).removeprefix("torch."), list(tensor.shape), tensor.device.type]
        for name, tensor in state.tensors.items()
    }
    text = json.dumps({"tensors": kinds, "facts": state.facts})
    return torch.frombuffer(bytearray(text.encode()), dtype=torch.uint8)


def _place_for(kind: tuple[str, list[int], str], there: torch.Tensor | None) -> torch.Tensor:
    """The living tensor, if it is of that kind; else new memory."""
    dtype, shape, device = getattr(torch, kind[0]), kind[1], kind[2]
    if there is not None and there.dtype == dtype and list(there.shape) == shape and there.is_contiguous():
        return there
    return torch.empty(shape, dtype=dtype, device=device)


def _plan(tensors: Tensors) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The small ones, and the messages of the large ones: the same on both sides."""
    small, messages = [], []
    for tensor in tensors.values():
        if tensor.nbytes < _LARGE:
            small.append(tensor)
        else:
            messages += _raw(tensor).split(_MESSAGE)
    return small, messages


def _gathered(small: list[torch.Tensor]) -> list[torch.Tensor]:
    """One message for each kind of device."""
    devices = sorted({tensor.device.type for tensor in small})
    return [
        torch.cat([_raw(tensor) for tensor in small if tensor.device.type == device]) for device in devices
    ]


def _scatter(gathered: list[torch.Tensor], small: list[torch.Tensor]) -> None:
    for message in gathered:
        there = [tensor for tensor in small if tensor.device.type == message.device.type]
        for tensor, part in zip(there, message.split([tensor.nbytes for tensor in there]), strict=True):
            tensor.copy_(part.clone().view(tensor.dtype).view(tensor.shape))


def _raw(tensor: torch.Tensor) -> torch.Tensor:
    """Its bytes: the living ones, or those of a copy if it lies scattered in memory."""
    return tensor.contiguous().view(-1).view(torch.uint8)
