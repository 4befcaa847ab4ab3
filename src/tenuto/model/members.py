"""Who is in a job's next generation: those whose slots stay go on, the others are new."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tenuto.model.job import Member

Slots = Mapping[str, tuple[int, ...]]


def next_members(
    staying: Iterable[Member], slots: Slots, generation: int, order: Mapping[str, int]
) -> tuple[Member, ...]:
    """One member for each slot: survivors first, in their old order; then newcomers, by node and slot.

    `staying` may hold members whose slots do not stay: they leave. `order` is the order of the nodes.
    """
    wanted = {(node, slot) for node, numbers in slots.items() for slot in numbers}
    survivors = tuple(member for member in staying if (member.node, member.slot) in wanted)
    new = wanted - {(member.node, member.slot) for member in survivors}
    newcomers = (
        Member(born=generation, rank=rank, node=node, slot=slot)
        for rank, (node, slot) in enumerate(
            sorted(new, key=lambda place: (order[place[0]], place)), start=len(survivors)
        )
    )
    return (*survivors, *newcomers)


def slots_of(members: Iterable[Member]) -> dict[str, tuple[int, ...]]:
    """The slots of some members: for each node their numbers there."""
    found: dict[str, list[int]] = {}
    for member in members:
        found.setdefault(member.node, []).append(member.slot)
    return {node: tuple(sorted(numbers)) for node, numbers in found.items()}
