"""The training loop's other side: it hands out batches, and between two steps sees to who trains together.

    next(batches):  the step before is counted, or void
                    no group yet, or a broken one      → wait for a membership, meet, get or give state
                    a newer membership, all know it    → leave the group at the agreed step, then the same
                    not in it any more                 → SystemExit(143)
                    the next piece of this worker's share

All of it happens here, between steps, in the training thread: then model, optimizer and account belong together.
Another thread only ever cuts connections, so that a step that waits for a lost worker ends at once.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import sys
from collections.abc import Iterator
from typing import Any

from tenuto.errors import InputInvalid
from tenuto.sdk.context import Context, Elastic
from tenuto.sdk.ledger import Ledger
from tenuto.sdk.pytorch.agreement import Agreement
from tenuto.sdk.pytorch.batchnorm import Gathering, gather_batchnorm
from tenuto.sdk.pytorch.chance import Rewind
from tenuto.sdk.pytorch.company import ToldToGo, find_company
from tenuto.sdk.pytorch.data import Loader, Piece
from tenuto.sdk.pytorch.group import Group, GroupBroken, communicating, wait_until_closed
from tenuto.sdk.pytorch.keeping import Keeper
from tenuto.sdk.pytorch.model import ElasticModel
from tenuto.sdk.pytorch.phases import Phases, seconds_since_birth
from tenuto.sdk.pytorch.state import Stateful, TrainingState, capture, restore
from tenuto.sdk.pytorch.step import Step
from tenuto.sdk.pytorch.transfer import chains, receive, send
from tenuto.sdk.pytorch.updates import guard, guard_optimizer
from tenuto.sdk.stopping import leave_with
from tenuto.wire import records
from tenuto.wire.membership import Membership
from tenuto.wire.status import Stage

_GOODBYE = 10.0
"""Seconds that the first member waits at the end until all have seen that it is the end."""


class Session:
    """One worker's part in one training run."""

    def __init__(self, context: Context, elastic: Elastic) -> None:
        self._context = context
        self._elastic = elastic
        self._course = elastic.course
        self._company = find_company(context)
        self._hand = Step(on_meeting=self._show_meeting, on_met=self._show_met)
        self.model = ElasticModel(
            elastic.model, self._hand, find_unused_parameters=elastic.find_unused_parameters
        )
        self.optimizer = elastic.optimizer
        self.ledger = Ledger(self._course.samples)
        self.rank, self.world, self.generation = context.place.rank, context.place.world, 0
        self._stateful = Stateful(elastic.model, elastic.optimizer, elastic.scheduler, elastic.extras)
        self._keeper = Keeper(context.saver, context.teller)
        self._rewind = Rewind(elastic.model)
        self._phases = Phases()
        self._loader = Loader(
            elastic.dataset,
            self._course,
            seed=context.seed,
            workers=elastic.loader_workers,
            collate=elastic.collate,
            shuffle=elastic.shuffle,
        )
        self._group: Group | None = None
        self._agreement: Agreement | None = None
        self._members: tuple[str, ...] = ()
        self._has_state = False
        self._is_over = False
        self._is_meeting = False
        self._seen = 0
        self._piece: Piece | None = None
        self._gathering = Gathering(self._hand)
        if elastic.sync_batchnorm:
            self._gather_batchnorm()
        self._guard_the_loop()
        self._company.on_newer(self._hear)
        self.batches: Iterator[Any] = self

    @property
    def step(self) -> int:
        """Updates that were applied."""
        return self.ledger.steps

    @property
    def epoch(self) -> int:
        """The one that the step under way belongs to."""
        return self._course.at(self.step).epoch

    @property
    def aborted(self) -> bool:
        """Whether the step under way is void, or only a part of it was computed yet."""
        return self._hand.is_under_way and not self._hand.may_update

    def __iter__(self) -> Iterator[Any]:
        return self

    def __len__(self) -> int:
        """Steps that are left, for progress bars; a share in pieces has more items than steps."""
        return max(0, self._course.steps - self.step)

    def __next__(self) -> Any:
        if self._is_over:
            raise StopIteration
        if self._piece is not None and not self._piece.last and not self._must_regroup():
            return self._draw()
        self._close_step()
        self._arrive()
        return self._draw()

    def finish(self, model: Any) -> None:  # noqa: ARG002 - its state is known
        """The last checkpoint, then leave in peace."""
        self._close_step()
        if self.rank == 0 and self._has_state:
            self._keeper.keep_now(self.step, self.generation, self._capture(), "finish")
        self._company.show(Stage.FINISHED)
        self._tear_down()
        self._loader.close()
        wait_until_closed()

    # --- the step under way ---

    def _draw(self) -> Any:
        is_first = self._piece is None
        piece = self._loader.next()
        weight = piece.samples * self.world / piece.batch.size
        self._hand.begin(weight, is_last=piece.last, is_first=is_first)
        if is_first:
            self._begin_step()
        self._piece = piece
        return piece.batch_of_user

    def _begin_step(self) -> None:
        self._hand.is_aborted = False
        if self.world > 1:
            self._rewind.mark()
        if self._hand.is_split:
            self._elastic.model.zero_grad(set_to_none=True)

    def _close_step(self) -> None:
        """Count it, or make it undone."""
        piece, self._piece = self._piece, None
        if piece is None:
            return
        self._hand.is_under_way = False
        self._show_met()
        if self._hand.is_aborted or not piece.last:
            self._hand.is_aborted = True
            self._rewind.back()
            return
        self.ledger.applied(piece.batch, self.generation)
        self._company.show(step=self.step, samples=self.ledger.samples)
        self._context.meter.stepped(
            step=self.step,
            samples=self.ledger.samples,
            generation=self.generation,
            rank=self.rank,
            world=self.world,
        )
        self._after_update()

    def _after_update(self) -> None:
        change = self._phases.stepped()
        if self.rank != 0:
            return
        if change is not None:
            self._context.teller.tell(records.RESCALE, step=self.step, generation=self.generation, **change)
        every = self._elastic.checkpoint_every
        if every and self.step % every == 0 and self.step < self._course.steps:
            self._keeper.keep(self.step, self.generation, self._capture(), "every")

    # --- between two steps ---

    def _arrive(self) -> None:
        """Go on as a member of a group that can, or not at all."""
        try:
            while True:
                if self._must_regroup():
                    self._regroup()
                elif self.step >= self._course.steps:
                    self._end()
                elif not self._is_to_switch():
                    return
                else:
                    self._regroup()
        except ToldToGo:
            self._leave(self._company_is_gone())

    def _must_regroup(self) -> bool:
        return self._group is None or self._group.is_broken or self._hand.is_aborted

    def _is_to_switch(self) -> bool:
        wanted = self._company.wanted(self.generation)
        if wanted is None or self._agreement is None:
            return False
        self._phases.asked()
        try:
            if not self._agreement.is_reached(wanted, self.step):
                return False
        except GroupBroken:
            return True
        self._agreement.wait_for_all()
        return True

    def _regroup(self) -> None:
        """Leave this group, and join the newest that can be joined."""
        if self._group is not None and not self._company.can_recover and self._must_regroup():
            raise ConnectionError("a worker of this group was lost, and nobody names another group")
        if self._has_state:
            self._phases.left()
        for failures in itertools.count():
            self._tear_down()
            membership = self._company.next(self._seen, has_state=self._has_state)
            self._seen = membership.generation
            if membership.rank_of(self._company.worker) is None:
                self._leave(membership)
            with contextlib.suppress(GroupBroken):
                self._join(membership, failures)
                return

    def _tear_down(self) -> None:
        """First all that holds on to the group, then the group."""
        group, self._group, self._agreement = self._group, None, None
        if group is not None:
            self.model.part()
            self._gathering.group = None
            group.leave()

    def _join(self, membership: Membership, failures: int) -> None:
        """Meet the others of a generation, and go on from the newest state among them."""
        rank = membership.rank_of(self._company.worker)
        assert rank is not None
        self._phases.left()
        self._company.show(Stage.FORMING)
        group = Group(membership.name, membership.workers, rank, failures)
        self._group = group
        self._hear_again(membership)
        with communicating():
            notes = [json.loads(note) for note in self._company.meet(group, membership, self._note())]
            group.connect([member.host for member in membership.members])
        group.is_formed = True
        self._phases.mark("formed")
        moved, source = self._share_state(group, notes)
        self._phases.mark("moved")
        self._begin_generation(group, membership)
        self._phases.joined(
            why=membership.why,
            before=len(self._members),
            after=group.world,
            lost=list(membership.lost),
            source=source,
            moved_bytes=moved,
            warm_up_ms=max([round(1000 * note["age"]) for note in notes if not note["has_state"]], default=0),
        )
        self._members = membership.workers

    def _begin_generation(self, group: Group, membership: Membership) -> None:
        lost = len(set(membership.lost) & set(self._members))
        self.rank, self.world, self.generation = group.rank, group.world, membership.generation
        self.ledger.joined(membership.generation, group.world, lost)
        self.model.join(group)
        self._gathering.group = group
        self._agreement = Agreement(group)
        self._loader.seek(self.step, group.world, group.rank, self._elastic.most_per_worker)
        self._hand.is_aborted = False
        self._company.show(
            Stage.TRAINING, generation=self.generation, step=self.step, samples=self.ledger.samples
        )

    def _leave(self, membership: Membership) -> None:
        """Drained. If all leave, one of them keeps what they have."""
        self._company.show(Stage.LEAVING)
        self._tear_down()
        left = [worker for worker in self._members if worker not in membership.lost]
        if not membership.members and self._has_state and left[:1] == [self._company.worker]:
            self._keeper.keep_now(self.step, self.generation, self._capture(), "stop")
        self._is_over = True
        self._loader.close()
        wait_until_closed()
        raise leave_with(self._context.stop.exit_code)

    def _end(self) -> None:
        """Nobody leaves before all have applied the last update: who is behind gets it from who is not."""
        group = self._group
        assert group is not None
        if group.world > 1:
            self._company.show(Stage.MEETING)
            try:
                self._meet_at_the_end(group)
            except GroupBroken:
                group.give_up()
                return
        self._is_over = True
        raise StopIteration

    def _meet_at_the_end(self, group: Group) -> None:
        with communicating():
            group.store.add("end", 1)
            group.wait_until(lambda: group.store.add("end", 0) >= group.world)
            group.store.add("gone", 1)
            if group.rank == 0:
                group.wait_until(lambda: group.store.add("gone", 0) >= group.world, _GOODBYE)

    # --- state ---

    def _note(self) -> str:
        """What the others must know of this worker."""
        age = 0.0 if self._has_state else seconds_since_birth()
        return json.dumps({"has_state": self._has_state, "step": self.step, "age": age})

    def _share_state(self, group: Group, notes: list[dict[str, Any]]) -> tuple[int, int]:
        """Bytes that came or went here, and the rank of the first source."""
        has_state, steps = [note["has_state"] for note in notes], [note["step"] for note in notes]
        if not any(has_state):
            has_state[0] = True
            if group.rank == 0:
                self._start()
        links = chains(has_state, steps)
        mine = links[group.rank]
        moved = 0
        if mine.before is not None or mine.after is not None:
            assert group.processes is not None
            if mine.before is None:
                state = self._capture()
                assert mine.after is not None
                with communicating():
                    send(group.processes, state, mine.after)
            else:
                # A survivor stays whole if this fails; a newcomer has nothing to lose.
                into = {} if self._has_state else self._stateful.model_tensors()
                with communicating():
                    state = receive(group.processes, mine, into)
                self._restore(state)
            moved = state.size
        return moved, next(rank for rank, link in enumerate(links) if link.before is None)

    def _start(self) -> None:
        """Nobody has state: go on from the last checkpoint, or begin."""
        kept = self._keeper.newest()
        if kept is not None:
            self._restore(kept)
            sys.stderr.write(f"going on from step {self.step}, epoch {self.epoch}\n")
        self._has_state = True

    def _capture(self) -> TrainingState:
        return capture(self._stateful, {"ledger": self.ledger.to_json(), "members": list(self._members)})

    def _restore(self, state: TrainingState) -> None:
        account = restore(self._stateful, state)
        self.ledger = Ledger.from_json(account["ledger"])
        self.ledger.must_fit(self._course)
        self._members = tuple(account["members"])
        self._has_state = True

    # --- the others ---

    def _hear(self, membership: Membership) -> None:
        """From the link's thread: give up what cannot go on, at once."""
        group = self._group
        if group is None or membership.generation <= self._seen:
            return
        if not group.is_formed or set(membership.lost) & set(group.workers):
            group.give_up()

    def _hear_again(self, membership: Membership) -> None:
        """Something newer may have come before there was a group to give up."""
        newest = self._context.link.newest if self._context.link is not None else None
        if newest is not None and newest.generation > membership.generation and self._group is not None:
            self._group.give_up()

    def _company_is_gone(self) -> Membership:
        return Membership(job=self._context.place.job, generation=self._seen + 1, members=(), why="stop")

    def _show_meeting(self) -> None:
        self._is_meeting = True
        self._company.show(Stage.MEETING)

    def _show_met(self) -> None:
        if self._is_meeting:
            self._is_meeting = False
            self._company.show(Stage.TRAINING)

    def _gather_batchnorm(self) -> None:
        if self._elastic.most_per_worker is not None:
            raise InputInvalid(
                "batch normalisation over the whole batch needs each share in one piece",
                remedy="Leave out sync_batchnorm or most_per_worker",
                field="sync_batchnorm",
            )
        gather_batchnorm(self._elastic.model, self._gathering)

    def _guard_the_loop(self) -> None:
        guard_optimizer(self.optimizer, self._hand)
        if self._elastic.scheduler is not None:
            guard(self._elastic.scheduler, ("step",), self._hand)
        for extra in self._elastic.extras.values():
            guard(extra, ("step", "update", "unscale_"), self._hand)
