"""Who is in the next generation of a job that rescales in place."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tenuto.model.job import Member
from tenuto.model.members import next_members, slots_of

ORDER = {"zeta": 1, "알파": 2}
places = st.sets(st.tuples(st.sampled_from(sorted(ORDER)), st.integers(0, 3)))


def a_member(born: int, rank: int, node: str, slot: int) -> Member:
    return Member(born=born, rank=rank, node=node, slot=slot)


def slots(chosen: set[tuple[str, int]]) -> dict[str, tuple[int, ...]]:
    return slots_of(a_member(0, 0, node, slot) for node, slot in chosen)


def test_survivors_come_first_in_their_old_order_and_newcomers_follow_by_node_and_slot() -> None:
    old = (a_member(2, 0, "알파", 1), a_member(1, 0, "zeta", 3), a_member(2, 1, "zeta", 0))

    new = next_members(old, {"알파": (0, 1), "zeta": (0, 1)}, 5, ORDER)

    assert new == (old[0], old[2], a_member(5, 2, "zeta", 1), a_member(5, 3, "알파", 0))


@given(steps=st.lists(places, min_size=1, max_size=8))
def test_every_slot_has_one_member_and_nobody_is_ever_named_twice(steps: list[set[tuple[str, int]]]) -> None:
    members: tuple[Member, ...] = ()
    ever: dict[tuple[int, int], Member] = {}
    for generation, chosen in enumerate(steps, start=1):
        before, members = members, next_members(members, slots(chosen), generation, ORDER)

        assert {(one.node, one.slot) for one in members} == chosen
        assert len(members) == len(chosen)
        staying = [one for one in before if (one.node, one.slot) in chosen]
        assert list(members[: len(staying)]) == staying
        for one in members[len(staying) :]:
            assert (one.born, one.rank) not in ever
            ever[one.born, one.rank] = one
