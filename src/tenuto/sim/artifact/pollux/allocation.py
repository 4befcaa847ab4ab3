"""The scheduler: states the problem of a round, lets it be searched, and gives the jobs what was found."""

from __future__ import annotations

from math import ceil

import numpy as np

from tenuto.model.cluster import Cluster
from tenuto.model.columns import Floats
from tenuto.sim.artifact.pollux.draws import seeded
from tenuto.sim.artifact.pollux.genomes import Genome, Problem
from tenuto.sim.artifact.pollux.jobs import Job
from tenuto.sim.artifact.pollux.search import search


class Allocator:
    """What the scheduler keeps from round to round: the last front, and the state of chance."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self._gpus = cluster.slots.copy()
        self._random = seeded(seed)
        self._front: Genome | None = None
        self._searched: list[int] = []

    def place(self, now: float, live: list[Job]) -> list[Job]:
        """Place all jobs anew. Return them in the order of the service that they have got."""
        jobs = sorted(live, key=lambda job: (job.service, job.submitted))
        problem = self._problem(now, jobs)
        ancestors = self._ancestors(jobs, problem.now)
        self._front, _ = search(problem, ancestors, self._random)
        self._searched = [job.number for job in jobs]
        for job, allocation in zip(jobs, self._front[0], strict=True):
            if not np.array_equal(job.allocation, allocation):
                job.place(now, allocation)
        return jobs

    def _problem(self, now: float, jobs: list[Job]) -> Problem:
        gpus = int(self._gpus.sum())
        most = np.array([min(job.training.most(), gpus) for job in jobs], dtype=np.int64)
        return Problem(
            now=np.stack([job.allocation for job in jobs]),
            gpus=self._gpus,
            least=np.array([job.training.least for job in jobs], dtype=np.int64),
            most=most,
            most_nodes=np.array([job.training.most_nodes for job in jobs], dtype=np.int64),
            speedup=self._speedups(jobs, int(most.max())),
            after_change=np.array([job.kept_after_change(now) for job in jobs]),
            per_node=len(self._gpus) / gpus,
        )

    def _speedups(self, jobs: list[Job], most: int) -> Floats:
        """Goodput relative to that of the fair share, taken to be on one node."""
        fair = ceil(int(self._gpus.sum()) / len(jobs))
        table = np.zeros((len(jobs), 2, most + 1))
        for row, job in enumerate(jobs):
            goodputs = job.training.goodputs()
            width = min(goodputs.shape[1], most + 1)
            table[row, :, :width] = goodputs[:, :width] / job.training.goodput_of(fair)
        return table

    def _ancestors(self, jobs: list[Job], present: Genome) -> Genome:
        """Where the search begins: with the last front, or else with the present allocation.

        As in the reference, those that are still there take over the rows in the present order, although they
        stood in another one: a job may begin with its neighbour's row.
        """
        if self._front is None:
            return present[np.newaxis].copy()
        still, before = {job.number for job in jobs}, set(self._searched)
        source = [row for row, number in enumerate(self._searched) if number in still]
        target = [row for row, job in enumerate(jobs) if job.number in before]
        ancestors = np.zeros((len(self._front), *present.shape), dtype=np.int16)
        ancestors[:, target] = self._front[:, source]
        return ancestors
