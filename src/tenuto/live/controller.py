"""The controller: the one who acts. It looks, decides by the same round as the simulator, writes down, and wants.

Everything it does can be repeated at will: what it wants of the engine follows from the records alone, so a
controller that is killed at any moment is replaced by the next one without any worker noticing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf, isfinite
from threading import Event as Flag
from time import perf_counter
from typing import Any

from tenuto.engines.base import Engine, Observation, TermRefused
from tenuto.engines.launch import Defaults
from tenuto.forecast.pauses import rescale_charge
from tenuto.forecast.picture import Scene
from tenuto.live.agenda import next_moment
from tenuto.live.beside import beside
from tenuto.live.change import CONTROLLER
from tenuto.live.commit import Draft, Written, commit
from tenuto.live.crews import crews
from tenuto.live.decide import Ruling, decide
from tenuto.live.idle import Idleness
from tenuto.live.leadership import Leadership, LeadershipLost, claim, release, renew
from tenuto.live.learn import Learner
from tenuto.live.loop import Loop
from tenuto.live.mirror import Meter, Mirror, Records
from tenuto.live.onlooker import Nobody, Onlooker
from tenuto.live.orders import Muster
from tenuto.live.policy_in_force import PolicyInForce, Trouble, rules_of
from tenuto.live.reconcile import News, Watch, reconcile
from tenuto.live.rule import rule
from tenuto.live.seats import House
from tenuto.live.stakes import Ground, Stakes, ground, same, stakes
from tenuto.live.standing import Standing
from tenuto.live.walk import ask_again
from tenuto.model.event import Event
from tenuto.model.phase import ENDED, PLACED, Phase
from tenuto.monitor.usage import GpuUses
from tenuto.policy.base import Policy
from tenuto.settings import Settings
from tenuto.store.base import Store, StoreUnavailable, Tx
from tenuto.store.policy_memory import decode, encode
from tenuto.wire.worker import CrewOrder, WorkerId, WorkerOrder, WorkerSeen, WorkerState


class Controller:
    """Belongs to the thread that calls `run`, or `tick` again and again."""

    def __init__(
        self,
        store: Store,
        engine: Engine,
        clock: Callable[[], float],
        settings: Settings | None = None,
        *,
        holder: str = CONTROLLER,
        force: bool = False,
        uses: GpuUses | None = None,
        onlooker: Onlooker | None = None,
    ) -> None:
        """With `force` another controller's lease is not waited for: its process is known to be gone.

        `uses` tells of GPUs that nobody uses; without it no job counts as idle.
        """
        self.settings = settings or Settings()
        self._store, self._engine, self._clock = store, engine, clock
        self._holder, self._force = holder, force
        self._onlooker = onlooker or Nobody()
        self._leadership: Leadership | None = None
        self._watch: Watch | None = None
        self._policies = PolicyInForce()
        self._idleness = Idleness(self.settings.idle, uses)

    def tick(self) -> bool:
        """Look, decide, act; False if something changed meanwhile, so that it should be done again at once.

        Raises LeadershipLost if another controller acts, and StoreUnavailable; then nothing was done.
        """
        now = self._clock()
        leadership = self._lead(now)  # 1 may it act?
        seen = self._with_unrecorded(self._engine.observe())  # 2 what really runs
        records = self._store.read(self._recorded)  # 3 what is recorded
        seen = self._without_removed(seen, records)
        left = self._meter.advance(records.jobs.values(), now)
        watch = self._watch = self._watch_from(seen)
        news = reconcile(
            records, seen, left, now, watch, self._standing.look
        )  # 4 what has happened meanwhile
        news = self._asked_anew(self._measured(news, now))
        news = replace(news, changes=self._idleness.look(news.changes, news.sight, now))
        draft, ruling = self._decide(news, records, now)  # 5 one frozen picture; decide, place, check
        draft = self._beside(draft, records)
        written = self._write(draft, records, leadership)  # 6 publish, except what is stale
        self._remember(ruling, written, records)
        self._act(written, records, news, leadership, watch)  # 7 want these workers, and only these
        if written.complete:
            self._unrecorded.clear()
        return written.complete

    def run(self, stop: Flag) -> None:
        """Tick until told to stop, whatever happens. Workers go on afterwards."""
        Loop(self, self._store, self._engine, self._clock).run(stop)

    def resign(self) -> None:
        """Let the next controller begin at once. Workers go on."""
        if (leadership := self._leadership) is not None:
            self._leadership = None
            self._store.write(lambda tx: release(tx, leadership, self._clock()))

    # leadership

    def _lead(self, now: float) -> Leadership:
        if self._leadership is None:
            self._leadership = self._store.write(lambda tx: self._claim(tx, now))
            self._force = False  # whoever loses leadership must not take it back by force
            self._begin()
        elif self._leadership.due_for_renewal(now):
            held = self._leadership
            try:
                self._leadership = self._store.write(lambda tx: renew(tx, held, now))
            except LeadershipLost as lost:
                raise self._lost(lost) from None
        return self._leadership

    def _claim(self, tx: Tx, now: float) -> Leadership:
        claimed = claim(tx, self._holder, now, force=self._force)
        if claimed is None:
            raise LeadershipLost("another controller leads")
        if tx.meta("epoch") is None:
            tx.set_meta("epoch", now)
        return claimed

    def _begin(self) -> None:
        """Know nothing but what is stored."""
        self._meter = Meter()
        self._standing = Standing()
        self._muster = Muster()
        self._learner = Learner(self.settings.learning)
        self._watch = None
        self._trouble = Trouble()
        self._mirror: Mirror | None = None
        self._stored_memory: Any = None
        self._memory: Any = None
        self._wake_at = inf
        self._decided_at = -inf
        self._decided_on: Stakes | None = None
        self._ground: Ground | None = None
        self._fitted_nowhere: dict[str, int] = {}
        self._wanted: tuple[WorkerOrder, ...] | None = None
        self._ordered: dict[WorkerId, WorkerOrder] = {}
        self._together: tuple[CrewOrder, ...] = ()
        self._unrecorded: dict[WorkerId, WorkerSeen] = {}
        self._next_moment = inf
        self._known_nodes: frozenset[str] = frozenset()

    def _lost(self, reason: object) -> LeadershipLost:
        self._leadership = None
        return LeadershipLost(str(reason))

    # the news

    def _with_unrecorded(self, seen: Observation) -> Observation:
        """Add how workers ended that were seen in a tick which could not write it down, and are not shown again."""
        self._unrecorded |= {id_: one for id_, one in seen.workers.items() if one.state is WorkerState.EXITED}
        return replace(seen, workers={**self._unrecorded, **seen.workers})

    def _recorded(self, tx: Tx) -> Records:
        """Catch up with the store; with everything, if the copy of it is not certain."""
        mirror = self._mirror
        if mirror is None:
            mirror, stored = Mirror(self.settings.scheduling), tx.meta("memory")
            self._stored_memory, self._memory = (stored["value"] if stored else None), None
            self._decided_on = None
        records = mirror.refresh(tx)
        self._learner.read(tx, records.jobs.values(), self._clock())
        self._mirror = mirror
        return records

    def _without_removed(self, seen: Observation, records: Records) -> Observation:
        """Tell the engine of nodes that were removed from the records, and do not look at them any more."""
        removed = self._known_nodes - records.nodes.keys()
        self._known_nodes = frozenset(records.nodes)
        for name in removed:
            self._engine.forget_node(name)
            self._idleness.forget(name)
        if not removed:
            return seen
        return replace(seen, nodes={name: node for name, node in seen.nodes.items() if name not in removed})

    def _watch_from(self, seen: Observation) -> Watch:
        """How nodes are judged; no silence before the first observation counts."""
        watch = self._watch or Watch(self.settings.nodes.timeout, seen.listened)
        return replace(watch, orders=self._ordered)

    def _measured(self, news: News, now: float) -> News:
        """Let jobs that are being measured go on to the next size, or to their answer."""
        within = sum(len(node.slots) for node in news.nodes.values())
        changes = dict(news.changes)
        for job, change in news.changes.items():
            if not self._learner.concerns(change.job):
                continue
            changes[job] = self._learner.paced(change)
            after = self._learner.note(change.job, news.sight.present(change.job).values(), now, within)
            if after is not None:
                measured = replace(change, job=after)
                changes[job] = measured if after.ending is None else measured.end(after.ending)
        return replace(news, changes=changes)

    def _asked_anew(self, news: News) -> News:
        """Jobs that fitted nowhere are asked again when the nodes or their own wishes have changed."""
        now_usable = ground(news.nodes.values())
        nodes_changed = now_usable != self._ground
        changes = dict(news.changes)
        for job, change in news.changes.items():
            if change.job.phase is not Phase.UNSCHEDULABLE:
                continue
            if nodes_changed:
                changes[job] = ask_again(change, "the nodes have changed")
            elif self._fitted_nowhere.get(job) != change.before.revision:
                changes[job] = ask_again(change, "the job was changed")
        self._ground = now_usable
        return replace(news, changes=changes)

    # the round

    def _decide(self, news: News, records: Records, now: float) -> tuple[Draft, Ruling | None]:
        if not self._is_due(news, records, now):
            return Draft(news, news.changes), None
        begun = perf_counter()
        try:
            policy = self._policies.find(records.scheduling, records.tuning)
            news, ruling = self._rule(news, records, policy, now)
            memory = encode(ruling.round.memory)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a policy does wrong, the platform goes on
            if not self._trouble.failed(error, now):
                return Draft(news, news.changes), None
            return Draft(news, news.changes, events=(self._told(records, now),)), None
        self._trouble.over()
        self._onlooker.ruled(perf_counter() - begun)
        wake_at = ruling.round.wake_at + ruling.picture.epoch
        meta = {
            "memory": {"policy": policy.name, "value": memory},
            "wake_at": wake_at if isfinite(wake_at) else None,
        }
        return Draft(news, decide(news.changes, ruling), meta), ruling

    def _beside(self, draft: Draft, records: Records) -> Draft:
        """Give places to those who need no slot, or share one."""
        news, scheduling = draft.news, records.scheduling
        if records.draining or len(news.nodes) < scheduling.wait_nodes:
            return draft
        house = House(news.sight, self.settings.sharing, self.settings.nodes.cpu_jobs, scheduling.start_cost)
        return replace(draft, decided=beside(draft.decided, house))

    def _is_due(self, news: News, records: Records, now: float) -> bool:
        if records.draining or len(news.nodes) < records.scheduling.wait_nodes or now < self._trouble.until:
            return False
        if now >= self._wake_at or now >= self._next_check(news, records):
            return True
        jobs = (change.job for change in news.changes.values())
        at_stake = stakes(jobs, news.nodes.values(), records)
        if self._decided_on is None or not same(at_stake, self._decided_on):
            return True
        self._decided_on = at_stake  # the same in newer records, which will be the same objects next time
        return False

    def _next_check(self, news: News, records: Records) -> float:
        """Where jobs tell their steps, a plan that was made by their curves is checked now and then."""
        tells = any(
            change.job.phase in PLACED and change.job.progress.step is not None
            for change in news.changes.values()
        )
        return self._decided_at + max(records.scheduling.interval, 1.0) if tells else inf

    def _rule(self, news: News, records: Records, policy: Policy, now: float) -> tuple[News, Ruling]:
        """Take the picture and run the round."""
        if self._stored_memory is not None:
            self._memory, self._stored_memory = decode(self._stored_memory, policy), None
        assert records.epoch is not None, "whoever claimed leadership has set it"
        strategies = (change.job.spec.strategy for change in news.changes.values() if change.job.is_planned)
        charge = rescale_charge(records.scheduling.rescale_cost, records.pauses, strategies)
        scene = Scene(
            jobs=(),
            nodes=list(news.nodes.values()),
            now=now,
            epoch=records.epoch,
            rules=rules_of(records.scheduling),
            start_cost=records.scheduling.start_cost,
            rescale_cost=charge.seconds,
            memory=self._memory,
            promises=policy.promises,
        )
        ruled = rule(news.changes, scene, policy)
        ruling = Ruling(
            ruled.round,
            ruled.picture,
            policy,
            news.nodes,
            news.sight.seen,
            self.settings.learning,
            records.scheduling.max_reconfigs_before_restart,
            records.past,
        )
        return replace(news, changes=ruled.changes), ruling

    def _told(self, records: Records, now: float) -> Event:
        return Event(
            kind="policy",
            at=now,
            actor=f"policy:{records.scheduling.policy}",
            after="failed",
            reason=f"{self._trouble.problem}; all jobs keep their slots, and it is asked again",
        )

    # writing and acting

    def _write(self, draft: Draft, records: Records, leadership: Leadership) -> Written:
        if draft.empty:
            return Written({}, draft.decided, draft.news.nodes, complete=True)
        try:
            written = self._store.write(lambda tx: commit(tx, draft, records, leadership))
        except LeadershipLost as lost:
            raise self._lost(lost) from None
        except StoreUnavailable:
            self._mirror = None  # it may have been written all the same: nobody heard the answer
            raise
        if self._mirror is not None:
            self._mirror.learn_attempts(
                attempt for job in written.jobs for attempt in written.changes[job].attempts
            )
        return written

    def _remember(self, ruling: Ruling | None, written: Written, records: Records) -> None:
        """Keep what the round wants to be reminded of, if it was written down."""
        for job, record in written.jobs.items():
            if record.phase is Phase.UNSCHEDULABLE:
                self._fitted_nowhere[job] = record.revision
        if not written.complete:
            self._decided_on = None
        if ruling is None or not (written.complete or written.changes):
            return
        self._memory = ruling.round.memory
        self._wake_at = ruling.round.wake_at + ruling.picture.epoch
        self._decided_at = ruling.picture.snapshot.now + ruling.picture.epoch
        if written.complete:
            jobs = (change.job for change in written.changes.values())
            self._decided_on = stakes(jobs, written.nodes.values(), records)

    def _act(
        self, written: Written, records: Records, news: News, leadership: Leadership, watch: Watch
    ) -> None:
        now = self._clock()
        if written.complete or written.changes:
            everybody = {**records.jobs, **written.jobs}
            jobs = [job for job in everybody.values() if job.phase not in ENDED]
            sight = news.sight
            defaults = Defaults(env=self.settings.workers.env, checkpoints=self.settings.store.checkpoints)
            self._want(
                leadership,
                self._muster.orders(jobs, written.nodes, sight, now, defaults),
                crews(jobs, written.nodes, sight, now),
            )
            self._next_moment = next_moment(jobs, written.nodes, news.sight.seen, watch, now)

    def _want(
        self, leadership: Leadership, wanted: tuple[WorkerOrder, ...], together: tuple[CrewOrder, ...]
    ) -> None:
        if (wanted, together) == (self._wanted, self._together):
            return
        try:
            self._engine.want(leadership.term, wanted, together)
        except TermRefused as refused:
            raise self._lost(refused) from None
        self._wanted, self._together = wanted, together
        self._ordered = {order.id: order for order in wanted}

    def next_look(self, now: float) -> float:
        """When there will be something to do although nothing happens; at once if it does not lead yet."""
        if self._leadership is None:
            return now
        return min(
            self._next_moment,
            self._wake_at if self._wake_at > now else inf,
            self._trouble.until if self._trouble.until > now else inf,
            self._learner.next_look(now),
            self._idleness.next_look,
            self._leadership.renewal,
        )
