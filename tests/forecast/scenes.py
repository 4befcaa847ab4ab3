"""Generated scenes: every record that the store could hold, whether or not it makes sense beside the others."""

from __future__ import annotations

from math import inf

from hypothesis import strategies as st
from tests.forecast.records import EPOCH, NOW, a_contract, a_node, a_record, a_scene

from tenuto.forecast.picture import Scene
from tenuto.model.job import Contract, Ending, Job, Pin, Reply
from tenuto.model.node import Node, NodeState
from tenuto.model.phase import PLACED, Phase, PromiseState
from tenuto.model.plan import Why
from tenuto.model.snapshot import Placement, Rules

NAMES = ["node-0", "node-1", "node-2", "gone"]
moments = st.integers(-500, 4000).map(lambda seconds: NOW + seconds)
curves = st.sampled_from(
    [{}, {1: 1.0, 2: 1.9, 4: 3.0}, {1: 2.0}, {2: 1.0, 3: 1.2}, {4: 3.0, 8: 2.5}, {1: 1.0, 8: 4.0, 16: 5.0}]
)
whys = st.sampled_from([why.value for why in Why])


@st.composite
def _contracts(draw: st.DrawFn, deadline: float | None) -> Contract | None:
    reply = draw(st.sampled_from([None, *Reply]))
    if reply is None:
        return None
    promised = draw(st.sampled_from([None, deadline, NOW + 77.0])) if reply is Reply.ADMITTED else None
    return a_contract(reply, why=draw(whys), promised=promised)


@st.composite
def _jobs(draw: st.DrawFn, number: int) -> Job:
    least = draw(st.integers(1, 4))
    most = least + draw(st.sampled_from([0, 1, 3, 12]))
    phase = draw(st.sampled_from(Phase))
    slots = {}
    if phase in PLACED:
        names = draw(st.sets(st.sampled_from(NAMES), min_size=1, max_size=2))
        slots = {name: tuple(draw(st.sets(st.integers(0, 8), min_size=1, max_size=4))) for name in names}
    pin = None
    if draw(st.integers(0, 3)) == 0:
        nodes = draw(st.dictionaries(st.sampled_from(NAMES), st.integers(1, 3), max_size=2))
        workers = sum(nodes.values()) or draw(st.integers(least, most))
        pin = Pin(workers=workers, nodes=nodes)
    deadline = draw(st.none() | moments)
    changed = draw(st.sampled_from([-inf, NOW - 30.0, NOW]))
    return a_record(
        number,
        spec={
            "min_workers": least,
            "max_workers": most,
            "preferred": draw(st.none() | st.integers(least, most)),
            "steps": draw(st.sampled_from([None, 0.0, 1.0, 500.0, 1e6])),
            "auto": draw(st.booleans()),
            "node": draw(st.sampled_from(["", "", "", "node-0", "gone"])),
        },
        curve=draw(curves),
        phase=phase,
        slots=slots,
        deadline=deadline,
        contract=draw(_contracts(deadline)),
        promise=draw(st.sampled_from(PromiseState)),
        pin=pin,
        urgent=draw(st.booleans()),
        pause=draw(st.integers(0, 9)) == 0,
        cancel=draw(st.integers(0, 9)) == 0,
        not_before=draw(st.sampled_from([0.0, 0.0, NOW + 5.0])),
        ending=draw(st.sampled_from([None] * 9 + [Ending(phase=Phase.FAILED, why="", message="")])),
        left=draw(st.sampled_from([-3.0, 0.0, 1.0, 200.0])),
        changed_at=changed,
        ready_at=changed + draw(st.sampled_from([0.0, 5.0])),
    )


@st.composite
def _nodes(draw: st.DrawFn) -> list[Node]:
    sizes = draw(st.lists(st.sampled_from([0, 1, 2, 3, 4, 8]), max_size=3))
    states = st.sampled_from([NodeState.ONLINE, NodeState.ONLINE, NodeState.OFFLINE, NodeState.DRAINING])
    return [a_node(number, slots, draw(states)) for number, slots in enumerate(sizes)]


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    """Up to eight jobs on up to three nodes."""
    jobs = [draw(_jobs(number)) for number in range(1, 1 + draw(st.integers(0, 8)))]
    return a_scene(
        draw(st.permutations(jobs)),
        draw(_nodes()),
        rules=Rules(margin=draw(st.sampled_from([0.0, 0.1])), placement=draw(st.sampled_from(Placement))),
        start_cost=draw(st.sampled_from([0.0, 5.0])),
        rescale_cost=draw(st.sampled_from([0.0, 5.0])),
        left=draw(st.dictionaries(st.integers(1, 8), st.sampled_from([-1.0, 0.0, 40.0]), max_size=2)),
        epoch=draw(st.sampled_from([EPOCH, NOW])),
    )
