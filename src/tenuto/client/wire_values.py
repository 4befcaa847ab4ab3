"""The values that the typed clients take and give, by one name each."""

from __future__ import annotations

from tenuto.wire.api import JobIn
from tenuto.wire.history import PastOut, TimeOut
from tenuto.wire.job_table import JobLine, JobTableOut
from tenuto.wire.operations import (
    ChecksOut,
    NodeCheckOut,
    PageOut,
    ReadyOut,
    ServerLogOut,
    SettingOut,
    SettingsOut,
)
from tenuto.wire.overview import MapOut, NodeSampleOut, OverviewOut
from tenuto.wire.printed import LogPiece, LogsOut
from tenuto.wire.questions import ExplainOut, PlanOut, WhatIfOut
from tenuto.wire.replies import (
    AttemptOut,
    ClusterOut,
    CurveOut,
    DeletedOut,
    DownOut,
    EventOut,
    HostsOut,
    JobOut,
    MetricsOut,
    NodeOut,
    PolicyOut,
)
from tenuto.wire.report import ReportOut
from tenuto.wire.scaling import ScalingLogOut
from tenuto.wire.series import NumbersOut, SubjectOut
from tenuto.wire.shadows import ShadowsOut
from tenuto.wire.timeline import TimelineOut
from tenuto.wire.tokens import CredentialOut, CredentialsOut, NewTokenOut, TokenOut

__all__ = [
    "AttemptOut",
    "ChecksOut",
    "ClusterOut",
    "CredentialOut",
    "CredentialsOut",
    "CurveOut",
    "DeletedOut",
    "DownOut",
    "EventOut",
    "ExplainOut",
    "HostsOut",
    "JobIn",
    "JobLine",
    "JobOut",
    "JobTableOut",
    "LogPiece",
    "LogsOut",
    "MapOut",
    "MetricsOut",
    "NewTokenOut",
    "NodeCheckOut",
    "NodeOut",
    "NodeSampleOut",
    "NumbersOut",
    "OverviewOut",
    "PageOut",
    "PastOut",
    "PlanOut",
    "PolicyOut",
    "ReadyOut",
    "ReportOut",
    "ScalingLogOut",
    "ServerLogOut",
    "SettingOut",
    "SettingsOut",
    "ShadowsOut",
    "SubjectOut",
    "TimeOut",
    "TimelineOut",
    "TokenOut",
    "WhatIfOut",
]
