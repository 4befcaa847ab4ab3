"""`tenuto.AsyncClient`: the same as `tenuto.Client` for programs with an event loop. A test compares the two."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal, Self, Unpack

import httpx

from tenuto.client import wire_values as wire
from tenuto.client.ask import Ask, asked
from tenuto.client.log_reading import LogReading, Which
from tenuto.client.perform import AsyncPerformer
from tenuto.client.stream import OPEN, Subscription, followed
from tenuto.client.typed import (
    ASKS,
    Heard,
    JobFields,
    JobRef,
    M,
    Wishes,
    awaited,
    body_of,
    granted,
    heard,
    pages,
    read,
    ref_of,
    sendable,
    wish_of,
)
from tenuto.client.whereabouts import line_to


class AsyncClient:
    """A server's API; without a URL that of this machine. Any number of tasks of one event loop may use it."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        patience: float = 10.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._line = line_to(url, token, patience)
        self._performer = AsyncPerformer(self._line, transport)

    @property
    def url(self) -> str:
        """Where the server is."""
        return self._line.address[0]

    async def close(self) -> None:
        """Let go of the connections."""
        await self._performer.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # jobs

    async def submit(
        self,
        job: wire.JobIn | Mapping[str, Any] | None = None,
        /,
        *,
        key: str = "",
        must: bool = False,
        **fields: Unpack[JobFields],
    ) -> wire.JobOut:
        """Hand in a job. With `must` its answer is waited for, and a no raises Declined.

        The same `key` never makes two jobs, however often it is handed in.
        """
        made = await self._one(wire.JobOut, ASKS.submit(body_of(job, fields), key=key))
        return await self.verdict(made, must=True) if must else made

    async def job(self, job: JobRef) -> wire.JobOut:
        """A job as it is now."""
        return await self._one(wire.JobOut, ASKS.job(ref_of(job)))

    def jobs(self, **query: Any) -> AsyncIterator[wire.JobOut]:
        """All jobs that are meant, newest first: by state, owner, label, name, text."""
        return self._all(wire.JobOut, lambda at: ASKS.jobs(**{"limit": 500, **query, "cursor": at}))

    async def job_table(self, **query: Any) -> wire.JobTableOut:
        """A page of the table of jobs, sorted by `order`, and how many rows it has in all."""
        return await self._one(wire.JobTableOut, ASKS.job_table(**query))

    async def verdict(self, job: JobRef, *, timeout: float | None = None, must: bool = False) -> wire.JobOut:
        """The job when it has been answered; with `must` a no raises Declined. Raises TimeoutError."""
        answered = read(wire.JobOut, await self._run(awaited(self._line, ref_of(job), "verdict", timeout)))
        return granted(answered) if must else answered

    async def end(self, job: JobRef, *, timeout: float | None = None) -> wire.JobOut:
        """The job when it has ended. Raises TimeoutError."""
        return read(wire.JobOut, await self._run(awaited(self._line, ref_of(job), "end", timeout)))

    async def change(self, job: JobRef, **wishes: Unpack[Wishes]) -> wire.JobOut:
        """Change deadline, priority, after, name or labels."""
        return await self._one(wire.JobOut, ASKS.change(ref_of(job), sendable(wishes)))

    async def scale(
        self,
        job: JobRef,
        workers: int | Literal["auto"] | None = None,
        *,
        delta: int | None = None,
        node: str | None = None,
        nodes: Mapping[str, int] | None = None,
        force: bool = False,
    ) -> wire.JobOut:
        """Pin a job's size: so many workers, a difference, or so many on each node; `auto` lets it go."""
        wish = wish_of(workers, nodes, delta=delta, node=node, force=force)
        return await self._one(wire.JobOut, ASKS.scale(ref_of(job), wish))

    async def pause(self, job: JobRef) -> wire.JobOut:
        """Let a job give its slots and its promise back and wait."""
        return await self._one(wire.JobOut, ASKS.act(ref_of(job), "pause"))

    async def resume(self, job: JobRef) -> wire.JobOut:
        """Let a paused job go on; it is answered anew."""
        return await self._one(wire.JobOut, ASKS.act(ref_of(job), "resume"))

    async def cancel(self, job: JobRef) -> wire.JobOut:
        """End a job."""
        return await self._one(wire.JobOut, ASKS.act(ref_of(job), "cancel"))

    async def resubmit(self, job: JobRef, *, key: str = "", **edit: Any) -> wire.JobOut:
        """Hand in a job again under a new id, as it was or with some keys changed; None takes one away."""
        return await self._one(wire.JobOut, ASKS.resubmit(ref_of(job), sendable(edit) or None, key=key))

    async def delete(self, job: JobRef, *, cascade: bool = False) -> list[str]:
        """Forget a job, and with `cascade` those that wait for it; tells the ids of all that are gone."""
        return (await self._one(wire.DeletedOut, ASKS.delete(ref_of(job), cascade=cascade))).deleted

    def logs(
        self,
        job: JobRef,
        *,
        role: str = "",
        rank: int | None = None,
        generation: int | None = None,
        tail: int | None = None,
        follow: bool = False,
    ) -> AsyncIterator[wire.LogPiece]:
        """What a job's workers printed, piece by piece; with `follow` also what they will print, to the job's end."""
        which = Which(role=role, rank=rank, generation=generation, tail=tail)
        reading = LogReading(self._line, ref_of(job), which)
        play = reading.follow() if follow else reading.all()
        return (read(wire.LogPiece, piece) async for piece in self._performer.each(play))

    async def log_parts(self, job: JobRef, **query: Any) -> wire.LogsOut:
        """A piece of each worker's log, by `offset` or its `tail`; `next` of a part is the `offset` of what follows."""
        return await self._one(wire.LogsOut, ASKS.logs(ref_of(job), **query))

    async def delete_logs(self, job: JobRef) -> list[str]:
        """Delete what an ended job's workers printed; the job stays."""
        return (await self._one(wire.DeletedOut, ASKS.delete_logs(ref_of(job)))).deleted

    async def metrics(self, job: JobRef, **query: Any) -> wire.MetricsOut:
        """One page of what a job's workers tell of their steps; `next` is the `from_step` of the following one."""
        return await self._one(wire.MetricsOut, ASKS.metrics(ref_of(job), **query))

    async def numbers(self, kind: str, **query: Any) -> wire.NumbersOut:
        """One page of numbers over time: of `node`, `job` or `cluster`, as columns."""
        return await self._one(wire.NumbersOut, ASKS.numbers(kind, **query))

    def subjects(self, kind: str, **query: Any) -> AsyncIterator[wire.SubjectOut]:
        """What is measured: nodes, jobs or the cluster, and their parts."""
        return self._all(
            wire.SubjectOut, lambda at: ASKS.subjects(kind, **{"limit": 500, **query, "cursor": at})
        )

    def attempts(self, job: JobRef) -> AsyncIterator[wire.AttemptOut]:
        """Every start of a worker, and how it ended."""
        ref = ref_of(job)
        return self._all(wire.AttemptOut, lambda at: ASKS.attempts(ref, limit=500, cursor=at))

    async def hosts(self, job: JobRef) -> list[str]:
        """The job's allocation as lines `host:slots`."""
        return (await self._one(wire.HostsOut, ASKS.hosts(ref_of(job)))).lines

    # questions

    async def plan(self, *jobs: wire.JobIn | Mapping[str, Any]) -> wire.PlanOut:
        """What these jobs would be answered if they were handed in now; nothing is."""
        return await self._one(wire.PlanOut, ASKS.plan([body_of(job, {}) for job in jobs]))

    async def whatif(self, **thought: Any) -> wire.WhatIfOut:
        """Every promise and estimate before and after what is thought of; nothing is changed."""
        return await self._one(wire.WhatIfOut, ASKS.whatif(thought))

    async def explain(self, job: JobRef) -> wire.ExplainOut:
        """Why a job waits, was declined or shrunk, and what would help."""
        return await self._one(wire.ExplainOut, ASKS.explain(ref_of(job)))

    # what happens

    def events(
        self,
        *,
        job: JobRef = "",
        node: str = "",
        kind: str = "",
        after: int | None = None,
        follow: bool = False,
    ) -> AsyncIterator[wire.EventOut]:
        """What happened, oldest first; with `follow` what happens, from now or from behind `after` on, without end."""
        query = {"job": ref_of(job), "node": node, "kind": kind}
        if not follow:
            return self._all(
                wire.EventOut, lambda at: ASKS.events(**query, limit=500, after=after if at is None else at)
            )
        frames = self._performer.each(followed(self._line, Subscription({**query, "after": after})))
        return (read(wire.EventOut, frame.json()) async for frame in frames if frame.name != OPEN)

    async def last_events(
        self, limit: int = 100, *, job: JobRef = "", node: str = "", kind: str = ""
    ) -> list[wire.EventOut]:
        """What happened lately, at most 500 events, oldest first."""
        ask = ASKS.events(job=ref_of(job), node=node, kind=kind, limit=limit, last=True)
        told = await self._run(asked(self._line, ask))
        return [read(wire.EventOut, one) for one in told["items"]]

    async def scaling(self, **query: Any) -> wire.ScalingLogOut:
        """One page of who changed which job's workers, newest first; `next` is the `cursor` of older ones."""
        return await self._one(wire.ScalingLogOut, ASKS.scaling(**query))

    def stream(
        self, *topics: Literal["jobs", "nodes", "cluster", "logs"], job: JobRef = "", after: int | None = None
    ) -> AsyncIterator[Heard]:
        """Several topics at once as they happen, without end: events, and what a job's workers print."""
        wanted = Subscription({"topics": ",".join(topics), "job": ref_of(job), "after": after})
        frames = self._performer.each(followed(self._line, wanted))
        return (heard(frame) async for frame in frames if frame.name != OPEN)

    # the platform

    def nodes(self) -> AsyncIterator[wire.NodeOut]:
        """The nodes, and who holds their slots."""
        return self._all(wire.NodeOut, lambda at: ASKS.nodes(limit=500, cursor=at))

    async def node(self, node: str) -> wire.NodeOut:
        """A node, and who holds its slots."""
        return await self._one(wire.NodeOut, ASKS.node(node))

    async def node_sample(self, node: str) -> wire.NodeSampleOut:
        """What a node was doing a moment ago."""
        return await self._one(wire.NodeSampleOut, ASKS.node_sample(node))

    async def drain(self, node: str) -> wire.NodeOut:
        """Let a node keep no worker and get none."""
        return await self._one(wire.NodeOut, ASKS.drain(node))

    async def undrain(self, node: str) -> wire.NodeOut:
        """Let a node be used again."""
        return await self._one(wire.NodeOut, ASKS.undrain(node))

    async def remove_node(self, node: str) -> list[str]:
        """Forget a node without workers."""
        return (await self._one(wire.DeletedOut, ASKS.remove_node(node))).deleted

    def credentials(self) -> AsyncIterator[wire.CredentialOut]:
        """The credentials of nodes, oldest first."""
        return self._all(wire.CredentialOut, lambda at: ASKS.credentials(limit=500, cursor=at))

    async def approve_node(self, node: str) -> list[wire.CredentialOut]:
        """Let a node take part that has joined and waits for approval."""
        return (await self._one(wire.CredentialsOut, ASKS.approve_node(node))).items

    async def rotate_node(self, node: str) -> list[wire.CredentialOut]:
        """Have a node replace its credential."""
        return (await self._one(wire.CredentialsOut, ASKS.rotate_node(node))).items

    async def revoke_node(self, node: str) -> list[wire.CredentialOut]:
        """Revoke a node's credential."""
        return (await self._one(wire.CredentialsOut, ASKS.revoke_node(node))).items

    def tokens(self) -> AsyncIterator[wire.TokenOut]:
        """The tokens, oldest first, without their secrets."""
        return self._all(wire.TokenOut, lambda at: ASKS.tokens(limit=500, cursor=at))

    async def create_token(self, name: str = "", *, expires: float | None = None) -> wire.NewTokenOut:
        """Create a token that ends after so many seconds; the answer holds its secret, this once."""
        return await self._one(wire.NewTokenOut, ASKS.create_token(name, expires))

    async def revoke_token(self, token: str, *, force: bool = False) -> wire.TokenOut:
        """Revoke a token; with `force`, even the one that is used for it."""
        return await self._one(wire.TokenOut, ASKS.revoke_token(token, force=force))

    async def policy(self) -> wire.PolicyOut:
        """The policy in force and its settings."""
        return await self._one(wire.PolicyOut, ASKS.policy())

    async def set_policy(
        self, name: str | None = None, *, force: bool = False, settings: Mapping[str, Any] | None = None
    ) -> wire.PolicyOut:
        """Put another policy or other settings in force; `force` breaks promises."""
        wish = wish_of(None, None, name=name, force=force, settings=settings)
        return await self._one(wire.PolicyOut, ASKS.set_policy(wish))

    async def shadows(self, since: str | None = None) -> wire.ShadowsOut:
        """What policies that decide along would have done."""
        return await self._one(wire.ShadowsOut, ASKS.shadows(since=since))

    async def set_shadows(self, *policies: str | Mapping[str, Any]) -> wire.ShadowsOut:
        """Let these policies decide along, and no others."""
        wanted = [{"name": one} if isinstance(one, str) else one for one in policies]
        return await self._one(wire.ShadowsOut, ASKS.set_shadows(wanted))

    def history(self, **query: Any) -> AsyncIterator[wire.PastOut]:
        """The past's jobs as a trace tells of them, newest first."""
        return self._all(wire.PastOut, lambda at: ASKS.history(**{"limit": 500, **query, "cursor": at}))

    async def timeline(self, **query: Any) -> wire.TimelineOut:
        """Who had how many slots when, who will probably have them, and to whom they are promised."""
        return await self._one(wire.TimelineOut, ASKS.timeline(**query))

    async def report(self, since: str | None = None) -> wire.ReportOut:
        """How promises were kept and estimates held since then."""
        return await self._one(wire.ReportOut, ASKS.report(since=since))

    async def history_cluster(self, **query: Any) -> wire.TimeOut:
        """The nodes of a time, and by which rules rounds decide."""
        return await self._one(wire.TimeOut, ASKS.history_cluster(**query))

    async def curves(self) -> list[wire.CurveOut]:
        """The curves that runs have left behind."""
        told = await self._run(asked(self._line, ASKS.curves()))
        return [read(wire.CurveOut, one) for one in told["items"]]

    async def add_to_curve(
        self, job: JobRef, curve: Mapping[int, float], *, kind: str = "cpu"
    ) -> wire.CurveOut:
        """Have speeds remembered that were measured with a job, on devices of this kind."""
        return await self._one(wire.CurveOut, ASKS.add_to_curve(ref_of(job), curve, kind))

    async def cluster(self) -> wire.ClusterOut:
        """How the whole is doing."""
        return await self._one(wire.ClusterOut, ASKS.cluster())

    async def cluster_map(self) -> wire.MapOut:
        """Every slot of every node, and who is on it."""
        return await self._one(wire.MapOut, ASKS.cluster_map())

    async def overview(self, **query: Any) -> wire.OverviewOut:
        """One look at the whole: numbers, and some rows of nodes, GPUs and jobs."""
        return await self._one(wire.OverviewOut, ASKS.overview(**query))

    async def ready(self) -> wire.ReadyOut:
        """Whether the platform takes work. Raises what it is not ready for."""
        return await self._one(wire.ReadyOut, ASKS.ready())

    async def check_nodes(self, nodes: Sequence[str], *, timeout: float = 30.0) -> list[wire.NodeCheckOut]:
        """How nodes find themselves."""
        return (await self._one(wire.ChecksOut, ASKS.check_nodes(nodes, timeout=timeout))).items

    async def server_log(self, **query: Any) -> wire.ServerLogOut:
        """The last lines of the server's own log."""
        return await self._one(wire.ServerLogOut, ASKS.server_log(**query))

    async def settings(self) -> list[wire.SettingOut]:
        """Every setting that is in force, and where it comes from."""
        return (await self._one(wire.SettingsOut, ASKS.settings())).items

    async def page(self) -> str:
        """An address that logs a browser in, once and within a minute."""
        return self.url + (await self._one(wire.PageOut, ASKS.page())).path

    async def down(self) -> wire.DownOut:
        """Ask the platform to drain and stop."""
        return await self._one(wire.DownOut, ASKS.down())

    # how it is done

    async def _run(self, play: Any) -> Any:
        return await self._performer.one(play)

    async def _one(self, kind: type[M], ask: Ask) -> M:
        return read(kind, await self._run(asked(self._line, ask)))

    def _all(self, kind: type[M], ask: Any) -> AsyncIterator[M]:
        return (read(kind, item) async for item in self._performer.each(pages(self._line, ask)))
