"""From a job and its slots to one command and environment for each of its processes. Pure.

Ranks follow the nodes in the order in which they joined, and on each node its slots. Of several values for one
variable the later counts: tenuto's own, the platform's settings, the job's `env`; and last rank, meeting point and
everything that begins with TENUTO_, because a job that got those wrong would hang or report under another's name.

Workers of a job that rescales in place are told nothing that a rescale would make untrue: an order is the same for
all the life of its worker, and who trains with it is told by a membership.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from tenuto.model.job import Job, JobSpec, Limits, Member
from tenuto.model.node import Node
from tenuto.wire import env
from tenuto.wire.worker import WORKER, WorkerId, WorkerOrder


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """What the platform gives to workers whose job says nothing else."""

    env: Mapping[str, str] = field(default_factory=dict)
    checkpoints: str = ""
    """Below it, if it is given, who rescales in place and names no directory for its checkpoints gets one."""


NO_DEFAULTS = Defaults()


def launch(
    job: Job, nodes: Mapping[str, Node], *, ready: int | None = None, defaults: Defaults = NO_DEFAULTS
) -> tuple[WorkerOrder, ...]:
    """All processes of the job's present generation; none if it holds no slots.

    With `ready`, so many workers have started already and only the next one by rank is added (`start: ordered`).
    Every slot of the job must be one of `nodes`.
    """
    if job.spec.in_place:
        members = job.members if ready is None else job.members[: ready + 1]
        return tuple(_member(job, member, nodes[member.node], defaults) for member in members)
    seats = _seats(job, nodes)
    if not seats:
        return ()
    shared = _shared(job, seats)
    workers = [_worker(job, seat, shared, defaults) for seat in seats]
    beside = _beside(job, seats[0].node, shared, defaults)
    return (*beside, *(workers if ready is None else workers[: ready + 1]))


def member_ids(job: Job) -> tuple[WorkerId, ...]:
    """The workers of a job that rescales in place, by rank."""
    return tuple(WorkerId(job.id, member.born, WORKER, member.rank) for member in job.members)


@dataclass(frozen=True, slots=True)
class _Seat:
    """One worker's place."""

    node: Node
    slot: int | None
    """None for a worker without a GPU, which takes none."""
    rank: int
    local_rank: int
    local_size: int
    group: int
    """The number of its node among those of the job."""

    @property
    def device(self) -> str:
        """As CUDA_VISIBLE_DEVICES names it; empty if there is none."""
        return "" if self.slot is None else self.node.slots[self.slot].device


def _seats(job: Job, nodes: Mapping[str, Node]) -> list[_Seat]:
    places = job.places
    used = sorted((nodes[name] for name, numbers in places.items() if numbers), key=lambda node: node.number)
    seats: list[_Seat] = []
    for group, node in enumerate(used):
        held = [None if job.spec.cpu_only else number for number in sorted(places[node.name])]
        first = len(seats)
        seats += [
            _Seat(node, slot, first + local, local, len(held), group) for local, slot in enumerate(held)
        ]
    return seats


def _shared(job: Job, seats: list[_Seat]) -> dict[str, str]:
    """What all processes of the job are told alike."""
    spec, leader = job.spec, _host(seats[0].node)
    beside = {role: [leader] * of.count for role, of in spec.roles.items()}
    values: dict[str, object] = {
        env.GENERATION: job.generation,
        env.WORKERS: len(seats),
        env.PEERS: ",".join(_peers(seats)),
        env.ROLES: json.dumps({WORKER: [_host(seat.node) for seat in seats]} | beside),
        env.MASTER_ADDR: leader,
        env.MASTER_PORT: job.port,
    }
    return {**_lasting(job), **_given(values)}


def _lasting(job: Job, checkpoints: str = "") -> dict[str, str]:
    """What stays true for all the life of a job."""
    spec, saved = job.spec, job.spec.checkpoint
    by_default = f"{checkpoints}/{job.id}" if checkpoints else None
    values: dict[str, object] = {
        env.JOB_ID: job.id,
        env.JOB_NAME: spec.name,
        env.PARAMS: json.dumps(spec.params),
        env.CHECKPOINT_DIR: saved.dir if saved and saved.dir else by_default,
        env.CHECKPOINT_EVERY: saved.every if saved else None,
        env.STEPS: None if spec.steps is None else f"{spec.steps:.15g}",
        env.GLOBAL_BATCH: spec.global_batch,
    }
    return _given(values)


def _given(values: Mapping[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in values.items() if value is not None}


def _peers(seats: list[_Seat]) -> Iterator[str]:
    return (_with_count(_host(seat.node), seat.local_size) for seat in seats if seat.local_rank == 0)


def _worker(job: Job, seat: _Seat, shared: Mapping[str, str], defaults: Defaults) -> WorkerOrder:
    own = {
        env.ROLE: WORKER,
        env.RANK: str(seat.rank),
        env.LOCAL_RANK: str(seat.local_rank),
        env.WORLD_SIZE: shared[env.WORKERS],
        env.LOCAL_WORLD_SIZE: str(seat.local_size),
        env.GROUP_RANK: str(seat.group),
    }
    return _order(
        job,
        WorkerId(job.id, job.generation, WORKER, seat.rank),
        _Process(seat.node.name, seat.slot, job.spec.run, job.spec.limits, seat.device),
        {**shared, **own},
        defaults,
    )


def _member(job: Job, member: Member, node: Node, defaults: Defaults) -> WorkerOrder:
    """The order for one worker of a job that rescales in place: the same whoever is with it."""
    order = _order(
        job,
        WorkerId(job.id, member.born, WORKER, member.rank),
        _Process(node.name, member.slot, job.spec.run, job.spec.limits, node.slots[member.slot].device),
        {
            **_lasting(job, defaults.checkpoints),
            env.GENERATION: str(member.born),
            env.ROLE: WORKER,
            env.HOST: _host(node),
        },
        defaults,
    )
    return replace(order, linked=True)


def _beside(job: Job, leader: Node, shared: Mapping[str, str], defaults: Defaults) -> Iterator[WorkerOrder]:
    """The processes of further roles: all on the node of rank 0, without a slot and so without a device."""
    for name, role in sorted(job.spec.roles.items()):
        for rank in range(role.count):
            own = {
                env.ROLE: name,
                env.RANK: str(rank),
                env.LOCAL_RANK: str(rank),
                env.WORLD_SIZE: str(role.count),
                env.LOCAL_WORLD_SIZE: str(role.count),
                env.GROUP_RANK: "0",
            }
            yield _order(
                job,
                WorkerId(job.id, job.generation, name, rank),
                _Process(leader.name, None, role.run or job.spec.run, role.limits, ""),
                {**shared, **own},
                defaults,
            )


@dataclass(frozen=True, slots=True)
class _Process:
    """Where and what."""

    node: str
    slot: int | None
    argv: tuple[str, ...]
    limits: Limits
    device: str


def _order(
    job: Job,
    id: WorkerId,  # noqa: A002
    process: _Process,
    fixed: Mapping[str, str],
    defaults: Defaults,
) -> WorkerOrder:
    spec = job.spec
    ours = {
        env.CUDA_VISIBLE_DEVICES: process.device,
        env.CUDA_DEVICE_ORDER: "PCI_BUS_ID",
        env.PYTHONUNBUFFERED: "1",
    }
    place = {env.NODE: process.node, env.SLOT: "" if process.slot is None else str(process.slot)}
    if spec.cpu_only:
        place[env.CUDA_VISIBLE_DEVICES] = ""  # whatever its `env` says: the GPUs are others'
    return WorkerOrder(
        id=id,
        node=process.node,
        slot=process.slot,
        argv=process.argv,
        env={**ours, **defaults.env, **spec.env, **fixed, **place},
        cwd=spec.workdir,
        path_first=_programs(spec),
        environment=spec.environment,
        setup=spec.setup,
        memory=process.limits.memory,
        cpus=process.limits.cpus,
        files=process.limits.files,
        grace=spec.grace,
        shares=spec.share and process.slot is not None,
    )


def _programs(spec: JobSpec) -> str:
    """The directory with the programs of the job's environment.

    Only the node could look what the path is, so its form tells: what lies in a `bin` is a program.
    """
    if not spec.environment:
        return ""
    path = PurePosixPath(spec.environment)
    if path.name == "bin":
        return str(path)
    return str(path.parent if path.parent.name == "bin" else path / "bin")


def _host(node: Node) -> str:
    return node.address or node.name


def _with_count(host: str, count: int) -> str:
    return f"[{host}]:{count}" if ":" in host else f"{host}:{count}"
