"""The timeline: who had how many slots when, who will, and to whom they are promised."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from tenuto.errors import InputInvalid
from tenuto.server.history import moment_behind
from tenuto.server.paging import Text
from tenuto.server.platform import Here
from tenuto.wire.quantities import HORIZON, Unusable
from tenuto.wire.quantities import moment as moment_ahead
from tenuto.wire.timeline import TimelineOut

router = APIRouter(tags=["history"])
MOST_JOBS = 500


class Which(BaseModel):
    """Which time to show, and how much of it."""

    model_config = ConfigDict(extra="forbid")

    since: Text = Field(default="1d", description="`6h` for so long ago, or a date and time with its zone.")
    until: Text = Field(
        default="+1d", description="`+6h` for so far ahead, or a date and time with its zone."
    )
    limit: int = Field(default=200, ge=1, le=MOST_JOBS, description="Jobs, those with slots first.")

    def times(self, now: float) -> tuple[float, float]:
        """The time that is meant, from when until when."""
        since = moment_behind(self.since, now, "since")
        try:
            until = moment_ahead(self.until, now)
        except Unusable as error:
            raise InputInvalid(error.problem, remedy=error.remedy, field="until") from None
        if not now - HORIZON <= since < until <= now + HORIZON:
            raise InputInvalid(
                "this is no time that could be shown",
                remedy="Let it begin before it ends, both within 3650 days from now",
                field="until" if since < until else "since",
            )
        return since, until


@router.get("/timeline", response_model=TimelineOut)
def show_timeline(here: Here, which: Annotated[Which, Query()]) -> TimelineOut:
    """Tell who had how many slots when, who will probably have them, and to whom they are promised."""
    from tenuto.server.timeline_rows import (
        timeline,  # columns, which nobody shall wait for who asks for something else
    )

    now = here.clock()
    return timeline(here, *which.times(now), now, which.limit)
