"""What `tenuto replay` writes: checked before any work is done for it, written when all replays are done."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tenuto.errors import InputInvalid, Place
from tenuto.lab.choose_policies import Choice
from tenuto.lab.fingerprints import input_hashes
from tenuto.lab.replay import Replay
from tenuto.policy.base import Policy
from tenuto.sim.draw_replay import draw_replays
from tenuto.sim.draw_timeline import Timeline, draw_timelines
from tenuto.sim.picture import check_picture
from tenuto.sim.result_files import MANIFEST, write_results
from tenuto.sim.workload import Workload


@dataclass(frozen=True, slots=True)
class Outputs:
    """Files and pictures that were asked for."""

    out: Path | None
    """A directory for result files."""
    gpu_layout: bool
    picture: Path | None
    timeline: Path | None
    force: bool
    """Whether earlier ones may be overwritten."""

    @property
    def layouts(self) -> bool:
        """Whether anything needs to know who was on which slot."""
        return self.timeline is not None or (self.gpu_layout and self.out is not None)

    def check(self, traces: Sequence[str]) -> None:
        """Refuse what cannot be written, before anything is read."""
        if self.gpu_layout and self.out is None:
            raise InputInvalid("--gpu-layout writes a file", remedy="Say where with --out")
        for picture in self._pictures():
            check_picture(picture)
            _check_writable(picture.parent)
            if picture.exists() and not self.force:
                raise InputInvalid(
                    "there is a picture already",
                    remedy="Choose another name, or overwrite it with --force",
                    place=Place(str(picture)),
                )
        if self.picture is not None and self.picture == self.timeline:
            raise InputInvalid("--picture and --timeline name the same file", remedy="Give them two names")
        if self._pictures() and len(traces) > 1:
            raise InputInvalid("a picture shows one trace", remedy="Replay the traces one by one")

    def check_targets(self, workloads: Sequence[Workload], policies: Sequence[Policy]) -> None:
        """Refuse a directory that holds another replay's results."""
        if self.out is None:
            return
        names = [workload.trace.name for workload in workloads]
        if len(set(names)) < len(names):
            raise InputInvalid("two traces have the same name", remedy="Give --out only with different names")
        _check_writable(self.out)
        for target in [self.out / name / policy.name for name in names for policy in policies]:
            if (target / MANIFEST).exists() and not self.force:
                raise InputInvalid(
                    "there are results of an earlier replay",
                    remedy="Choose another --out, or overwrite them with --force",
                    place=Place(str(target)),
                )

    def write(self, replays: Sequence[Replay], choice: Choice, arguments: Mapping[str, object]) -> None:
        """Write the result files, one directory for each replay, and draw the pictures."""
        if self.out is not None:
            policies = {policy.name: policy for policy in choice.policies}
            for done in replays:
                name = done.summary.policy
                told = {**arguments, "settings": dict(choice.settings.get(name, {}))}
                inputs = input_hashes(done.workload, policies[name], str(arguments["overhead"]))
                target = self.out / done.summary.trace / name
                write_results(target, done.workload, done.outcome, done.summary, told, inputs=inputs)
        for picture in self._pictures():
            picture.parent.mkdir(parents=True, exist_ok=True)
        if self.picture is not None:
            draw_replays([(done.summary, done.outcome) for done in replays], self.picture)
        if self.timeline is not None:
            draw_timelines(
                [Timeline(done.summary.policy, done.workload, done.outcome) for done in replays],
                self.timeline,
            )

    def _pictures(self) -> list[Path]:
        return [picture for picture in (self.picture, self.timeline) if picture is not None]


def _check_writable(directory: Path) -> None:
    """Refuse a place where nothing can be written."""
    ground = next(path for path in (directory, *directory.absolute().parents) if path.exists())
    if not ground.is_dir() or not os.access(ground, os.W_OK | os.X_OK):
        raise InputInvalid(
            "nothing can be written here",
            remedy="Choose a directory in which you may write",
            place=Place(str(directory)),
        )
